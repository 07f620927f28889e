/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * All that is known about kernel messages: the kinds that are built in (kinds.conf) and a person's
 * own, ready to be looked for. Nothing here changes after it was loaded: any number of scans may
 * share it.
 */

#include "base/cleanup.h"
#include "incidents/patterns/anchors.h"
#include "incidents/patterns/pattern.h"

enum severity {
	SEVERITY_INFO,
	SEVERITY_NOTICE,
	SEVERITY_WARN,
	SEVERITY_ERR,
	SEVERITY_CRIT,
};

const char *severity_name(enum severity severity);

struct kind {
	/* ena.tx_stall */
	char *name;
	/* whose lines: "kernel", "systemd", "*" for anybody's */
	char *writer;
	enum severity severity;
	/* how long before its line it began, at the least; 0: unknown */
	uint64_t stall_ns;
	struct pattern pattern;
};

/* Where a host has patterns of its own. */
#define INCIDENTS_FOLDER "/etc/perftape/incidents.d"

struct catalogue;

/* With the kinds that are built in, and those of all *.conf in folder (NULL: none; one that is not
 * there has none). -EINVAL names file and line. */
int catalogue_new(const char *folder, struct catalogue **ret_catalogue, struct error *error);
struct catalogue *catalogue_free(struct catalogue *catalogue);
DEFINE_CLEANUP(catalogue, struct catalogue *, catalogue_free)

/* What is looked for in raw text, before anything is decoded: where none is, no message is. Their
 * values are the catalogue's. */
const struct anchors *catalogue_anchors(const struct catalogue *catalogue);

size_t catalogue_count(const struct catalogue *catalogue);
const struct kind *catalogue_kind(const struct catalogue *catalogue, size_t index);

struct message {
	const char *text;
	size_t size;
	/* who wrote it, not NUL-terminated; NULL when nothing says so: then it may be anybody */
	const char *writer;
	size_t writer_size;
	/* it begins where the text does: nothing unknown comes before it */
	bool whole;
};

/*
 * The kind of a message, with its fields, which are borrowed from the text and the catalogue; NULL
 * for none. `cut` allows for a message that ends too early.
 */
const struct kind *catalogue_match(const struct catalogue *catalogue, const struct message *message,
				   bool truncated, struct fields *ret_fields);
