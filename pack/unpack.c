// SPDX-License-Identifier: GPL-2.0-only
#include "pack/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "pack/gzip.h"
#include "pack/xz.h"
#include "pack/zstd.h"

struct target {
	int fd;
	uint64_t left;
	/* The negative errno of writing, or 0. */
	int failed;
};

static int unpack_put(void *context, const uint8_t *data, size_t size)
{
	struct target *target = context;

	if (size > target->left)
		return -EFBIG;
	target->left -= size;
	target->failed = file_write_all(target->fd, data, size);
	return target->failed;
}

/* The decoder for this file's format; the other decoders are NULL. */
struct unpacker {
	struct gzip_reader *gzip;
	struct xz_reader *xz;
	struct zstd_stream *zstd;
};

static int unpacker_open(struct unpacker *unpacker, const uint8_t head[6])
{
	if (memcmp(head, "\x1f\x8b", 2) == 0)
		return gzip_reader_new(&unpacker->gzip);
	if (memcmp(head, "\3757zXZ", 6) == 0)
		return xz_reader_new(XZ_MEMORY_LARGE, &unpacker->xz);
	if (memcmp(head, "\x28\xb5\x2f\xfd", 4) == 0)
		return zstd_stream_new(&unpacker->zstd);
	return 1;
}

static void unpacker_done(struct unpacker *unpacker)
{
	gzip_reader_free(unpacker->gzip);
	xz_reader_free(unpacker->xz);
	zstd_stream_free(unpacker->zstd);
}

static int unpacker_feed(struct unpacker *unpacker, const uint8_t *data, size_t size,
			 struct target *target)
{
	if (unpacker->gzip)
		return gzip_reader_feed(unpacker->gzip, data, size, unpack_put, target);
	if (unpacker->xz)
		return xz_reader_feed(unpacker->xz, data, size, unpack_put, target);
	return zstd_stream_feed(unpacker->zstd, data, size, unpack_put, target);
}

static int unpacker_finish(struct unpacker *unpacker, struct target *target)
{
	if (unpacker->gzip)
		return gzip_reader_finish(unpacker->gzip);
	if (unpacker->xz)
		return xz_reader_finish(unpacker->xz, unpack_put, target);
	return zstd_stream_finish(unpacker->zstd);
}

/*
 * Unpacks the file. Sets *ret_read_error if reading failed, to tell such a failure from damaged
 * bytes.
 */
static int unpack_all(struct unpacker *unpacker, int from_fd, struct target *target,
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
			return unpacker_finish(unpacker, target);
		r = unpacker_feed(unpacker, piece, size, target);
		offset += size;
	}
	return r;
}

static int unpack_error(const struct target *target, int r, const char *folder, uint64_t limit,
			struct error *error)
{
	if (target->failed < 0)
		return error_set(error, r, "unpacking into %s: %s", folder, strerror(-r));
	if (r == -EFBIG)
		return error_set(error, r, "unpacks to more than %llu MB",
				 (unsigned long long)(limit >> 20));
	if (r == -ENOBUFS)
		return error_set(error, r, "unpacking needs too much memory");
	return error_set(error, r, "%s", r == -ENOMEM ? "out of memory" : strerror(-r));
}

int unpack_file(int *fd, const char *folder, uint64_t limit, bool *ret_damaged, struct error *error)
{
	_cleanup_(unpacker_done) struct unpacker unpacker = { 0 };
	_cleanup_close_ int to_fd = -1;
	struct target target = { .left = limit };
	uint8_t head[6] = { 0 };
	int r, read_error = 0;

	if (pread(*fd, head, sizeof(head), 0) < 0)
		return error_set(error, -errno, "%s", strerror(errno));
	r = unpacker_open(&unpacker, head);
	if (r != 0)
		return r < 0 ? error_set(error, r, "out of memory") : 0;
	to_fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (to_fd < 0)
		return error_set(error, -errno, "unpacking into %s: %s", folder, strerror(errno));
	target.fd = to_fd;
	r = unpack_all(&unpacker, *fd, &target, &read_error);
	if (r < 0 && (r != -EBADMSG || read_error || target.failed))
		return unpack_error(&target, r, folder, limit, error);
	*ret_damaged = r == -EBADMSG;
	close(*fd);
	*fd = take_fd(to_fd);
	return 1;
}
