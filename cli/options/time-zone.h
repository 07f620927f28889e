/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The C library takes a time zone that it does not know for UTC, without a word. */

#include <stdbool.h>

/* Is it a value of TZ that means something here: a file of zones, or a rule such as CET-1CEST? NULL
 * and "" do. */
bool time_zone_is_known(const char *zone);
