/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Pseudo-random numbers (xorshift), which are the same in each run. A test may set the state to
 * repeat them.
 */

#include <stdint.h>

static uint64_t random_state = 88172645463325252ull;

static inline uint64_t random_u64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static inline uint32_t random_below(uint32_t limit)
{
	return random_u64() % limit;
}
