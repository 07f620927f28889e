// SPDX-License-Identifier: GPL-2.0-only
#include "store/store-writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/file.h"
#include "store/files.h"
#include "store/index.h"
#include "store/segment.h"

/*
 * Invariants:
 * (1) while the writer is open it holds the lock, and the lock file names its pid;
 * (2) every segment file is in the index, or will be at the next open: sealing renames first and indexes second;
 * (3) next_sequence is above that of every segment of this boot.
 */

/* Level 9 costs little more than the default and a tenth less space on these columns. */
#define SEAL_LEVEL 9

struct store_writer {
	char *path;
	char segments[PATH_MAX];
	int lock_fd;
	struct index *index;
	char boot_id[40];
	uint64_t next_sequence;
};

struct store_writer *store_writer_close(struct store_writer *writer)
{
	if (!writer)
		return NULL;
	index_close(writer->index);
	if (writer->lock_fd >= 0)
		close(writer->lock_fd);
	free(writer->path);
	free(writer);
	return NULL;
}

static int writer_lock(struct store_writer *writer, struct error *error)
{
	char file[PATH_MAX], pid[32] = "";
	int r = store_file(writer->path, STORE_LOCK, file, error);

	if (r < 0)
		return r;
	writer->lock_fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
	if (writer->lock_fd < 0)
		return error_set(error, -errno, "%s: %s", file, strerror(errno));
	if (flock(writer->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		if (pread(writer->lock_fd, pid, sizeof(pid) - 1, 0) < 0)
			pid[0] = 0;
		return error_set(error, -EBUSY,
			"%s: process %.*s is recording into it already; stop it, or choose another "
			"--store",
			writer->path, (int)strcspn(pid, "\n"), pid);
	}
	snprintf(pid, sizeof(pid), "%d\n", getpid());
	if (ftruncate(writer->lock_fd, 0) < 0 || pwrite(writer->lock_fd, pid, strlen(pid), 0) < 0)
		return error_set(error, -errno, "%s: %s", file, strerror(errno));
	return 0;
}

/* Puts a segment file that the index does not know back into it. A damaged one is left where it is. */
static int writer_adopt(struct store_writer *writer, const char *name, struct error *error)
{
	_cleanup_free_ char *data = NULL;
	struct segment_summary summary;
	struct store_segment segment;
	size_t size;
	int r;

	r = store_read_segment(writer->path, name, &data, &size, error);
	if (r == 0)
		r = segment_peek(data, size, &summary, error);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	store_describe(&summary, name, size, &segment);
	return index_put(writer->index, &segment, error);
}

static bool is_segment(const char *name)
{
	size_t size = strlen(name), suffix = strlen(STORE_SUFFIX);

	return name[0] != '.' && size > suffix &&
	       size < sizeof(((struct store_segment *)0)->name) &&
	       strcmp(name + size - suffix, STORE_SUFFIX) == 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(
		((const struct store_segment *)a)->name, ((const struct store_segment *)b)->name);
}

/* Sequence numbers go on above those of this boot, whether the file is sound or not. */
static void writer_note(struct store_writer *writer, const char *name)
{
	size_t size = strlen(writer->boot_id);

	if (strncmp(name, writer->boot_id, size) == 0 && name[size] == '-')
		writer->next_sequence =
			MAX(writer->next_sequence, strtoull(name + size + 1, NULL, 10) + 1);
}

static int writer_scan(
	struct store_writer *writer, struct store_segments *known, DIR *dir, struct error *error)
{
	struct dirent *entry;
	int r = 0;

	while (r == 0 && (entry = readdir(dir))) {
		struct store_segment key, *row;

		if (!is_segment(entry->d_name))
			continue;
		snprintf(key.name, sizeof(key.name), "%.63s", entry->d_name);
		writer_note(writer, key.name);
		row = NULL;
		if (known->list.count)
			row = bsearch(&key, known->list.items, known->list.count, sizeof(key),
				compare_names);
		if (row)
			row->bytes = UINT64_MAX; /* seen */
		else
			r = writer_adopt(writer, entry->d_name, error);
	}
	for (size_t i = 0; r == 0 && i < known->list.count; i++)
		if (known->list.items[i].bytes != UINT64_MAX)
			r = index_remove(writer->index, known->list.items[i].name, error);
	return r;
}

/* Makes the index agree with the folder. */
static int writer_reconcile(struct store_writer *writer, struct error *error)
{
	struct store_segments known = { 0 };
	DIR *dir = opendir(writer->segments);
	int r;

	if (!dir)
		return error_set(error, -errno, "%s: %s", writer->segments, strerror(errno));
	r = index_find(writer->index, 0, UINT64_MAX, &known, error);
	if (r == 0) {
		if (known.list.count)
			qsort(known.list.items, known.list.count, sizeof(*known.list.items),
				compare_names);
		r = writer_scan(writer, &known, dir, error);
	}
	array_done(&known.list);
	closedir(dir);
	return r;
}

static int read_boot_id(char text[40], struct error *error)
{
	_cleanup_free_ char *data = NULL;
	int r = file_read("/proc/sys/kernel/random/boot_id", 64, &data, NULL);

	if (r < 0)
		return error_set(error, r, "/proc/sys/kernel/random/boot_id: %s", strerror(-r));
	snprintf(text, 40, "%.*s", (int)strcspn(data, "\n"), data);
	return 0;
}

int store_writer_open(const char *path, struct store_writer **ret_writer, struct error *error)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = calloc(1, sizeof(*writer));
	char file[PATH_MAX];
	int r;

	if (!writer)
		return -ENOMEM;
	writer->lock_fd = -1;
	writer->path = strdup(path);
	if (!writer->path)
		return -ENOMEM;
	r = store_file(path, STORE_SEGMENTS, writer->segments, error);
	if (r == 0)
		r = store_file(path, STORE_INDEX, file, error);
	if (r < 0)
		return r;
	/* stacks show kernel addresses and what everybody runs: not for everybody's eyes */
	r = file_make_dirs(writer->segments, 0750);
	if (r < 0)
		return error_set(error, r, "%s: cannot make it: %s", path, strerror(-r));
	r = writer_lock(writer, error);
	if (r == 0)
		r = read_boot_id(writer->boot_id, error);
	if (r == 0)
		r = index_open(file, true, &writer->index, error);
	if (r == 0)
		r = writer_reconcile(writer, error);
	if (r < 0)
		return r;
	*ret_writer = take_ptr(writer);
	return 0;
}

int store_writer_seal(
	struct store_writer *writer, struct tape *tape, uint64_t *ret_bytes, struct error *error)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	struct segment_summary summary;
	struct store_segment segment;
	char name[sizeof(segment.name)];
	int r;

	tape->sequence = writer->next_sequence;
	r = tape_sort_samples(tape);
	if (r == 0)
		r = segment_encode(tape, SEAL_LEVEL, &bytes);
	if (r < 0)
		return error_set(error, r, "out of memory while sealing a segment");
	segment_summarize(tape, &summary);
	snprintf(name, sizeof(name), "%s-%010llu" STORE_SUFFIX, writer->boot_id,
		(unsigned long long)tape->sequence);
	r = file_replace(writer->segments, name, bytes.data, bytes.size);
	if (r < 0)
		return error_set(error, r, "%s/%s: %s", writer->segments, name, strerror(-r));
	writer->next_sequence++;
	if (ret_bytes)
		*ret_bytes = bytes.size;
	store_describe(&summary, name, bytes.size, &segment);
	r = index_put(writer->index, &segment, error);
	return r < 0 ? error_prefix(error, r, "%s", writer->path) : 0;
}
