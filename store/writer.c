// SPDX-License-Identifier: GPL-2.0-only
#include "store/store-writer.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/file.h"
#include "store/files.h"
#include "store/folder.h"
#include "store/index.h"
#include "tape/segment.h"

/*
 * Invariants:
 * (1) while the writer is open it holds the lock, and the lock file names its pid;
 * (2) every sound segment file is in the index, or will be at the next open: sealing renames first and indexes second;
 * (3) next_sequence is above that of every segment of this boot.
 */

struct store_writer {
	char *path;
	char segments[PATH_MAX];
	int lock_fd;
	struct index *index;
	char boot_id[40];
	_Atomic uint64_t next_sequence;
	bool behind; /* a segment could not be indexed */
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

static int compare_names(const void *a, const void *b)
{
	return strcmp(
		((const struct store_segment *)a)->name, ((const struct store_segment *)b)->name);
}

/* Numbers go on above this one. */
static void writer_number_above(struct store_writer *writer, uint64_t number)
{
	uint64_t next = atomic_load(&writer->next_sequence);

	while (next <= number &&
		!atomic_compare_exchange_weak(&writer->next_sequence, &next, number + 1))
		;
}

/* Sequence numbers go on above those of this boot, whether the file is sound or not. */
static void writer_note(struct store_writer *writer, const char *name)
{
	size_t size = strlen(writer->boot_id);

	if (strncmp(name, writer->boot_id, size) == 0 && name[size] == '-')
		writer_number_above(writer, strtoull(name + size + 1, NULL, 10));
}

/* Puts a segment file back into the index. One that is damaged stays out of it: readers see that it is in the folder. */
static int writer_adopt(struct store_writer *writer, const char *name, struct error *error)
{
	struct store_segment segment;
	int r = folder_describe(writer->path, name, &segment, error);

	if (r < 0 || *segment.damage)
		return r == -ENOENT ? 0 : r;
	return index_put(writer->index, &segment, error);
}

/* What a writer left that was killed: nobody else writes, we hold the lock. */
static void writer_sweep(const struct store_writer *writer, const char *name)
{
	static const char suffix[] = STORE_SUFFIX ".new";
	size_t size = strlen(name);
	char file[PATH_MAX];

	if (name[0] == '.' && size > strlen(suffix) &&
		strcmp(name + size - strlen(suffix), suffix) == 0 &&
		store_file(writer->segments, name, file, NULL) == 0)
		unlink(file);
}

struct writer_scan {
	struct store_writer *writer;
	struct store_segments known; /* by name */
	struct error *error;
};

static int writer_see(void *context, const char *name)
{
	struct writer_scan *scan = context;
	struct store_segment key = { 0 }, *row = NULL;

	if (!folder_is_segment(name)) {
		writer_sweep(scan->writer, name);
		return 0;
	}
	writer_note(scan->writer, name);
	snprintf(key.name, sizeof(key.name), "%.63s", name);
	if (scan->known.list.count)
		row = bsearch(&key, scan->known.list.items, scan->known.list.count, sizeof(key),
			compare_names);
	if (!row)
		return writer_adopt(scan->writer, name, scan->error);
	row->bytes = UINT64_MAX; /* seen */
	return 0;
}

/* Makes the index agree with the folder. */
static int writer_reconcile(struct store_writer *writer, struct error *error)
{
	struct writer_scan scan = { .writer = writer, .error = error };
	int r = index_find(writer->index, 0, UINT64_MAX, &scan.known, error);

	if (r == 0 && scan.known.list.count)
		qsort(scan.known.list.items, scan.known.list.count, sizeof(*scan.known.list.items),
			compare_names);
	if (r == 0)
		r = folder_each(writer->path, writer_see, &scan, error);
	for (size_t i = 0; r == 0 && i < scan.known.list.count; i++)
		if (scan.known.list.items[i].bytes != UINT64_MAX)
			r = index_remove(writer->index, scan.known.list.items[i].name, error);
	array_done(&scan.known.list);
	return r;
}

/* An index that is damaged or of an older perftape is made anew: all that is in it is in the folder too. */
static int writer_open_index(struct store_writer *writer, const char *file, struct error *error)
{
	int r = index_open(file, true, &writer->index, error);

	if (r == 0)
		r = writer_reconcile(writer, error);
	if (r != -EBADMSG && r != -ESTALE)
		return r;
	writer->index = index_close(writer->index);
	index_discard(file);
	r = index_open(file, true, &writer->index, error);
	return r < 0 ? r : writer_reconcile(writer, error);
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
		r = writer_open_index(writer, file, error);
	if (r < 0)
		return r;
	*ret_writer = take_ptr(writer);
	return 0;
}

uint64_t store_writer_number(struct store_writer *writer)
{
	return atomic_fetch_add(&writer->next_sequence, 1);
}

static const char *writer_boot(const struct store_writer *writer, const struct tape *tape)
{
	const char *boot_id = tape_fact(tape, "boot_id");

	return *boot_id ? boot_id : writer->boot_id;
}

/* Puts the segment into the index, and before it those that could not be put there. */
static int writer_index(
	struct store_writer *writer, const struct store_segment *segment, struct error *error)
{
	int r = writer->behind ? writer_reconcile(writer, error) : 0;

	if (r == 0)
		r = index_put(writer->index, segment, error);
	writer->behind = r < 0;
	return r < 0 ? (error_prefix(error, r, "%s", writer->path), 1) : 0;
}

int store_writer_seal(struct store_writer *writer, struct tape *tape, enum segment_effort effort,
	uint64_t *ret_bytes, struct error *error)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	const char *boot_id = writer_boot(writer, tape);
	struct segment_summary summary;
	struct store_segment segment;
	char name[sizeof(segment.name)];
	int r;

	r = tape_sort_samples(tape);
	if (r == 0)
		tape_span_samples(tape);
	if (r == 0)
		r = segment_encode(tape, effort, STORE_SEGMENT_MAX, &bytes);
	if (r == -EFBIG)
		return error_set(error, r,
			"a segment of %zu samples would be larger than %u MB; make them shorter",
			tape->samples.count, STORE_SEGMENT_MAX >> 20);
	if (r < 0)
		return error_set(error, r, "out of memory while sealing a segment");
	segment_summarize(tape, &summary);
	snprintf(name, sizeof(name), "%.39s-%010llu" STORE_SUFFIX, boot_id,
		(unsigned long long)tape->sequence);
	r = file_replace(writer->segments, name, bytes.data, bytes.size);
	if (r < 0)
		return error_set(error, r, "%s/%s: %s", writer->segments, name, strerror(-r));
	if (ret_bytes)
		*ret_bytes = bytes.size;
	store_describe(&summary, name, bytes.size, &segment);
	return writer_index(writer, &segment, error);
}

int store_writer_imported(struct store_writer *writer, const char *id)
{
	char file[PATH_MAX];

	return snprintf(file, sizeof(file), "%s/" STORE_IMPORTS "/%s", writer->path, id) <
		       (int)sizeof(file) &&
	       access(file, F_OK) == 0;
}

int store_writer_note_import(
	struct store_writer *writer, const char *id, const char *line, struct error *error)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	char dir[PATH_MAX];
	int r = store_file(writer->path, STORE_IMPORTS, dir, error);

	if (r < 0)
		return r;
	buffer_printf(&text, "%s\n", line);
	r = buffer_failed(&text) ? -ENOMEM : file_make_dirs(dir, 0750);
	if (r == 0)
		r = file_replace(dir, id, text.data, text.size);
	return r < 0 ? error_set(error, r, "%s/%s: %s", dir, id, strerror(-r)) : 0;
}
