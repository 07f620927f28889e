// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads any bytes as the index of a store. Each row that the reader returns must be a row that this
 * program could have written. Reading must end whatever the file claims.
 */
#include <stdlib.h>

#include "store/disk/index.h"
#include "tests/fuzz/root.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static int see_segment(void *context, const struct store_segment *segment)
{
	check(memchr(segment->name, 0, sizeof(segment->name)));
	check(memchr(segment->boot_id, 0, sizeof(segment->boot_id)));
	return 0;
}

static int see_incident(void *context, const struct store_incident *incident)
{
	check(memchr(incident->boot_id, 0, sizeof(incident->boot_id)));
	return 0;
}

static int see_bytes(void *context, const char *name, const void *data, size_t size)
{
	check(name && (data || !size));
	return 0;
}

static void read_all(const char *path, bool writing)
{
	_cleanup_(cleanup_index) struct index *index = NULL;
	struct error error = { 0 };

	if (index_open(path, writing, &index, &error) < 0)
		return;
	index_segments(index, see_segment, NULL, &error);
	index_incidents(index, see_incident, NULL, &error);
	index_all_bytes(index, INDEX_BUSY, see_bytes, NULL, &error);
	index_all_bytes(index, INDEX_OUTLINES, see_bytes, NULL, &error);
	if (writing)
		index_remove(index, "absent.tape", &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[128];

	if (!*root)
		make_root(NULL, 0);
	snprintf(path, sizeof(path), "%s/index.sqlite", root);
	put("/index.sqlite", data, size);
	read_all(path, false);
	put("/index.sqlite", data, size);
	read_all(path, true);
	index_discard(path);
	return 0;
}
