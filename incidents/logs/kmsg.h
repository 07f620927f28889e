/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * One record of /dev/kmsg, as read() returns it and as extended netconsole sends it:
 *
 *    3,48123,1371911339996,-,caller=C12;ena 0000:20:03.0 eth0: Trigger reset is on
 *     SUBSYSTEM=pci
 *     DEVICE=+pci:0000:20:03.0
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define KMSG_RECORD_MAX 8193 /* a read() into a smaller buffer loses the record */

struct kmsg_record {
	/* 0: the kernel itself; users cannot write with this facility. */
	unsigned int facility;
	/* From 0 (emerg) to 7 (debug). */
	unsigned int level;
	uint64_t sequence;
	/* The time on the clock of perf's samples. */
	uint64_t stamp_ns;
	/* The record is a continuation that the kernel did not join with the line before. */
	bool fragment;
	/* 'T': a task, 'C': a CPU, 0: unknown. */
	char caller;
	uint32_t caller_id;
	/*
	 * The message with each \xNN decoded and without blanks at its end. Points into the
	 * caller's buffer.
	 */
	const char *text;
	size_t text_size;
	/* The lines of the dictionary. Points into the record's data. */
	const char *dictionary;
	size_t dictionary_size;
};

/*
 * Parses a record, which may be truncated within its text. Appends the text to `text`, which must
 * not move afterwards. Returns 0, -EBADMSG if the data is not a record, or -ENOMEM.
 */
int kmsg_parse(const char *data, size_t size, struct buffer *text, struct kmsg_record *ret_record);
/* Returns a value of the dictionary, or NULL. Valid as long as the record's data. */
const char *kmsg_value(const struct kmsg_record *record, const char *key, size_t *ret_size);
/* Appends text to `out` and decodes each \xNN. */
void kmsg_unescape(const char *text, size_t size, struct buffer *out);
