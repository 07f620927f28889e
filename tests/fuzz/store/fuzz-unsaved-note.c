// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads any bytes as the note of samples that could not be stored. The program must be able to
 * write the result again.
 */
#include <stdlib.h>
#include <string.h>

#include "store/disk/files.h"
#include "store/disk/unsaved-note.h"
#include "tests/fuzz/store/notes-record.h"
#include "tests/fuzz/root.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const void *data, size_t size)
{
	struct store_unsaved once = { 0 }, twice = { 0 };

	put("/" STORE_UNSAVED, data, size);
	if (unsaved_note_read(root, &once) != 1)
		return;
	if (!memchr(once.boot_id, 0, sizeof(once.boot_id)) ||
	    !memchr(once.ended, 0, sizeof(once.ended)))
		abort();
	if (unsaved_note_write(root, &once) < 0 || unsaved_note_read(root, &twice) != 1)
		abort();
	if (strcmp(once.boot_id, twice.boot_id) || strcmp(once.ended, twice.ended) ||
	    once.first != twice.first || once.from_ns != twice.from_ns ||
	    once.to_ns != twice.to_ns || once.perf_from_ns != twice.perf_from_ns ||
	    once.perf_to_ns != twice.perf_to_ns || once.samples != twice.samples)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(buffer_done) struct buffer record = { 0 };

	if (!*root)
		make_root(NULL, 0);
	check(data, size);
	/* a fuzzer does not find the checksum of a record */
	put_record(&record, data, size);
	if (!buffer_failed(&record))
		check(record.data, record.size);
	return 0;
}
