// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads any bytes as the file with a recorder's status. A text that is read is a part of the file.
 */
#include <stdlib.h>
#include <time.h>

#include "store/disk/files.h"
#include "store/disk/status-file.h"
#include "tests/fuzz/store/notes-record.h"
#include "tests/fuzz/root.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_nanosleep(const struct timespec *pause, struct timespec *ret_left);

/* Nobody writes the file meanwhile, so waiting for a better one is useless. */
int __wrap_nanosleep(const struct timespec *pause, struct timespec *ret_left)
{
	return 0;
}

static void check(const void *data, size_t size)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	uint64_t time_ns = 0;
	int pid = 0;

	put("/" STORE_STATUS, data, size);
	if (status_file_read(root, &text, &pid, &time_ns) == 1 && text.size > size)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(buffer_done) struct buffer record = { 0 };

	if (!*root)
		make_root(NULL, 0);
	check(data, size);
	put_record(&record, data, size);
	if (!buffer_failed(&record))
		check(record.data, record.size);
	return 0;
}
