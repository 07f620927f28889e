/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A clock that a test sets ahead, so that it need not wait for time to pass. The test is linked
 * with --wrap=clock_ns (tests/meson.build). One file of a test includes this.
 */

#include "base/clock.h"

uint64_t __real_clock_ns(clockid_t clock);
uint64_t __wrap_clock_ns(clockid_t clock);

static uint64_t fake_clock_ahead_ns;

uint64_t __wrap_clock_ns(clockid_t clock)
{
	return __real_clock_ns(clock) + fake_clock_ahead_ns;
}

static inline void fake_clock_pass(uint64_t ns)
{
	fake_clock_ahead_ns += ns;
}
