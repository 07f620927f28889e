/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

/*
 * The name that a person may have meant: of those offered one after the other, the one with the
 * fewest letters to change, when that is fewer than half of them.
 */
struct did_you_mean {
	const char *text;
	/* NULL: none is near */
	const char *best;
	size_t distance;
};

void did_you_mean_init(struct did_you_mean *nearest, const char *text);
void did_you_mean_offer(struct did_you_mean *nearest, const char *name);
