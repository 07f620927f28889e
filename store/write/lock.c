// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lock of the store is a lock on a file. If somebody removes or moves the store, the file and
 * its lock go with it. Then others can lock a new file under the same name. So the writer checks
 * before each write that its file is still the present one. If not, the writer locks the present
 * file or creates the store again. If another process holds the lock, the writer does not write.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/file.h"
#include "store/disk/beneath.h"
#include "store/disk/files.h"
#include "store/write/folder-rights.h"
#include "store/write/write-error.h"
#include "store/disk/spool-dir.h"
#include "store/disk/status-file.h"
#include "store/write/writer.h"

static int lock_lock_file(struct store_writer *writer, struct error *error)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct spool_dir_writer other;
	_cleanup_close_ int fd =
		beneath_open(writer->path, STORE_LOCK, O_RDWR | O_CREAT, STORE_LOCK_MODE);
	struct stat about;
	int r;

	if (fd < 0)
		return write_error_set(error, fd, writer->path, "open", STORE_LOCK);
	if (fstat(fd, &about) < 0)
		return write_error_set(error, -errno, writer->path, "open", STORE_LOCK);
	if (fcntl(fd, F_OFD_SETLK, &lock) == 0) {
		/*
		 * older versions let readers open the lock, and a reader who can open it can hold
		 * it
		 */
		if ((about.st_mode & 0777) != STORE_LOCK_MODE)
			(void)!fchmod(fd, STORE_LOCK_MODE);
		atomic_store(&writer->lock_device, about.st_dev);
		atomic_store(&writer->lock_inode, about.st_ino);
		return take_fd(fd);
	}
	r = -errno;
	if (r != -EAGAIN && r != -EACCES)
		return write_error_set(error, r, writer->path, "lock", STORE_LOCK);
	spool_dir_find_writer(writer->path, &other);
	if (!other.there)
		return error_set(
			error, -EBUSY,
			"%s: another process holds its lock; stop it, or choose another --store",
			writer->path);
	return error_set(
		error, -EBUSY,
		"%s: process %d is recording into it already; stop it, or choose another --store",
		writer->path, other.pid);
}

int writer_lock(struct store_writer *writer, struct error *error)
{
	int fd = lock_lock_file(writer, error);

	if (fd < 0)
		return fd;
	if (writer->lock_fd >= 0)
		close(writer->lock_fd);
	writer->lock_fd = fd;
	status_file_remove(writer->path);
	return 0;
}

bool writer_has_lock(const struct store_writer *writer)
{
	char file[PATH_MAX];
	struct stat about;

	return store_file(writer->path, STORE_LOCK, file, NULL) == 0 && stat(file, &about) == 0 &&
	       about.st_dev == atomic_load(&writer->lock_device) &&
	       about.st_ino == atomic_load(&writer->lock_inode);
}

/*
 * Takes new numbers after the store was replaced. Numbers from the old store may be in use in the
 * new store. The writer does not spool the rest of tapes that began in the old store, because a
 * spool without its first blocks is unreadable.
 */
static int lock_take_new_numbers(struct store_writer *writer, struct error *error)
{
	int r = writer_find_numbers(writer, error);

	if (r < 0)
		return r;
	spool_files_close(writer);
	writer->renumber_below = atomic_load(&writer->next_sequence);
	writer->replacing = false;
	writer->replaced = true;
	return 0;
}

int writer_ensure_lock(struct store_writer *writer, struct error *error)
{
	bool holds = writer_has_lock(writer);
	int r;

	if (holds && !writer->replacing && file_exists(writer->segments) &&
	    file_exists(writer->spools))
		return 0;
	r = store_check_folder(writer->path, error);
	if (r < 0)
		return r;
	r = folder_rights_check(writer->path, error);
	if (r < 0)
		return r;
	r = writer_make_folders(writer, error);
	if (r < 0)
		return r;
	if (!holds)
		r = writer_lock(writer, error);
	if (r < 0)
		return r;
	writer->replacing = true;
	return lock_take_new_numbers(writer, error);
}

int writer_check(const struct store_writer *writer, struct error *error)
{
	return writer_has_lock(writer)
		       ? 0
		       : error_set(error, -EBUSY,
				   "%s: the store was removed or replaced; try again",
				   writer->path);
}
