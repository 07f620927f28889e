/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * One record of /dev/kmsg, as a read() gives it and as extended netconsole sends it:
 *
 *   3,48123,1371911339996,-,caller=C12;ena 0000:20:03.0 eth0: Trigger reset is on
 *    SUBSYSTEM=pci
 *    DEVICE=+pci:0000:20:03.0
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define KMSG_RECORD_MAX                                                          \
	8193 /* what to read() with: a buffer that is too small loses the record \
	      */

struct kmsg_record {
	/* 0: the kernel itself; nobody else can write that */
	unsigned int facility;
	/* 0 emerg to 7 debug */
	unsigned int level;
	uint64_t sequence;
	/* of the clock that perf's samples have */
	uint64_t stamp_ns;
	/* a continuation line that was not joined */
	bool fragment;
	/* 'T' a task, 'C' a CPU; 0: not said */
	char caller;
	uint32_t caller_id;
	/* as it was logged: \xNN replaced, blanks at its end cut off; lives in the buffer that was
	 * given */
	const char *text;
	size_t text_size;
	/* its lines as they are in the data, which they are borrowed from */
	const char *dictionary;
	size_t dictionary_size;
};

/* 0, or -EBADMSG when it is no such record; one that ends too early within its text is one. The
 * text is appended to `text`, which must not move. */
int kmsg_parse(const char *data, size_t size, struct buffer *text, struct kmsg_record *ret_record);
/* A value of the dictionary, NULL when it is not there. */
const char *kmsg_value(const struct kmsg_record *record, const char *key, size_t *ret_size);
/* Puts text into out with each \xNN as the byte that it is. */
void kmsg_unescape(const char *text, size_t size, struct buffer *out);
