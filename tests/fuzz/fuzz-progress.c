// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads any bytes as the recorder's status. A status that can be read must be the same after
 * writing and reading it again.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "recorder/run/progress.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(buffer_done) struct buffer once = { 0 }, twice = { 0 };
	struct recorder_progress progress;

	if (progress_read((const char *)data, size, &progress) < 0)
		return 0;
	progress_write(&progress, &once);
	check(progress_read((const char *)once.data, once.size, &progress) == 0);
	progress_write(&progress, &twice);
	check(once.size == twice.size && memcmp(once.data, twice.data, once.size) == 0);
	return 0;
}
