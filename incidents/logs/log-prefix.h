/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Parses the parts that loggers put around a message. log_prefix_read() removes them layer by layer
 * from the left and keeps what each layer says. It also reads a journal entry that a log shipper
 * wrapped into JSON and put after the shipper's own stamp.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "incidents/logs/stamp.h"

/* The source of a wall clock stamp, from worst to best. */
enum wall_quality {
	WALL_NONE,
	/* The time when CloudWatch, Loki or a container runtime received the line. */
	WALL_SHIPPER,
	/* The minute that dmesg --human prints. */
	WALL_MINUTE,
	/* A stamp of syslog without a year. */
	WALL_TRADITIONAL,
	/* A stamp with the year, from a logger of the host. */
	WALL_DATED,
	/* The journal's stamp, moved back to the time of the kernel's stamp. */
	WALL_JOURNAL,
};

enum uptime_quality {
	UPTIME_NONE,
	/* The time when journald received the line. */
	UPTIME_RECEIVED,
	/* The kernel's own stamp. */
	UPTIME_PRINTK,
};

struct wall {
	enum wall_quality quality;
	struct stamp stamp;
};

struct log_prefix {
	enum uptime_quality uptime_quality;
	uint64_t uptime_ns;
	/* The best stamp so far. */
	struct wall wall;
	/*
	 * The first stamp of a shipper, which supplies the year and the zone if the best stamp
	 * lacks them.
	 */
	struct wall shipper;
	/* The time since the previous line. */
	bool has_delta;
	uint64_t delta_ns;
	/* -1: unknown. */
	int facility, level;
	/*
	 * The line looks like the kernel's, but a field that users cannot forge shows another
	 * writer.
	 */
	bool forged;
	/*
	 * The line is not the first one of its message. If the kernel wrote the message, the line
	 * may be a name with a newline, which a user chose.
	 */
	bool continues;
	/* The log does not show whether the line continues a message. */
	bool doubtful;
	/* "": unknown. */
	char boot_id[33];
	/* A PCI address that accompanies the message, or "". */
	char device[64];
	/* "kernel" or the program's name; NULL: unknown. */
	const char *writer;
	size_t writer_size;
	/*
	 * Where the message begins if the writer is really the first word of the message; or NULL.
	 */
	const char *text_with_writer;
	/*
	 * Where the message begins if the word in the place of the host belongs to the message,
	 * too; or NULL.
	 */
	const char *text_with_host;
	/* The message; points into the given text or into scratch. */
	const char *text;
	size_t size;
	struct buffer scratch;
};

void log_prefix_init(struct log_prefix *prefix);
void log_prefix_done(struct log_prefix *prefix);

/*
 * Parses one line, without its newline, or the message of a record whose fields are in `prefix`
 * already. Returns true if the message had any prefix. A text that begins with { stays as it is,
 * and prefix->text points to it, because log-record.h reads such a text. `prefix` points into
 * `text` and into its own scratch.
 */
bool log_prefix_read(struct log_prefix *prefix, const char *text, size_t size);
/* Returns whether the line had neither a stamp nor a writer. */
bool log_prefix_is_bare(const struct log_prefix *prefix);
/* Offers a stamp to the prefix, which keeps the best stamp and the first one of a shipper. */
void log_prefix_offer_wall(struct log_prefix *prefix, const struct stamp *stamp,
			   enum wall_quality quality);
