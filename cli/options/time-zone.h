/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Checks time zones, because the C library silently treats an unknown one as UTC. */

#include <stdbool.h>

/*
 * Returns whether a value of TZ is known: a zone file, or a rule such as CET-1CEST. Returns true
 * for NULL and "".
 */
bool time_zone_is_known(const char *zone);
