/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A picture of fractions of a second spreads a sample over its period, half of it before the sample
 * and half after it. Times are whole microseconds of the wall clock.
 */

#include <stdint.h>

#include "base/cleanup.h"

/* The number of fractions of a stored picture. */
#define SPREAD_FRACTIONS 240
#define SPREAD_SECOND_US 1000000ull

/* The stored numbers of a fraction: a program, the kernel, and interrupts. */
#define SPREAD_PARTS 3

/* The period of a sample, or a part of it. */
struct spread_span {
	uint64_t from_us, to_us;
};

static inline struct spread_span spread_span(uint64_t time_ns, uint64_t sample_ns)
{
	uint64_t from_us = time_ns / 1000 - sample_ns / 2000;

	return (struct spread_span){ from_us, from_us + (sample_ns + 500) / 1000 };
}

/* A piece of a sample's period within one fraction. */
struct spread_piece {
	uint64_t from_us, to_us;
	/* The fraction, counted from the begin of the second. */
	uint32_t fraction;
};

/* Returns the first piece of a stretch of time, which is not empty. */
static inline struct spread_piece spread_first(uint64_t from_us, uint64_t to_us, uint32_t fractions)
{
	uint64_t in_second_us = from_us % SPREAD_SECOND_US;
	uint32_t fraction = in_second_us * fractions / SPREAD_SECOND_US;
	uint64_t end_us = ((fraction + 1) * SPREAD_SECOND_US + fractions - 1) / fractions;

	return (struct spread_piece){ from_us, MIN(to_us, from_us - in_second_us + end_us),
				      fraction };
}

/*
 * Returns how many fractions before and after an interval a sample within it may reach; 0 if the
 * sample reaches too far for a picture.
 */
uint32_t spread_spill(uint64_t sample_ns);
