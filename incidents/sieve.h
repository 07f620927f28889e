/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* One message after the other: what it is, when it was said, and whether the kernel said it. Of the scanner alone. */

#include "incidents/scanner.h"

/* A piece of text, with what it takes to say where it is from. */
struct line {
	const char *text;
	size_t size;
	uint64_t number;
};

struct sieve {
	struct scanner_options options;
	struct scan_summary summary;
	struct log_clock clock;
	struct buffer lost_device; /* of the last ena.tx_lost that named its queue, and the queue */
	uint64_t lost_qid;
	char boot_id[33]; /* that the log itself says for the lines below */
};

void sieve_init(struct sieve *sieve, const struct scanner_options *options);
void sieve_done(struct sieve *sieve);
/* What kind the message is; NULL for none. */
const struct kind *sieve_match(
	const struct sieve *sieve, const struct heading *heading, bool cut, struct fields *fields);
/* Puts the message into the log's time, and gives it out if it is an incident. */
void sieve_take(struct sieve *sieve, const struct heading *heading, const struct line *line);
