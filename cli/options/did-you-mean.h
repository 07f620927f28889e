/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

/*
 * The name that a person may have meant: of those offered one after the other, the one with the fewest letters to change, when that is
 * fewer than half of them.
 */
struct nearest {
	const char *text;
	const char *best; /* NULL: none is near */
	size_t distance;
};

void nearest_init(struct nearest *nearest, const char *text);
void nearest_offer(struct nearest *nearest, const char *name);
