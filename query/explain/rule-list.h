/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The table of rules. Add a rule here, in docs/EXPLAIN.md, and in tests/unit/query/test-rules.c. */

#include "query/explain/rules.h"

struct rule {
	const char *kind, *title;
	/* called for each full core that stands out; else once, with a NULL core */
	bool of_core;
	/* left out if a more special rule fired for the same core */
	bool general;
	/* called only if no rule before it fired */
	bool last;
	bool accuses;
	/* Returns how sure it is, and writes the evidence and the next step. */
	enum confidence (*judge)(const struct evidence *evidence, const struct evidence_core *core,
				 struct verdict *verdict);
};

/* Special rules come before general ones; a NULL kind ends the table. */
extern const struct rule rules[];

/* Appends to a text of a verdict as far as it fits. */
void verdict_say(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
#define VERDICT_EVIDENCE(verdict, ...) \
	verdict_say((verdict)->evidence, sizeof((verdict)->evidence), __VA_ARGS__)
#define VERDICT_NEXT(verdict, ...) \
	verdict_say((verdict)->next, sizeof((verdict)->next), __VA_ARGS__)
