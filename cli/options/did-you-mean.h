/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

/*
 * Finds the name that is most similar to a text, among the names that the caller offers. At least
 * half of the letters must match.
 */
struct did_you_mean {
	const char *text;
	/* NULL: no name is similar. */
	const char *best;
	size_t distance;
};

void did_you_mean_init(struct did_you_mean *did_you_mean, const char *text);
void did_you_mean_offer(struct did_you_mean *did_you_mean, const char *name);
