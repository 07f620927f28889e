/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Segments as an older perftape made them, which did not know a section. */

#include <endian.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "tests/check.h"

/* Renames a section, if the file has it. */
static inline void older_segments_rename(const char *file, const char *section)
{
	_cleanup_free_ char *bytes = NULL;
	char name[9] = "";
	size_t size, table;
	uint32_t sections;
	uint8_t *at;
	FILE *to;

	snprintf(name, sizeof(name), "%s", section);
	CHECK_EQ(file_read(file, 16 << 20, &bytes, &size), 0);
	memcpy(&sections, bytes + 12, 4);
	table = 40 * (size_t)le32toh(sections);
	at = memmem(bytes + 136, table, name, 8);
	if (!at)
		return;
	memcpy(at, "older", 5);
	sections = htole32(crc32c(0, bytes + 136, table));
	memcpy(bytes + 136 + table, &sections, 4);
	to = fopen(file, "w");
	CHECK(to && fwrite(bytes, 1, size, to) == size);
	fclose(to);
}
