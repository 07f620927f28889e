/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What a source is to gauges.c, and what sources share. */

#include <limits.h>
#include <stdbool.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "gauges/gauges.h"

struct source_kind {
	const char *name;
	unsigned int period_s;
	/* Its state, which knows the root. NULL: out of memory. */
	void *(*make)(const char *root);
	/* -ENOENT and the like: it is not there, or not to be read. -ENOMEM, or what the sink says.
	 */
	int (*read)(void *state, const struct gauges_sink *sink);
	void (*done)(void *state);
};

extern const struct source_kind source_cpu, source_pressure, source_vmstat, source_net,
	source_queues, source_memory_cgroups, source_throttling, source_units;

/* A file that is read again and again: it stays open. */
struct source_file {
	char path[PATH_MAX];
	/* -1: not open */
	int fd;
	/* what was read, with a NUL behind it */
	char *text;
	size_t size;
	size_t capacity;
};

void source_file_init(struct source_file *file, const char *root, const char *path);
void source_file_done(struct source_file *file);
/* Reads it whole, from the start. A negative errno also where it is larger than `limit`. */
int source_file_read(struct source_file *file, size_t limit);

/* A number in a small file, "12\n". -EBADMSG when it is anything else. */
int source_number(const char *path, int64_t *ret_value);

/* Names by number that were asked for once; ids[i] is 0 for none, else one above the sink's. */
struct source_ids {
	array_of(uint32_t) ids;
};

/* Puts value number `slot` of a kind of names; `format` and what it takes make its name when it is
 * not known yet. */
int source_put(struct source_ids *ids, size_t slot, const struct gauges_sink *sink, int64_t value,
	       const char *format, ...) __attribute__((format(printf, 5, 6)));
void source_ids_done(struct source_ids *ids);

/* A walk over text: words are what blanks separate, lines end with a newline or with the text. */
struct words {
	const char *at;
	const char *end;
};

/* Takes the next line off. False at the end. */
bool words_line(struct words *text, struct words *ret_line);
/* Takes the next word off a line. False when there is none. */
bool words_next(struct words *line, struct words *ret_word);
bool words_equal(const struct words *word, const char *text);
/* Takes the text off the beginning. */
bool words_skip(struct words *word, const char *text);
/* Takes digits off the beginning. False where there are none, or more than 18. */
bool words_number(struct words *word, int64_t *ret_number);
