/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Classifies messages one after the other: finds the kind, the time, and whether the kernel wrote
 * the message. The scanner and the reader of the live kernel log use this.
 */

#include "incidents/logs/scanner.h"

/* A piece of text and its place in the log. */
struct line {
	const char *text;
	size_t size;
	uint64_t number;
};

struct classify {
	struct scanner_options options;
	struct scan_summary summary;
	struct log_clock clock;
	/* The device and queue of the last ena.tx_lost message that names its queue. */
	struct buffer lost_device;
	uint64_t lost_qid;
	/* The boot ID that the log states for the lines below it. */
	char boot_id[33];
};

void classify_init(struct classify *classify, const struct scanner_options *options);
void classify_done(struct classify *classify);
/*
 * Returns the message's kind and its fields, or NULL. With `truncated`, also accepts a message that
 * ends too early.
 */
const struct kind *classify_match(const struct classify *classify, const struct log_prefix *prefix,
				  bool truncated, struct fields *fields);
/*
 * Advances the log's clock by this message. If the message is an incident, calls give(). Returns
 * whether it is an incident in the kernel's own words.
 */
bool classify_take(struct classify *classify, const struct log_prefix *prefix,
		   const struct line *line);

#define CLASSIFY_DEVICE_MAX 64

/*
 * Returns the affected device: the first of several fields that is present, or "". `pci_address` is
 * the PCI address that accompanies the message, or "". The result points to `text` or
 * `pci_address`.
 */
const char *classify_device(const struct fields *fields, const char *pci_address,
			    char text[CLASSIFY_DEVICE_MAX]);
