/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The seconds of a tape in which a CPU was busy for most of the time, and what kept it busy. They
 * show which CPUs were saturated, when, for how long and by which thread, without the samples. A
 * segment stores these seconds in a separate section, and the index has a copy.
 *
 * A *slot* is one second of the wall clock. Less than half a second at the tape's begin or end
 * belongs to the neighbouring slot. Only slots in which a CPU has a cell are stored. A *cell* is
 * one CPU in one slot, if it was busy for at least BUSY_LEAST per cent of the slot.
 *
 * Samples show what a CPU did. Where samples are absent, the CPU gauges show how long it did not
 * idle. Without gauges, the recorder may know that the timer of a busy CPU was held up. Otherwise a
 * time without samples counts as idle. Busy time that neither samples nor gauges explain counts as
 * the kernel's, because only code with interrupts off hides from both. An offline CPU is not busy.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/intern.h"
#include "tape/tape.h"

/*
 * A cell is busy for at least this percentage of its slot. All shares are percentages of the slot.
 */
#define BUSY_LEAST 80
#define BUSY_UNKNOWN 255

struct busy_slot {
	/* The begin of the slot. */
	uint64_t perf_ns;
	uint64_t length_ns;
	/* The begin of the slot on the wall clock. */
	uint64_t realtime_ns;
	/* The busy share of the whole machine, in thousandths. */
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
	/* The thread with the most samples, plus 1; 0 without samples. */
	uint32_t thread;
	/* The name of the function with the most samples; 0 without samples. */
	uint32_t function;
	uint8_t thread_share;
	uint8_t function_share;
	uint8_t busy;
	/* The kernel's share without interrupts. */
	uint8_t kernel;
	uint8_t irq;
	/* The part of `busy` that samples do not show. */
	uint8_t unseen;
	/* The busy share according to the CPU gauges, or BUSY_UNKNOWN. */
	uint8_t gauges;
};

/* A zeroed struct is empty. */
struct busy {
	/*
	 * Whether the time that one sample stands for is known and short enough. If not, `cells` is
	 * empty, because the samples do not show how busy a CPU was.
	 */
	bool known;
	/* The number of CPUs of the host, or of those that the tape shows. */
	uint64_t cpus;
	/* Names of threads and functions. */
	struct strings names;
	/* In time order. */
	array_of(struct busy_slot) slots;
	array_of(struct busy_thread) threads;
	/* Sorted by CPU, then by slot. */
	array_of(struct busy_cell) cells;
};

/*
 * Computes the busy cells of a whole tape. Its samples must be in time order. Frames without names
 * count for their module. Returns 0 or -ENOMEM. The caller calls busy_done() in either case.
 */
int busy_make(const struct tape *tape, struct busy *busy);
void busy_done(struct busy *busy);

/*
 * Decodes what segment_busy() returns. Use one decoder for many segments, because creating one
 * takes longer than decoding.
 */
struct busy_decoder;
int busy_decoder_new(struct busy_decoder **ret_decoder);
struct busy_decoder *busy_decoder_free(struct busy_decoder *decoder);
DEFINE_CLEANUP(busy_decoder, struct busy_decoder *, busy_decoder_free)
/* Returns 0, -EBADMSG or -ENOMEM. The caller calls busy_done() in either case. */
int busy_decode(struct busy_decoder *decoder, const void *data, size_t size, struct busy *busy);
