/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The result of an audit: what was checked, and the findings. */

#include <stdbool.h>

#include "base/array.h"
#include "base/bytes.h"

enum severity {
	/* worth knowing, and possibly intended */
	SEVERITY_NOTICE,
	/* does some harm now, or will later */
	SEVERITY_WARNING,
	/* does harm now, or nearly so */
	SEVERITY_CRITICAL,
};

/* A finding. report_finish() ends the texts with a NUL; a newline separates lines. */
struct finding {
	/* stable, for programs: "zombie_memory_cgroups" */
	const char *kind;
	enum severity severity;
	struct buffer title;
	struct buffer means;
	/* the numbers, for people */
	struct buffer lines;
	/* the numbers as a JSON object, which report_finish() closes */
	struct buffer numbers;
	/* standard commands that confirm the finding, one per line */
	struct buffer confirm;
	struct buffer fix;
};

/* A check that was done, with a figure to show, or the reason why it could not be done. */
struct check {
	const char *name;
	bool unread;
	char text[256];
};

struct report {
	/* The name of the host; "": unknown. */
	char host[128];
	array_of(struct finding) findings;
	array_of(struct check) checks;
	/* wall clock of the start */
	uint64_t now_ns;
	uint64_t watched_ns;
	/* 0: no history */
	uint64_t recorded_from_ns, recorded_to_ns;
};

void report_done(struct report *report);

/*
 * Adds a finding with its title. Returns NULL if memory ran out. The pointer is valid until the
 * next finding.
 */
struct finding *report_find(struct report *report, const char *kind, enum severity severity,
			    const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Adds one line. */
void report_line(struct buffer *lines, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds one sentence to a paragraph. */
void report_sentence(struct buffer *paragraph, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Add a check that was done, or a check that could not be done. Return 0 or -ENOMEM. */
int report_checked(struct report *report, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int report_unread(struct report *report, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * Sorts the findings by severity, the worst first, and ends all texts. Returns 0, or -ENOMEM, also
 * if an earlier text ran out of memory.
 */
int report_finish(struct report *report);

void report_i64(struct finding *finding, const char *key, int64_t value);
void report_double(struct finding *finding, const char *key, double value);
/* Puts whole seconds; UINT64_MAX becomes null. */
void report_age(struct finding *finding, const char *key, uint64_t age_ns);
void report_string(struct finding *finding, const char *key, const char *value);

/* Returns a number such as "68,680". */
#define COUNT_TEXT_SIZE 32
const char *count_format(int64_t count, char text[COUNT_TEXT_SIZE]);
