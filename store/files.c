// SPDX-License-Identifier: GPL-2.0-only
#include "store/files.h"

#include <stdio.h>

#include "base/file.h"

int store_file(const char *path, const char *name, char text[PATH_MAX], struct error *error)
{
	if (snprintf(text, PATH_MAX, "%s/%s", path, name) >= PATH_MAX)
		return error_set(error, -ENAMETOOLONG, "%.100s...: the path is too long", path);
	return 0;
}

int store_read_segment(
	const char *path, const char *name, char **ret_data, size_t *ret_size, struct error *error)
{
	char dir[PATH_MAX], file[PATH_MAX];
	int r;

	r = store_file(path, STORE_SEGMENTS, dir, error);
	if (r == 0)
		r = store_file(dir, name, file, error);
	if (r < 0)
		return r;
	r = file_read(file, STORE_SEGMENT_MAX, ret_data, ret_size);
	return r < 0 ? error_set(error, r, "%s: %s", file, strerror(-r)) : 0;
}

void store_describe(const struct segment_summary *summary, const char *name, uint64_t bytes,
	struct store_segment *ret_segment)
{
	*ret_segment = (struct store_segment){
		.sequence = summary->sequence,
		.begin_ns = summary->begin_ns,
		.end_ns = summary->end_ns,
		.samples = summary->samples,
		.lost = summary->lost,
		.bytes = bytes,
	};
	snprintf(ret_segment->name, sizeof(ret_segment->name), "%s", name);
	snprintf(ret_segment->boot_id, sizeof(ret_segment->boot_id), "%s", summary->boot_id);
}
