/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What an audit came to: what was looked at, and what was found. */

#include <stdbool.h>

#include "base/array.h"
#include "base/bytes.h"

enum severity {
	/* worth knowing; may be as it is meant to be */
	SEVERITY_NOTICE,
	/* will do harm, or does some */
	SEVERITY_WARNING,
	/* does harm now, or nearly so */
	SEVERITY_CRITICAL,
};

/* Texts are NUL-terminated once the report is finished; those of several lines have a newline
 * between them. */
struct finding {
	/* stable, for programs: "zombie_memory_cgroups" */
	const char *kind;
	enum severity severity;
	struct buffer title;
	struct buffer means;
	/* the numbers, for people */
	struct buffer lines;
	/* the same as an object of JSON, closed when the report is finished */
	struct buffer numbers;
	/* stock commands, one a line */
	struct buffer confirm;
	struct buffer fix;
};

/* A thing that was looked at, with what there is to say of it where nothing was found; or why it
 * could not be. */
struct check {
	const char *name;
	bool unread;
	char text[256];
};

struct report {
	array_of(struct finding) findings;
	array_of(struct check) checks;
	/* the wall clock, when it began */
	uint64_t now_ns;
	uint64_t watched_ns;
	/* 0: without a history */
	uint64_t recorded_from_ns, recorded_to_ns;
};

void report_done(struct report *report);

/* A finding, with its title; it stays where it is until the next one. NULL: out of memory. */
struct finding *report_find(struct report *report, const char *kind, enum severity severity,
			    const char *format, ...) __attribute__((format(printf, 4, 5)));
/* One line more. */
void report_line(struct buffer *lines, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* 0 or -ENOMEM. */
int report_checked(struct report *report, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int report_unread(struct report *report, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Puts the worst first, those of one severity as they came, and ends all texts. 0, or -ENOMEM, also
 * for what ran out before. */
int report_finish(struct report *report);

/* A word for a command that is to be pasted: in quotes where a shell would take it for more than a
 * name. */
#define SHELL_WORD_SIZE 1100
const char *shell_word(const char *name, char text[SHELL_WORD_SIZE]);

void report_i64(struct finding *finding, const char *key, int64_t value);
void report_double(struct finding *finding, const char *key, double value);
/* In whole seconds; UINT64_MAX is null. */
void report_age(struct finding *finding, const char *key, uint64_t age_ns);
void report_string(struct finding *finding, const char *key, const char *value);

/* "68,680" */
#define COUNT_TEXT_SIZE 32
const char *count_format(int64_t count, char text[COUNT_TEXT_SIZE]);
