/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The seconds of a tape in which a CPU was busy all the time or nearly so, and with what: enough to
 * say which CPUs were saturated, when, how long, and by whom, without the samples. A segment has it
 * in a section of its own, and the index a copy of that.
 *
 * A *slot* is a whole second of the wall clock; what is less than half a second at the tape's begin
 * and end belongs to its neighbour. Only slots in which a CPU has a cell are there. A *cell* is one
 * CPU in one slot, busy for at least BUSY_LEAST per cent of it.
 *
 * Samples tell what a CPU did. Where some are not there, figures of the host tell: by them the CPU
 * did not idle for so much of the slot. Where there are none, the recorder may know that the timer
 * of a busy CPU was held up; otherwise no sample is idle time. What no sample and no figure
 * explains is the kernel's, as only code that has interrupts off goes unseen by both. While a CPU
 * is offline it is not busy.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/intern.h"
#include "tape/tape.h"

/* Per cent; all shares are, of the slot. */
#define BUSY_LEAST 80
#define BUSY_UNKNOWN 255

struct busy_slot {
	/* where it begins */
	uint64_t perf_ns;
	uint64_t length_ns;
	/* where it begins on the wall clock */
	uint64_t realtime_ns;
	/* how busy all CPUs were, in thousandths of all of them */
	uint32_t machine;
};

struct busy_thread {
	int32_t pid;
	int32_t tid;
	uint32_t comm;
};

struct busy_cell {
	uint32_t cpu;
	uint32_t slot;
	/* the one that was seen most often, + 1; 0: none was seen */
	uint32_t thread;
	/* its name; 0: none was seen */
	uint32_t function;
	uint8_t thread_share;
	uint8_t function_share;
	uint8_t busy;
	/* without interrupts */
	uint8_t kernel;
	uint8_t irq;
	/* of busy: what samples do not tell of */
	uint8_t unseen;
	/* how busy the figures of the host say it was, or BUSY_UNKNOWN */
	uint8_t gauges;
};

/* Zeroed is empty. */
struct busy {
	/* Of how much time the samples are is known, and there are enough of them. Otherwise there
	 * are no cells: nothing tells how busy a CPU was. */
	bool known;
	/* of the host, or those that were seen */
	uint64_t cpus;
	/* of threads and functions */
	struct strings names;
	/* in time order */
	array_of(struct busy_slot) slots;
	array_of(struct busy_thread) threads;
	/* by CPU, and then by slot */
	array_of(struct busy_cell) cells;
};

/* Of a whole tape with samples in time order and names, so far as there are any. 0 or -ENOMEM;
 * busy_done() in either case. */
int busy_make(const struct tape *tape, struct busy *busy);
void busy_done(struct busy *busy);

/* Decodes what segment_busy() gives: the same decoder for many, as making one takes longer. */
struct busy_decoder;
int busy_decoder_new(struct busy_decoder **ret_decoder);
struct busy_decoder *busy_decoder_free(struct busy_decoder *decoder);
DEFINE_CLEANUP(busy_decoder, struct busy_decoder *, busy_decoder_free)
/* 0, -EBADMSG, -ENOMEM; busy_done() in either case. */
int busy_decode(struct busy_decoder *decoder, const void *data, size_t size, struct busy *busy);
