/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The catalogue of kernel messages: the built-in kinds (kinds.conf) and the kinds of the host's own
 * files, ready to search for. A catalogue does not change after loading, so any number of scans may
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
	/* For example "ena.tx_stall". */
	char *name;
	/* The program that writes these lines: "kernel", "systemd", "*" for any. */
	char *writer;
	enum severity severity;
	/* The stall began at least this time before its line; 0: unknown. */
	uint64_t stall_ns;
	struct pattern pattern;
};

/* The folder of a host's own pattern files. */
#define INCIDENTS_FOLDER "/etc/perftape/incidents.d"

struct catalogue;

/*
 * Loads the built-in kinds and those of all *.conf in `folder`, which may be NULL or absent.
 * Returns 0, a negative errno, or -EINVAL with a message that names file and line. The caller frees
 * *ret_catalogue.
 */
int catalogue_new(const char *folder, struct catalogue **ret_catalogue, struct error *error);
struct catalogue *catalogue_free(struct catalogue *catalogue);
DEFINE_CLEANUP(catalogue, struct catalogue *, catalogue_free)

/*
 * Returns the texts to search for in raw bytes: a piece of text without any of them does not
 * contain an incident. Their values are private to the catalogue. Valid until the catalogue is
 * freed.
 */
const struct anchors *catalogue_anchors(const struct catalogue *catalogue);

size_t catalogue_count(const struct catalogue *catalogue);
const struct kind *catalogue_kind(const struct catalogue *catalogue, size_t index);

struct message {
	const char *text;
	size_t size;
	/*
	 * The program that wrote the message, not NUL-terminated. NULL: unknown, so any kind may
	 * match.
	 */
	const char *writer;
	size_t writer_size;
	/* The message begins where the text begins; no unknown text precedes it. */
	bool whole;
};

/*
 * Returns the kind of a message and its fields, or NULL if the message matches no kind. The fields
 * are valid as long as the text and the catalogue. With `truncated`, also accepts a message that
 * ends too early. A match in the kernel's own words takes precedence over a match in quoted text.
 */
const struct kind *catalogue_match(const struct catalogue *catalogue, const struct message *message,
				   bool truncated, struct fields *ret_fields);
