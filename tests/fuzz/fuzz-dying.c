// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any paths, one a line, of cgroups that are made, removed and gone: what they fold to is bounded, and gets no longer by what is folded after
 * that; what is counted comes down again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/trace/dead-cgroups.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_fold(const char *path)
{
	char prefix[DYING_PREFIX_SIZE], again[DYING_PREFIX_SIZE], wide[DYING_PREFIX_SIZE];

	dying_fold(path, prefix);
	if (strlen(prefix) >= sizeof(prefix) || strlen(prefix) > strlen(path))
		abort();
	for (size_t i = 0; dying_fold_number(prefix, i, wide); i++)
		if (i > sizeof(prefix) || strlen(wide) > strlen(prefix) ||
			strcmp(wide, prefix) == 0)
			abort();
	dying_fold(prefix, again);
	if (strlen(again) > strlen(prefix))
		abort();
}

static void check_line(struct dying *dying, const char *path, uint64_t id)
{
	const struct dying_key key = { 1, id };

	check_fold(path);
	if (dying_made(dying, &key, &(struct dying_by){ "make", 1 }) < 0 ||
		dying_removed(dying, &key, path, &(struct dying_by){ "remove", 2 }, id + 1) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *rest = text;
	struct dying_sum sums[2];
	struct dying *dying;
	uint64_t count = 0, sum = 0;

	if (!text || dying_new(&dying) < 0)
		abort();
	for (const char *path; (path = strsep(&rest, "\n"));)
		check_line(dying, path, count++);
	if (dying_sums(dying, sums, 2) == 1)
		sum = sums[0].count;
	if (sum && sum != count)
		abort();
	for (uint64_t id = 0; id < count; id++)
		dying_gone(dying, &(struct dying_key){ 1, id }, "");
	if (dying_sums(dying, sums, 2))
		abort();
	dying_free(dying);
	free(text);
	return 0;
}
