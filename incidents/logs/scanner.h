/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds the incidents in a log of any form. Bytes go in as they come, in pieces of any size;
 * incidents come out in their order. The form is found anew for each line: pastes have several.
 *
 * Most lines are only searched for what every incident's line has (anchors.h); of the others no
 * more is looked at than it takes to follow the log's clock.
 */

#include "incidents/patterns/catalogue.h"
#include "incidents/logs/log-clock.h"

/* What was found. All of it is borrowed until give() returns. */
struct incident {
	/* 0: it has none */
	uint64_t id;
	const struct kind *kind;
	struct fields fields;
	struct moment moment;
	bool has_stall;
	/* how long before the line it began */
	uint64_t stall_ns;
	/* what it happened to: a PCI address, a disk, an interface; or "" */
	const char *device;
	/* or "" */
	const char *boot_id;
	/* 0 for the first of the log, and so on */
	uint32_t boot;
	/* as it was, without its newline; of an entry with fields its message */
	const char *line;
	size_t line_size;
	/* from 1 */
	uint64_t line_number;
	/* a user wrote it, and users are trusted */
	bool forged;
};

struct scanner_options {
	const struct catalogue *catalogue;
	struct log_clock_options clock;
	/* what somebody wrote into the kernel's log counts as the kernel's */
	bool trust_users;
	void (*give)(void *context, const struct incident *incident);
	void *context;
};

struct scan_summary {
	uint64_t bytes, lines, incidents;
	/* lines that say what the kernel says, and that it did not write */
	uint64_t forged;
};

struct scanner;
int scanner_new(const struct scanner_options *options, struct scanner **ret_scanner);
struct scanner *scanner_free(struct scanner *scanner);
DEFINE_CLEANUP(scanner, struct scanner *, scanner_free)

/* Before the first byte: the first bytes of the log and its last, to know the year of stamps that
 * say none. Best not to leave it out. */
void scanner_span(struct scanner *scanner, const char *head, size_t head_size, const char *tail,
		  size_t tail_size);
/* 0 or -ENOMEM. */
int scanner_feed(struct scanner *scanner, const void *data, size_t size);
/* Nothing comes for a while: what waited for a next line is given. 0 or -ENOMEM. */
int scanner_flush(struct scanner *scanner);
/* The last line may have no newline. */
int scanner_finish(struct scanner *scanner, struct scan_summary *ret_summary);
