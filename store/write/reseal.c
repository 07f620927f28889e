// SPDX-License-Identifier: GPL-2.0-only
#include "store/write/reseal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mutation.h"
#include "store/disk/beneath.h"
#include "store/disk/files.h"
#include "store/disk/index.h"
#include "store/disk/segment-dir.h"

struct store_resealer {
	/* The folder of segments. */
	int folder;
	/* The locked file, which keeps other resealers away. */
	int lock;
	/* NULL if opening the index failed; `trouble` has the reason. */
	struct index *index;
	struct error trouble;
};

struct store_resealer *store_resealer_close(struct store_resealer *resealer)
{
	if (!resealer)
		return NULL;
	index_close(resealer->index);
	if (resealer->folder >= 0)
		close(resealer->folder);
	if (resealer->lock >= 0)
		close(resealer->lock);
	free(resealer);
	return NULL;
}

/*
 * Returns the lock of resealers, or -EBUSY if another resealer holds it. Readers cannot hold the
 * lock.
 */
static int reseal_lock(const char *path)
{
	_cleanup_close_ int lock =
		beneath_open(path, STORE_RESEAL_LOCK, O_RDWR | O_CREAT, STORE_LOCK_MODE);

	if (lock < 0)
		return lock;
	if (flock(lock, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	return take_fd(lock);
}

void store_resealer_sweep(const char *path, const char *name)
{
	static const char suffix[] = STORE_SUFFIX STORE_RESEAL_SUFFIX;
	_cleanup_close_ int folder = -1, lock = -1;
	size_t size = strlen(name);

	if (name[0] != '.' || size <= strlen(suffix) ||
	    strcmp(name + size - strlen(suffix), suffix) != 0)
		return;
	lock = reseal_lock(path);
	folder = lock < 0 ? -1 : beneath_open(path, STORE_SEGMENTS, O_RDONLY | O_DIRECTORY, 0);
	if (folder >= 0)
		unlinkat(folder, name, 0);
}

int store_resealer_open(const char *path, struct store_resealer **ret_resealer, struct error *error)
{
	_cleanup_(cleanup_store_resealer) struct store_resealer *resealer =
		calloc(1, sizeof(*resealer));
	char name[PATH_MAX];
	int r;

	if (!resealer)
		return -ENOMEM;
	resealer->folder = resealer->lock = -1;
	r = store_check_file(path, error);
	if (r < 0)
		return r;
	r = store_file(path, STORE_SEGMENTS, name, error);
	if (r < 0)
		return r;
	resealer->lock = reseal_lock(path);
	if (resealer->lock == -EBUSY)
		return error_set(error, -EBUSY,
				 "%s: another process adds names to it; try again later", path);
	if (resealer->lock < 0)
		return beneath_error(error, resealer->lock, path);
	resealer->folder = beneath_open(path, STORE_SEGMENTS, O_RDONLY | O_DIRECTORY, 0);
	if (resealer->folder < 0)
		return beneath_error(error, resealer->folder, name);
	r = store_file(path, STORE_INDEX, name, error);
	if (r == 0)
		r = index_open(name, true, &resealer->index, &resealer->trouble);
	if (r == -ENOMEM)
		return r;
	*ret_resealer = take_ptr(resealer);
	return 0;
}

static int write_beside(int folder, const char *name, const struct buffer *bytes)
{
	_cleanup_close_ int fd =
		openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		       STORE_FILE_MODE);
	int r;

	if (fd < 0)
		return -errno;
	r = file_write_all(fd, bytes->data, bytes->size);
	return r == 0 && fsync(fd) < 0 ? -errno : r;
}

/*
 * Exchanges the two names, because a plain rename would bring back a segment that retention removed
 * meanwhile. If the file system cannot exchange names, checks before the rename that the segment
 * exists.
 */
static int change_places(int folder, const char *name, const char *other)
{
	if (renameat2(folder, name, folder, other, RENAME_EXCHANGE) == 0)
		return unlinkat(folder, name, 0) < 0 ? -errno : 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (faccessat(folder, other, F_OK, 0) < 0 || renameat(folder, name, folder, other) < 0)
		return -errno;
	return 0;
}

static int reseal_replace(int folder, const char *name, const struct buffer *bytes)
{
	char temporary[NAME_MAX + 1];
	int r;

	/*
	 * if somebody kills us here, the next recorder removes the file at its start, unless a
	 * resealer runs
	 */
	if (snprintf(temporary, sizeof(temporary), ".%s%s", name, STORE_RESEAL_SUFFIX) >=
	    (int)sizeof(temporary))
		return -ENAMETOOLONG;
	r = write_beside(folder, temporary, bytes);
	if (r == 0)
		r = change_places(folder, temporary, name);
	if (r < 0) {
		unlinkat(folder, temporary, 0);
		return r;
	}
	return fsync(folder) < 0 ? -errno : 0;
}

static int reseal_put_into_index(struct store_resealer *resealer,
				 const struct store_segment *segment, const struct tape *tape,
				 const struct buffer *bytes, struct error *error)
{
	struct segment_input input = segment_input_memory(bytes->data, bytes->size);
	_cleanup_(index_bytes_done) struct index_bytes rows = { 0 };
	_cleanup_(incident_rows_done) struct incident_rows incidents = { 0 };
	int r;

	if (!resealer->index) {
		if (error)
			*error = resealer->trouble;
		return 1;
	}
	r = incident_rows_add_tape(&incidents, tape, segment->name);
	if (r < 0)
		return 1;
	r = segment_dir_input_bytes(&input, &rows, error);
	if (r < 0)
		return 1;
	r = index_put(resealer->index, segment, &incidents, &rows, error);
	return r < 0 ? 1 : 0;
}

int store_resealer_put(struct store_resealer *resealer, const struct store_segment *segment,
		       struct tape *tape, struct error *error)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	struct segment_summary summary;
	struct store_segment fresh;
	int r = segment_encode(tape, SEGMENT_USUAL, STORE_SEGMENT_MAX, &bytes);

	if (r == 0 && !mutated("forget-reseal"))
		r = reseal_replace(resealer->folder, segment->name, &bytes);
	if (r < 0)
		return error_set(error, r, "%s: %s", segment->name, strerror(-r));
	segment_summarize(tape, &summary);
	store_describe(&summary, segment->name, bytes.size, &fresh);
	return reseal_put_into_index(resealer, &fresh, tape, &bytes, error);
}
