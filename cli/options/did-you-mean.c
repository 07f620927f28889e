// SPDX-License-Identifier: GPL-2.0-only
#include "cli/options/did-you-mean.h"

#include <string.h>

#include "base/cleanup.h"

#define NAME_SIZE 32

/* Letters to insert, delete or replace to make b of a; names longer than a row of the table are far
 * from everything. */
static size_t did_you_mean_distance(const char *a, const char *b)
{
	size_t row[NAME_SIZE + 1], a_size = strlen(a), b_size = strlen(b);

	if (a_size > NAME_SIZE || b_size > NAME_SIZE)
		return NAME_SIZE;
	for (size_t j = 0; j <= b_size; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_size; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_size; j++) {
			size_t above = row[j];

			row[j] = MIN(MIN(row[j], row[j - 1]) + 1, corner + (a[i - 1] != b[j - 1]));
			corner = above;
		}
	}
	return row[b_size];
}

void did_you_mean_init(struct did_you_mean *nearest, const char *text)
{
	*nearest = (struct did_you_mean){ .text = text, .distance = (strlen(text) + 1) / 2 };
}

void did_you_mean_offer(struct did_you_mean *nearest, const char *name)
{
	size_t changes = did_you_mean_distance(nearest->text, name);

	/* the start of a name is near it, however long the rest */
	if (strlen(nearest->text) >= 2 && strncmp(name, nearest->text, strlen(nearest->text)) == 0)
		changes = 0;
	if (changes < nearest->distance) {
		nearest->distance = changes;
		nearest->best = name;
	}
}
