/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What loggers put around a message: taken off layer by layer, from the left, until nothing more is known; what each says is kept. A
 * journal entry that a shipper wrapped into JSON behind a stamp of its own is taken apart to its message like any other.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "incidents/logs/stamp.h"

/* From worst to best: who wrote the stamp of a wall clock. */
enum wall_quality {
	WALL_NONE,
	WALL_SHIPPER, /* CloudWatch, Loki, a container runtime: when it was taken in */
	WALL_MINUTE, /* dmesg --human: the minute */
	WALL_TRADITIONAL, /* syslog without a year */
	WALL_DATED, /* a logger of the host, with the year */
	WALL_JOURNAL, /* of the journal, put back to the kernel's stamp */
};

enum uptime_quality {
	UPTIME_NONE,
	UPTIME_RECEIVED, /* when journald took it */
	UPTIME_PRINTK, /* the kernel's own stamp */
};

struct wall {
	enum wall_quality quality;
	struct stamp stamp;
};

struct log_prefix {
	enum uptime_quality uptime_quality;
	uint64_t uptime_ns;
	struct wall wall; /* the best */
	struct wall shipper; /* the first of a shipper, for the year and the zone of the best */
	bool has_delta; /* since the line before */
	uint64_t delta_ns;
	int facility, level; /* -1: not said */
	bool forged; /* it says kernel, and something that cannot be forged says it is not */
	char boot_id[33]; /* or "" */
	char device[64]; /* the PCI address that comes beside the message, or "" */
	const char *writer; /* "kernel", or the program; NULL: nothing says so */
	size_t writer_size;
	const char *
		loose; /* where the message begins if the writer is no program but its first word; or NULL */
	const char *unnamed; /* and where, if what is taken for the host is of the message, too */
	const char *text; /* the message, in what was given, or in scratch */
	size_t size;
	struct buffer scratch;
};

void log_prefix_init(struct log_prefix *heading);
void log_prefix_done(struct log_prefix *heading);

/*
 * Takes apart one line, without its newline, or the message of a record whose own fields the heading has already. True when anything was found
 * around a message. A text that begins with { is left for record.h: heading->text stands there.
 */
bool log_prefix_read(struct log_prefix *heading, const char *text, size_t size);
/* Keeps the better one; a stamp of a shipper also as such. */
void log_prefix_offer_wall(
	struct log_prefix *heading, const struct stamp *stamp, enum wall_quality quality);
