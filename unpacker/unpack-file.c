// SPDX-License-Identifier: GPL-2.0-only
#include "unpacker/unpack-file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "unpacker/unpack-helper.h"

struct target {
	int fd;
	uint64_t left;
	/* The negative errno of writing, or 0. */
	int failed;
};

static int unpack_file_put(void *context, const uint8_t *data, size_t size)
{
	struct target *target = context;

	if (size > target->left)
		return -EFBIG;
	target->left -= size;
	target->failed = file_write_all(target->fd, data, size);
	return target->failed;
}

/*
 * Unpacks the file. Sets *ret_read_error if reading failed, to tell such a failure from damaged
 * bytes.
 */
static int unpack_file_all(struct unpack_helper *helper, int from_fd, struct target *target,
			   int *ret_read_error)
{
	uint8_t piece[65536];
	off_t offset = 0;
	int r = 0;

	while (r == 0) {
		ssize_t size = pread(from_fd, piece, sizeof(piece), offset);

		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0)
			return *ret_read_error = -errno;
		if (size == 0)
			return unpack_helper_finish(helper, unpack_file_put, target);
		r = unpack_helper_feed(helper, piece, size, unpack_file_put, target);
		offset += size;
	}
	return r;
}

static const char *unpack_file_text(int r)
{
	switch (r) {
	case -ENOBUFS:
		return "unpacking needs too much memory";
	case -ENOMEM:
		return "out of memory";
	case -EPROTO:
		return "the process that unpacked it ended";
	case -ETIME:
		return "unpacking takes too long";
	case -ECHILD:
		return "cannot start a process that unpacks it; is /proc mounted?";
	default:
		return strerror(-r);
	}
}

static int unpack_file_error(const struct target *target, int r, const char *folder, uint64_t limit,
			     struct error *error)
{
	if (target->failed < 0)
		return error_set(error, r, "unpacking into %s: %s", folder, strerror(-r));
	if (r == -EFBIG)
		return error_set(error, r, "unpacks to more than %llu MB",
				 (unsigned long long)(limit >> 20));
	return error_set(error, r, "%s", unpack_file_text(r));
}

int unpack_file(int *fd, const char *folder, uint64_t limit, bool *ret_damaged, struct error *error)
{
	_cleanup_(cleanup_unpack_helper) struct unpack_helper *helper = NULL;
	_cleanup_close_ int to_fd = -1;
	struct target target = { .left = limit };
	uint8_t head[UNPACK_HEAD] = { 0 };
	int r, read_error = 0;

	if (pread(*fd, head, sizeof(head), 0) < 0)
		return error_set(error, -errno, "%s", strerror(errno));
	if (!unpack_is_packed(head))
		return 0;
	to_fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (to_fd < 0)
		return error_set(error, -errno, "unpacking into %s: %s", folder, strerror(errno));
	target.fd = to_fd;
	r = unpack_helper_new(head, &helper);
	if (r == 0)
		r = unpack_file_all(helper, *fd, &target, &read_error);
	if (r < 0 && (r != -EBADMSG || read_error || target.failed))
		return unpack_file_error(&target, r, folder, limit, error);
	*ret_damaged = r == -EBADMSG;
	close(*fd);
	*fd = take_fd(to_fd);
	return 1;
}
