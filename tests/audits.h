/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Audits of trees: with a clock of their own, on which waiting takes no time. All of it CHECKs. */

#include "audit/audit.h"
#include "cli/audit-text.h"
#include "tests/tapes.h"
#include "tests/tree.h"

struct audits {
	struct tree tree;
	struct audit_options options;
	struct report report;
	struct buffer text;
	uint64_t now_ns;
	/* What becomes of the tree meanwhile: called once, at the first wait. May be NULL. */
	void (*passes)(struct audits *audits);
	unsigned int waits;
	/* Called at the waits for threads, which come after those of the watch. May be NULL. */
	void (*passes_later)(struct audits *audits);
};

static inline uint64_t audits_now(void *context)
{
	return ((struct audits *)context)->now_ns;
}

static inline void audits_wait(void *context, uint64_t ns)
{
	struct audits *audits = context;
	unsigned int watch = (audits->options.watch_ns + NSEC_PER_SEC - 1) / NSEC_PER_SEC;

	audits->now_ns += ns;
	if (!audits->waits && audits->passes)
		audits->passes(audits);
	if (audits->waits == watch && audits->passes_later)
		audits->passes_later(audits);
	audits->waits++;
}

static inline void audits_init(struct audits *audits)
{
	*audits = (struct audits){ .now_ns = TAPES_REALTIME };
	tree_init(&audits->tree);
	audits->options = (struct audit_options){
		.root = audits->tree.root,
		.watch_ns = 5 * NSEC_PER_SEC,
		.now_ns = audits_now,
		.wait = audits_wait,
		.context = audits,
	};
}

static inline void audits_done(struct audits *audits)
{
	report_done(&audits->report);
	buffer_done(&audits->text);
	tree_done(&audits->tree);
}

/* Anew each time. */
static inline void audits_run(struct audits *audits)
{
	report_done(&audits->report);
	audits->report = (struct report){ .now_ns = 0 };
	audits->waits = 0;
	CHECK_EQ(audit_run(&audits->options, &audits->report, NULL), 0);
}

static inline const char *audits_text(struct audits *audits)
{
	const struct terminal terminal = { .width = 80 };

	audits->text.size = 0;
	audit_put_text(&audits->report, &terminal, &audits->text);
	buffer_u8(&audits->text, 0);
	CHECK(!buffer_failed(&audits->text));
	return (const char *)audits->text.data;
}

static inline const char *audits_json(struct audits *audits)
{
	audits->text.size = 0;
	audit_put_json(&audits->report, &audits->text);
	buffer_u8(&audits->text, 0);
	CHECK(!buffer_failed(&audits->text));
	return (const char *)audits->text.data;
}

static inline const struct finding *audits_find(const struct audits *audits, const char *kind)
{
	for (size_t i = 0; i < audits->report.findings.count; i++)
		if (strcmp(audits->report.findings.items[i].kind, kind) == 0)
			return &audits->report.findings.items[i];
	return NULL;
}

/* Nothing but that one is found; NULL: nothing at all. */
static inline void audits_expect(struct audits *audits, const char *kind)
{
	audits_run(audits);
	for (size_t i = 0; i < audits->report.findings.count; i++)
		if (!kind || strcmp(audits->report.findings.items[i].kind, kind) != 0)
			CHECK_FAIL("found: %s", audits->report.findings.items[i].title.data);
	CHECK(!kind || audits_find(audits, kind));
}
