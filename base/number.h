/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Formats numbers for people, in the same way in all answers. base/size formats bytes; base/clock
 * formats times and durations.
 */

#include <stddef.h>
#include <stdint.h>

#define SHARE_TEXT_SIZE 32

/*
 * Formats a share of 0 to 1 as "19.6 %", with one decimal. Only exactly 1 is "100 %", and only
 * exactly 0 is "0.0 %"; less than a tenth of a percent is "<0.1 %". Returns `text`.
 */
const char *share_format(double share, char text[SHARE_TEXT_SIZE]);
/*
 * Formats a share for a column of numbers: "19.6", "100.0", "0.0", without the sign and rounded to
 * the nearest. Returns `text`.
 */
const char *share_cell(double share, char text[SHARE_TEXT_SIZE]);
/*
 * Formats a cost, which is mostly far below 1 %, with two decimals: "0.14 %", "<0.01 %". Returns
 * `text`.
 */
const char *cost_format(double share, char text[SHARE_TEXT_SIZE]);
/* Returns the ending of a regular plural: "" for 1, otherwise "s". */
const char *plural(uint64_t count);
/* Formats "just now" for less than a second, else "2 min 5 s ago". Returns `text`. */
const char *age_format(uint64_t ns, char *text, size_t size);
