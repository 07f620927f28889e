// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lock of the store is that of a file, and who removes the store, or moves it away, takes the
 * file away and the lock with it: others then lock another one under the same name. So before
 * something is written it is looked whether ours is still the one that is there. If not, we take
 * the one that is, or make the store anew; where somebody else has that, nothing is written.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "store/disk/files.h"
#include "store/write/write-error.h"
#include "store/disk/spool-dir.h"
#include "store/disk/status-file.h"
#include "store/write/writer.h"

static int lock_lock_file(struct store_writer *writer, const char *file, struct error *error)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct spool_dir_writer other;
	_cleanup_close_ int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	struct stat about;
	int r;

	if (fd < 0 || fstat(fd, &about) < 0)
		return write_error_set(error, -errno, writer->path, "open", STORE_LOCK);
	if (fcntl(fd, F_OFD_SETLK, &lock) == 0) {
		writer->lock_device = about.st_dev;
		writer->lock_inode = about.st_ino;
		return take_fd(fd);
	}
	r = -errno;
	if (r != -EAGAIN && r != -EACCES)
		return write_error_set(error, r, writer->path, "lock", STORE_LOCK);
	spool_dir_find_writer(writer->path, &other);
	if (!other.there)
		return error_set(
			error, -EBUSY,
			"%s: another process keeps %s locked; stop it, or choose another --store",
			writer->path, STORE_LOCK);
	return error_set(
		error, -EBUSY,
		"%s: process %d is recording into it already; stop it, or choose another --store",
		writer->path, other.pid);
}

int writer_lock(struct store_writer *writer, struct error *error)
{
	char file[PATH_MAX];
	int r = store_file(writer->path, STORE_LOCK, file, error), fd;

	if (r < 0)
		return r;
	fd = lock_lock_file(writer, file, error);
	if (fd < 0)
		return fd;
	if (writer->lock_fd >= 0)
		close(writer->lock_fd);
	writer->lock_fd = fd;
	status_file_remove(writer->path);
	return 0;
}

bool writer_holds(const struct store_writer *writer)
{
	char file[PATH_MAX];
	struct stat about;

	return store_file(writer->path, STORE_LOCK, file, NULL) == 0 && stat(file, &about) == 0 &&
	       about.st_dev == writer->lock_device && about.st_ino == writer->lock_inode;
}

/* Numbers that were given out for the store that went may be others' in the one that is there; what
 * is still to be spooled of those tapes is no spool by itself. */
static int lock_begin_anew(struct store_writer *writer, struct error *error)
{
	int r = writer_find_numbers(writer, error);

	if (r < 0)
		return r;
	spool_files_close(writer);
	writer->anew_from = atomic_load(&writer->next_sequence);
	writer->replacing = false;
	writer->anew = true;
	return 0;
}

int writer_hold(struct store_writer *writer, struct error *error)
{
	bool holds = writer_holds(writer);
	int r;

	if (holds && !writer->replacing && access(writer->segments, F_OK) == 0 &&
	    access(writer->spools, F_OK) == 0)
		return 0;
	r = writer_make_folders(writer, error);
	if (r == 0 && !holds)
		r = writer_lock(writer, error);
	if (r < 0)
		return r;
	writer->replacing = true;
	return lock_begin_anew(writer, error);
}

int writer_check(const struct store_writer *writer, struct error *error)
{
	return writer_holds(writer)
		       ? 0
		       : error_set(error, -EBUSY, "%s is not the one that we record into any more",
				   writer->path);
}
