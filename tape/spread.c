// SPDX-License-Identifier: GPL-2.0-only
#include "tape/spread.h"

/* With a longer period, a picture of fractions of a second is meaningless. */
#define HALF_MAX_US 250000

uint32_t spread_spill(uint64_t sample_ns)
{
	uint64_t half_us = sample_ns / 2000;

	if (!half_us || half_us > HALF_MAX_US)
		return 0;
	return half_us * SPREAD_FRACTIONS / SPREAD_SECOND_US + 2;
}
