// SPDX-License-Identifier: GPL-2.0-only
#include "store/disk/unsaved-note.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "store/disk/beneath.h"
#include "base/clock.h"
#include "base/file.h"
#include "store/disk/files.h"
#include "store/disk/notes.h"

/* Larger than any note. */
#define ROOM 4096

static int write_over(const char *path, const void *bytes, size_t size)
{
	static const uint8_t zeros[ROOM];
	_cleanup_close_ int fd = -1;
	int r;

	if (size > ROOM)
		return -E2BIG;
	fd = beneath_open(path, STORE_UNSAVED, O_WRONLY | O_CREAT, STORE_FILE_MODE);
	if (fd < 0)
		return fd;
	r = file_write_at(fd, bytes, size, 0);
	if (r < 0)
		return r;
	r = file_write_at(fd, zeros, ROOM - size, size);
	return r == 0 && fsync(fd) < 0 ? -errno : r;
}

void unsaved_note_clear(const char *path)
{
	write_over(path, NULL, 0);
}

void unsaved_note_prepare(const char *path)
{
	struct store_unsaved unsaved;

	if (unsaved_note_read(path, &unsaved) == 0)
		unsaved_note_clear(path);
}

void unsaved_note_done(const char *path)
{
	struct store_unsaved unsaved;
	char file[PATH_MAX];

	if (unsaved_note_read(path, &unsaved) == 0 &&
	    store_file(path, STORE_UNSAVED, file, NULL) == 0)
		unlink(file);
}

static void unsaved_note_put_number(char text[24], uint64_t number)
{
	snprintf(text, 24, "%llu", (unsigned long long)number);
}

int unsaved_note_write(const char *path, const struct store_unsaved *unsaved)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	char first[24], from[24], to[24], perf_from[24], perf_to[24], count[24];
	const struct notes_field fields[] = {
		{ "boot_id", unsaved->boot_id },
		{ "ended", unsaved->ended },
		{ "first", first },
		{ "from_ns", from },
		{ "to_ns", to },
		{ "perf_from_ns", perf_from },
		{ "perf_to_ns", perf_to },
		{ "samples", count },
	};
	const struct note note = {
		.kind = NOTES_UNSAVED,
		.realtime_ns = clock_ns(CLOCK_REALTIME),
		.fields = fields,
		.field_count = ARRAY_SIZE(fields),
	};
	int r;

	unsaved_note_put_number(first, unsaved->first);
	unsaved_note_put_number(from, unsaved->from_ns);
	unsaved_note_put_number(to, unsaved->to_ns);
	unsaved_note_put_number(perf_from, unsaved->perf_from_ns);
	unsaved_note_put_number(perf_to, unsaved->perf_to_ns);
	unsaved_note_put_number(count, unsaved->samples);
	r = notes_encode(&note, &bytes);
	return r < 0 ? r : write_over(path, bytes.data, bytes.size);
}

static int see_unsaved(void *context, const struct note *note)
{
	struct store_unsaved *unsaved = context;

	if (note->kind != NOTES_UNSAVED)
		return 0;
	snprintf(unsaved->boot_id, sizeof(unsaved->boot_id), "%s", note_field(note, "boot_id"));
	snprintf(unsaved->ended, sizeof(unsaved->ended), "%s", note_field(note, "ended"));
	unsaved->first = note_u64(note, "first", UINT64_MAX);
	unsaved->from_ns = note_u64(note, "from_ns", 0);
	unsaved->to_ns = note_u64(note, "to_ns", 0);
	unsaved->perf_from_ns = note_u64(note, "perf_from_ns", 0);
	unsaved->perf_to_ns = note_u64(note, "perf_to_ns", 0);
	unsaved->samples = note_u64(note, "samples", 0);
	return 0;
}

int unsaved_note_read(const char *path, struct store_unsaved *ret_unsaved)
{
	struct store_unsaved unsaved = { 0 };
	uint64_t damaged;

	/* an unreadable note counts as absent */
	if (notes_read_file(path, STORE_UNSAVED, see_unsaved, &unsaved, &damaged, NULL) < 0 ||
	    !*unsaved.boot_id || unsaved.from_ns >= unsaved.to_ns ||
	    unsaved.perf_from_ns >= unsaved.perf_to_ns)
		return 0;
	*ret_unsaved = unsaved;
	return 1;
}
