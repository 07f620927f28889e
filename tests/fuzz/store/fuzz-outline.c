// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads any bytes as an outline. Decoded rows must refer only to names that exist, and the same
 * bytes must come out again.
 */
#include <stdlib.h>

#include "tape/outline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool sound)
{
	if (!sound)
		abort();
}

static void check_leader(const struct outline *outline, const struct outline_leader *leader)
{
	must(leader->comm < strings_count(&outline->names) &&
	     leader->function < strings_count(&outline->names));
}

static void check(const struct outline *outline)
{
	struct buffer bytes = { 0 };
	struct outline again;

	check_leader(outline, &outline->leader);
	for (size_t i = 0; i < outline->cpus.count; i++) {
		must(outline->cpus.items[i].cpu < TAPE_CPUS_MAX);
		must(!i || outline->cpus.items[i].cpu > outline->cpus.items[i - 1].cpu);
		check_leader(outline, &outline->cpus.items[i].leader);
	}
	must(outline_encode(outline, &bytes) == 0);
	must(outline_decode(bytes.data, bytes.size, &again) == 0);
	must(again.cpus.count == outline->cpus.count);
	must(outline_spent(&again).ns[STACK_CLASS_IDLE] ==
	     outline_spent(outline).ns[STACK_CLASS_IDLE]);
	outline_done(&again);
	buffer_done(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outline outline;
	int r = outline_decode(data, size, &outline);

	if (r == 0)
		check(&outline);
	else
		must(r == -EBADMSG || r == -ENOMEM || r == -E2BIG);
	outline_done(&outline);
	return 0;
}
