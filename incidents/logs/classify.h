/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * One message after the other: what it is, when it was said, and whether the kernel said it. For
 * the scanner, and for who reads the kernel's log as it is written.
 */

#include "incidents/logs/scanner.h"

/* A piece of text, with what it takes to say where it is from. */
struct line {
	const char *text;
	size_t size;
	uint64_t number;
};

struct classify {
	struct scanner_options options;
	struct scan_summary summary;
	struct log_clock clock;
	/* of the last ena.tx_lost that named its queue, and the queue */
	struct buffer lost_device;
	uint64_t lost_qid;
	/* that the log itself says for the lines below */
	char boot_id[33];
};

void classify_init(struct classify *classify, const struct scanner_options *options);
void classify_done(struct classify *classify);
/* What kind the message is; NULL for none. */
const struct kind *classify_match(const struct classify *classify, const struct log_prefix *prefix,
				  bool truncated, struct fields *fields);
/* Puts the message into the log's time, and gives it out if it is an incident. */
void classify_take(struct classify *classify, const struct log_prefix *prefix,
		   const struct line *line);

#define CLASSIFY_DEVICE_MAX 64

/* What it happened to, by the first of some fields that there is; `pci_address` is the PCI address
 * that came pci_address the message, or "". */
const char *classify_device(const struct fields *fields, const char *pci_address,
			    char text[CLASSIFY_DEVICE_MAX]);
