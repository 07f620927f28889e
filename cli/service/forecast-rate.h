/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Estimates the bytes that longer recordings take, from the sealed segments of a short trial. A
 * segment has a fixed part that does not grow with its length, mostly names. Two segments of
 * different lengths separate this part from the bytes per second.
 */

#include <stddef.h>
#include <stdint.h>

struct forecast_piece {
	uint64_t length_ns;
	uint64_t bytes;
};

/* A forecast in bytes per second, for segments of a given length. */
struct forecast {
	double rate;
	/* The rate without the fixed part, or the rate of the sparsest piece if that is lower. */
	double least;
	/* The rate of the densest piece, or `rate` if that is higher. */
	double most;
};

/* Computes the forecast from at least one piece with a length. */
void forecast_compute(const struct forecast_piece *pieces, size_t count, uint64_t segment_ns,
		      struct forecast *ret_forecast);
