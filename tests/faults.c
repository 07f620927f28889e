// SPDX-License-Identifier: GPL-2.0-only
#include "tests/faults.h"

#include <stdarg.h>

struct faults faults;

/* The linker calls the real x() __real_x(), and turns calls of x() into calls of __wrap_x(). */
ssize_t __real_write(int fd, const void *data, size_t size);
ssize_t __real_pwrite64(int fd, const void *data, size_t size, off_t offset);
int __real_fsync(int fd);
int __real_fdatasync(int fd);
int __real_rename(const char *from, const char *to);
int __real_renameat(int from_dir, const char *from, int to_dir, const char *to);
int __real_unlink(const char *path);
int __real_unlinkat(int dir, const char *path, int flags);
int __real_ftruncate64(int fd, off_t size);
int __real_open64(const char *path, int flags, mode_t mode);
int __real_openat64(int dir, const char *path, int flags, mode_t mode);
int __real_mkdir(const char *path, mode_t mode);
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);

ssize_t __wrap_write(int fd, const void *data, size_t size);
ssize_t __wrap_pwrite64(int fd, const void *data, size_t size, off_t offset);
int __wrap_fsync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_rename(const char *from, const char *to);
int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to);
int __wrap_unlink(const char *path);
int __wrap_unlinkat(int dir, const char *path, int flags);
int __wrap_ftruncate64(int fd, off_t size);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_openat64(int dir, const char *path, int flags, ...);
int __wrap_mkdir(const char *path, mode_t mode);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

/* Returns whether the present call fails. If the fault ends the process, it does not return. */
static bool strikes(bool memory)
{
	if (!faults.armed || faults.memory != memory)
		return false;
	if (--faults.left > 0 || (faults.left < 0 && faults.kind != FAULT_ON) ||
	    faults.kind == FAULT_NONE)
		return false;
	if (faults.kind == FAULT_KILL || faults.kind == FAULT_KILL_HALF)
		_exit(FAULT_EXIT);
	errno = memory ? ENOMEM : faults.error;
	return true;
}

/*
 * Returns whether the present write writes only half. The next call then fails, or the process ends
 * before it.
 */
static bool is_halved(void)
{
	if (!faults.armed || faults.memory || faults.left != 1 ||
	    (faults.kind != FAULT_HALF && faults.kind != FAULT_KILL_HALF))
		return false;
	return true;
}

ssize_t __wrap_write(int fd, const void *data, size_t size)
{
	if (is_halved() && size > 1) {
		ssize_t put = __real_write(fd, data, size / 2);

		if (faults.kind == FAULT_KILL_HALF)
			_exit(FAULT_EXIT);
		faults.kind = FAULT_ONCE; /* the next call fails, because `left` stays 1 */
		return put;
	}
	return strikes(false) ? -1 : __real_write(fd, data, size);
}

ssize_t __wrap_pwrite64(int fd, const void *data, size_t size, off_t offset)
{
	if (is_halved() && size > 1) {
		ssize_t put = __real_pwrite64(fd, data, size / 2, offset);

		if (faults.kind == FAULT_KILL_HALF)
			_exit(FAULT_EXIT);
		faults.kind = FAULT_ONCE;
		return put;
	}
	return strikes(false) ? -1 : __real_pwrite64(fd, data, size, offset);
}

int __wrap_fsync(int fd)
{
	return strikes(false) ? -1 : __real_fsync(fd);
}

int __wrap_fdatasync(int fd)
{
	return strikes(false) ? -1 : __real_fdatasync(fd);
}

int __wrap_rename(const char *from, const char *to)
{
	return strikes(false) ? -1 : __real_rename(from, to);
}

int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	return strikes(false) ? -1 : __real_renameat(from_dir, from, to_dir, to);
}

int __wrap_unlink(const char *path)
{
	return strikes(false) ? -1 : __real_unlink(path);
}

int __wrap_unlinkat(int dir, const char *path, int flags)
{
	return strikes(false) ? -1 : __real_unlinkat(dir, path, flags);
}

int __wrap_ftruncate64(int fd, off_t size)
{
	return strikes(false) ? -1 : __real_ftruncate64(fd, size);
}

int __wrap_mkdir(const char *path, mode_t mode)
{
	return strikes(false) ? -1 : __real_mkdir(path, mode);
}

int __wrap_open64(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	va_start(args, flags);
	if (flags & O_CREAT)
		mode = va_arg(args, mode_t);
	va_end(args);
	return strikes(false) ? -1 : __real_open64(path, flags, mode);
}

int __wrap_openat64(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	va_start(args, flags);
	if (flags & O_CREAT)
		mode = va_arg(args, mode_t);
	va_end(args);
	return strikes(false) ? -1 : __real_openat64(dir, path, flags, mode);
}

void *__wrap_malloc(size_t size)
{
	return strikes(true) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return strikes(true) ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return strikes(true) ? NULL : __real_realloc(old, size);
}

static int sqlite_open(const char *path, int flags, int mode)
{
	return __wrap_open64(path, flags, mode);
}

void faults_take_sqlite(void)
{
	static const struct {
		const char *name;
		sqlite3_syscall_ptr call;
	} calls[] = {
		{ "open", (sqlite3_syscall_ptr)sqlite_open },
		{ "write", (sqlite3_syscall_ptr)__wrap_write },
		{ "pwrite", (sqlite3_syscall_ptr)__wrap_pwrite64 },
		{ "pwrite64", (sqlite3_syscall_ptr)__wrap_pwrite64 },
		{ "ftruncate", (sqlite3_syscall_ptr)__wrap_ftruncate64 },
		{ "unlink", (sqlite3_syscall_ptr)__wrap_unlink },
	};
	sqlite3_vfs *vfs;

	sqlite3_initialize();
	vfs = sqlite3_vfs_find(NULL);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		vfs->xSetSystemCall(vfs, calls[i].name, calls[i].call);
}
