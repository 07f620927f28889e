// SPDX-License-Identifier: GPL-2.0-only
#include "store/disk/log-position.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/file.h"
#include "store/disk/files.h"

#define FILE_NAME "kernel-log"
#define FILE_MAX 512

/* Formats everything except the checksum, which follows. */
static void log_position_format(const struct log_position *position, char text[FILE_MAX])
{
	snprintf(text, FILE_MAX, "1 %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
		 position->boot_id, position->sequence, position->stamp_ns, position->next_id,
		 position->below_id);
}

int log_position_keep(const char *store, const struct log_position *position, struct error *error)
{
	char line[FILE_MAX], text[FILE_MAX + 16];
	int size, r;

	log_position_format(position, line);
	size = snprintf(text, sizeof(text), "%s %08x\n", line, crc32c(0, line, strlen(line)));
	r = file_replace(store, FILE_NAME, text, size);
	return r < 0 ? error_set(error, r, "%s/" FILE_NAME ": %s", store, strerror(-r)) : 0;
}

int log_position_read(const char *store, struct log_position *ret_position, struct error *error)
{
	struct log_position position = { 0 };
	_cleanup_free_ char *text = NULL;
	char file[PATH_MAX], again[FILE_MAX];
	unsigned int crc;
	int r = store_file(store, FILE_NAME, file, error);

	*ret_position = position;
	if (r < 0)
		return r;
	r = file_read(file, FILE_MAX, &text, NULL);
	if (r < 0)
		return r == -ENOENT || r == -EFBIG
			       ? 0
			       : error_set(error, r, "%s: %s", file, strerror(-r));
	if (sscanf(text, "1 %39s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %8x",
		   position.boot_id, &position.sequence, &position.stamp_ns, &position.next_id,
		   &position.below_id, &crc) != 6)
		return 0;
	log_position_format(&position, again);
	if (crc32c(0, again, strlen(again)) == crc)
		*ret_position = position;
	return 0;
}
