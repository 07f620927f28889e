// SPDX-License-Identifier: GPL-2.0-only
#include "cli/service/forecast-rate.h"

#include "base/cleanup.h"

static double forecast_density(const struct forecast_piece *piece)
{
	return piece->bytes / (piece->length_ns / 1e9);
}

/*
 * Returns the bytes of the fixed part. Returns 0 if they are unknown: the pieces have about the
 * same length, or the load grew so much that the longer piece is denser.
 */
static double forecast_fixed(const struct forecast_piece *shortest,
			     const struct forecast_piece *longest)
{
	double growth;

	if (longest->length_ns <= shortest->length_ns + shortest->length_ns / 4 ||
	    longest->bytes <= shortest->bytes)
		return 0;
	growth = ((double)longest->bytes - shortest->bytes) /
		 ((longest->length_ns - shortest->length_ns) / 1e9);
	return MAX(longest->bytes - growth * (longest->length_ns / 1e9), 0.0);
}

void forecast_compute(const struct forecast_piece *pieces, size_t count, uint64_t segment_ns,
		      struct forecast *ret_forecast)
{
	const struct forecast_piece *shortest = &pieces[0], *longest = &pieces[0];
	double least = forecast_density(&pieces[0]), most = least;
	double bytes = 0, seconds = 0, growth, fixed, rate;

	for (size_t i = 0; i < count; i++) {
		if (pieces[i].length_ns < shortest->length_ns)
			shortest = &pieces[i];
		if (pieces[i].length_ns > longest->length_ns)
			longest = &pieces[i];
		bytes += pieces[i].bytes;
		seconds += pieces[i].length_ns / 1e9;
		least = MIN(least, forecast_density(&pieces[i]));
		most = MAX(most, forecast_density(&pieces[i]));
	}
	fixed = forecast_fixed(shortest, longest);
	growth =
		fixed > 0 ? (longest->bytes - fixed) / (longest->length_ns / 1e9) : bytes / seconds;
	rate = growth + fixed / (segment_ns / 1e9);
	*ret_forecast = (struct forecast){
		.rate = rate,
		.least = MIN(least, growth),
		.most = MAX(most, rate),
	};
}
