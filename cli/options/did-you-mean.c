// SPDX-License-Identifier: GPL-2.0-only
#include "cli/options/did-you-mean.h"

#include <string.h>

#include "base/cleanup.h"

#define NAME_SIZE 32

/*
 * Returns the number of letters to insert, delete, replace or swap with their neighbour to turn a
 * into b. Returns NAME_SIZE for names that are too long to compare.
 */
static size_t did_you_mean_distance(const char *a, const char *b)
{
	size_t a_size = strlen(a), b_size = strlen(b), rows[NAME_SIZE + 1][NAME_SIZE + 1];

	if (a_size > NAME_SIZE || b_size > NAME_SIZE)
		return NAME_SIZE;
	for (size_t i = 0; i <= a_size; i++)
		for (size_t j = 0; j <= b_size; j++) {
			if (!i || !j) {
				rows[i][j] = i + j;
				continue;
			}
			rows[i][j] = MIN(MIN(rows[i - 1][j], rows[i][j - 1]) + 1,
					 rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				rows[i][j] = MIN(rows[i][j], rows[i - 2][j - 2] + 1);
		}
	return rows[a_size][b_size];
}

void did_you_mean_init(struct did_you_mean *did_you_mean, const char *text)
{
	*did_you_mean = (struct did_you_mean){ .text = text, .distance = (strlen(text) + 1) / 2 };
}

void did_you_mean_offer(struct did_you_mean *did_you_mean, const char *name)
{
	size_t changes = did_you_mean_distance(did_you_mean->text, name);

	/* a prefix counts as equal, whatever follows */
	if (strlen(did_you_mean->text) >= 2 &&
	    strncmp(name, did_you_mean->text, strlen(did_you_mean->text)) == 0)
		changes = 0;
	if (changes < did_you_mean->distance) {
		did_you_mean->distance = changes;
		did_you_mean->best = name;
	}
}
