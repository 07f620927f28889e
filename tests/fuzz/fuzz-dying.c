// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes, removes and releases cgroups with any paths, one per line. The number of folded paths must
 * be bounded and must not grow after that. The counts must come down again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/trace/dead-cgroups.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_fold(const char *path)
{
	char prefix[DYING_PREFIX_SIZE], again[DYING_PREFIX_SIZE], wide[DYING_PREFIX_SIZE];

	dead_cgroups_fold(path, prefix);
	if (strlen(prefix) >= sizeof(prefix) || strlen(prefix) > strlen(path))
		abort();
	for (size_t i = 0; dead_cgroups_fold_number(prefix, i, wide); i++)
		if (i > sizeof(prefix) || strlen(wide) > strlen(prefix) ||
		    strcmp(wide, prefix) == 0)
			abort();
	dead_cgroups_fold(prefix, again);
	if (strlen(again) > strlen(prefix))
		abort();
}

static void check_line(struct dead_cgroups *dying, const char *path, uint64_t id)
{
	const struct dead_cgroups_key key = { 1, id };

	check_fold(path);
	if (dead_cgroups_made(dying, &key, &(struct dying_process){ "make", 1 }) < 0 ||
	    dead_cgroups_removed(dying, &key, path, &(struct dying_process){ "remove", 2 },
				 id + 1) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *rest = text;
	struct dead_cgroups_sum sums[2];
	struct dead_cgroups *dying;
	uint64_t count = 0, sum = 0;

	if (!text || dead_cgroups_new(&dying) < 0)
		abort();
	for (const char *path; (path = strsep(&rest, "\n"));)
		check_line(dying, path, count++);
	if (dead_cgroups_sums(dying, sums, 2) == 1)
		sum = sums[0].count;
	if (sum && sum != count)
		abort();
	for (uint64_t id = 0; id < count; id++)
		dead_cgroups_gone(dying, &(struct dead_cgroups_key){ 1, id }, "");
	if (dead_cgroups_sums(dying, sums, 2))
		abort();
	dead_cgroups_free(dying);
	free(text);
	return 0;
}
