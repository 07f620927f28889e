/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds the incidents in a log of any form. The caller feeds bytes in pieces of any size. give()
 * receives the incidents in the order of their lines. The scanner detects the form of each line
 * anew, because pasted text mixes forms.
 *
 * The scanner first searches each line for the anchors that every incident's line contains
 * (anchors.h). It parses lines without an anchor only if the log's clock needs them.
 */

#include "incidents/patterns/catalogue.h"
#include "incidents/logs/log-clock.h"

/* An incident. All its members are valid until give() returns. */
struct incident {
	/* The incident's ID in the store; 0: none. */
	uint64_t id;
	const struct kind *kind;
	struct fields fields;
	struct moment moment;
	bool has_stall;
	/* Time from the start of the stall to the line. */
	uint64_t stall_ns;
	/* The PCI address, disk or interface that the incident affects; or "". */
	const char *device;
	/* "": unknown. */
	const char *boot_id;
	/* The number of the boot within the log, from 0. */
	uint32_t boot;
	/* The line without its newline, or, for an entry with fields, its message. */
	const char *line;
	size_t line_size;
	/* The number of the line, from 1. */
	uint64_t line_number;
	/* A user wrote the line, and the options accept lines of users. */
	bool forged;
	/*
	 * The log does not show where a message of the kernel begins. So the line may be a part of
	 * a name with newlines, which a user chose and the kernel quoted.
	 */
	bool doubtful;
};

struct scanner_options {
	const struct catalogue *catalogue;
	struct log_clock_options clock;
	/* Treat lines that users wrote into the kernel's log as the kernel's. */
	bool trust_users;
	/*
	 * Only the kernel's own words are incidents: an incident within text that the kernel quotes
	 * counts as forged. Without this option, the fields of such an incident say that it is
	 * quoted.
	 */
	bool own_words;
	void (*give)(void *context, const struct incident *incident);
	void *context;
};

struct scan_summary {
	uint64_t bytes, lines, incidents;
	/* Number of lines that look like the kernel's but come from another writer. */
	uint64_t forged;
};

struct scanner;
int scanner_new(const struct scanner_options *options, struct scanner **ret_scanner);
struct scanner *scanner_free(struct scanner *scanner);
DEFINE_CLEANUP(scanner, struct scanner *, scanner_free)

/*
 * Passes the first and the last bytes of the log, from which stamps without a year get their year.
 * Call it before the first scanner_feed(). Without this call, the year follows from the clock
 * options alone.
 */
void scanner_span(struct scanner *scanner, const char *head, size_t head_size, const char *tail,
		  size_t tail_size);
/* Scans the next piece of the log. Returns 0 or -ENOMEM. */
int scanner_feed(struct scanner *scanner, const void *data, size_t size);
/*
 * Handles a line that waits for the next line, because the next line may not come for a while.
 * Returns 0 or -ENOMEM.
 */
int scanner_flush(struct scanner *scanner);
/* Ends the scan; the last line may lack its newline. Returns 0. */
int scanner_finish(struct scanner *scanner, struct scan_summary *ret_summary);
