/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What loggers put around a message: taken off layer by layer, from the left, until nothing more is
 * known; what each says is kept. A journal entry that a shipper wrapped into JSON behind a stamp of
 * its own is taken apart to its message like any other.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "incidents/logs/stamp.h"

/* From worst to best: who wrote the stamp of a wall clock. */
enum wall_quality {
	WALL_NONE,
	/* CloudWatch, Loki, a container runtime: when it was taken in */
	WALL_SHIPPER,
	/* dmesg --human: the minute */
	WALL_MINUTE,
	/* syslog without a year */
	WALL_TRADITIONAL,
	/* a logger of the host, with the year */
	WALL_DATED,
	/* of the journal, put back to the kernel's stamp */
	WALL_JOURNAL,
};

enum uptime_quality {
	UPTIME_NONE,
	/* when journald took it */
	UPTIME_RECEIVED,
	/* the kernel's own stamp */
	UPTIME_PRINTK,
};

struct wall {
	enum wall_quality quality;
	struct stamp stamp;
};

struct log_prefix {
	enum uptime_quality uptime_quality;
	uint64_t uptime_ns;
	/* the best */
	struct wall wall;
	/* the first of a shipper, for the year and the zone of the best */
	struct wall shipper;
	/* since the line before */
	bool has_delta;
	uint64_t delta_ns;
	/* -1: not said */
	int facility, level;
	/* it says kernel, and something that cannot be forged says it is not */
	bool forged;
	/* or "" */
	char boot_id[33];
	/* the PCI address that comes beside the message, or "" */
	char device[64];
	/* "kernel", or the program; NULL: nothing says so */
	const char *writer;
	size_t writer_size;
	/* where the message begins if the writer is no program but its first word; or NULL */
	const char *text_with_writer;
	/* and where, if what is taken for the host is of the message, too */
	const char *text_with_host;
	/* the message, in what was given, or in scratch */
	const char *text;
	size_t size;
	struct buffer scratch;
};

void log_prefix_init(struct log_prefix *prefix);
void log_prefix_done(struct log_prefix *prefix);

/*
 * Takes apart one line, without its newline, or the message of a record whose own fields the
 * prefix has already. True when anything was found around a message. A text that begins with { is
 * left for record.h: prefix->text stands there.
 */
bool log_prefix_read(struct log_prefix *prefix, const char *text, size_t size);
/* Keeps the better one; a stamp of a shipper also as such. */
void log_prefix_offer_wall(struct log_prefix *prefix, const struct stamp *stamp,
			   enum wall_quality quality);
