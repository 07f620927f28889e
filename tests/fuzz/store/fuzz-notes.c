// SPDX-License-Identifier: GPL-2.0-only
/*
 * The notes. Records that are read from any bytes must be the same after writing and reading them
 * again. A fuzzer does not get past the checksums, so the input is also used as the body of a
 * record with a right checksum.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "store/disk/notes.h"
#include "tests/fuzz/store/notes-record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static int encode(void *context, const struct note *note)
{
	for (size_t i = 0; i < note->field_count; i++)
		check(note->fields[i].name && note->fields[i].value);
	return notes_encode(note, context);
}

static void round_trip(const void *data, size_t size)
{
	_cleanup_(buffer_done) struct buffer once = { 0 }, twice = { 0 };
	uint64_t damaged;

	check(notes_decode(data, size, encode, &once, &damaged) == 0);
	check(damaged || once.size == size);
	check(notes_decode(once.data, once.size, encode, &twice, &damaged) == 0);
	check(!damaged && once.size == twice.size &&
	      (!once.size || memcmp(once.data, twice.data, once.size) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(buffer_done) struct buffer record = { 0 };

	round_trip(data, size);
	put_record(&record, data, size);
	if (!buffer_failed(&record))
		round_trip(record.data, record.size);
	return 0;
}
