/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The interface between gauges.c and a source, and helpers that sources share. */

#include <limits.h>
#include <stdbool.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "gauges/gauges.h"

struct source_kind {
	const char *name;
	unsigned int period_s;
	/* Creates the source's state. NULL: out of memory. */
	void *(*make)(const char *root);
	/*
	 * Reads the source and puts its gauges. Returns 0, -ENOMEM, the sink's error, or another
	 * negative errno such as -ENOENT if the source is absent or forbidden.
	 */
	int (*read)(void *state, const struct gauges_sink *sink);
	void (*done)(void *state);
	/*
	 * Also reads a thread from now on, for a while. NULL: the source is not about threads.
	 * Returns 0 or -ENOMEM.
	 */
	int (*watch)(void *state, uint32_t tid);
};

extern const struct source_kind source_cpu, source_pressure, source_vmstat, source_net,
	source_queues, source_memory_cgroups, source_throttling, source_units, source_softirqs,
	source_waits;

/* A file that stays open between reads. */
struct source_file {
	char path[PATH_MAX];
	/* -1: closed. */
	int fd;
	/* The content, with a NUL behind it. */
	char *text;
	size_t size;
	size_t capacity;
};

void source_file_init(struct source_file *file, const char *root, const char *path);
void source_file_done(struct source_file *file);
/* Reads the whole file from its start. Returns 0 or a negative errno, -EFBIG beyond `limit`. */
int source_file_read(struct source_file *file, size_t limit);

/*
 * Reads a small file that consists of a number, "12\n". Returns 0, -errno, or -EBADMSG for other
 * content.
 */
int source_number(const char *path, int64_t *ret_value);

/*
 * The numbers that the sink returned for names. ids[i] is 0 if the name was not requested yet, else
 * the number plus one.
 */
struct source_ids {
	array_of(uint32_t) ids;
};

/*
 * Puts a value. `slot` is an index into ids; `format` and its arguments make the name when the slot
 * is first used.
 */
int source_put(struct source_ids *ids, size_t slot, const struct gauges_sink *sink, int64_t value,
	       const char *format, ...) __attribute__((format(printf, 5, 6)));
void source_ids_done(struct source_ids *ids);

/* A position in text. Blanks separate words; a line ends with a newline or with the text. */
struct words {
	const char *at;
	const char *end;
};

/* Takes the next line. Returns false at the end. */
bool words_line(struct words *text, struct words *ret_line);
/* Takes the next word of a line. Returns false if the line has no more words. */
bool words_next(struct words *line, struct words *ret_word);
bool words_equal(const struct words *word, const char *text);
/* Removes `text` from the beginning of the word. Returns false if the word begins otherwise. */
bool words_skip(struct words *word, const char *text);
/*
 * Removes a number from the beginning of the word. Returns false without a digit or with more than
 * 18 digits.
 */
bool words_number(struct words *word, int64_t *ret_number);
