// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/outbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "pack/gzip.h"

#define OUTBOX_FILE "outbox"
#define OUTBOX_GROWING ".outbox"
/* A round is about one segment; a file of this size is not ours. */
#define OUTBOX_MAX (1u << 30)

/*
 * The file: the magic, then parts. A part is its table (4 bytes), the number of its batch (8), its
 * rows (8), its size (8), the CRC-32C of these and of its bytes (4), and its bytes. The last part
 * is the state.
 */
static const char magic[8] = { 'P', 'T', 'S', 'H', 'I', 'P', 'O', '1' };
#define OUTBOX_HEAD 28
#define OUTBOX_STATE 255

struct outbox {
	char *folder;
	char *growing;
	uint64_t next;
	int fd;
	struct buffer packed;
};

static char *outbox_path(const char *folder, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

int outbox_new(const char *folder, uint64_t first_batch, struct outbox **ret_outbox,
	       struct error *error)
{
	_cleanup_(cleanup_outbox) struct outbox *outbox = calloc(1, sizeof(*outbox));
	int r;

	if (!outbox)
		return -ENOMEM;
	outbox->fd = -1;
	outbox->next = first_batch;
	outbox->folder = strdup(folder);
	outbox->growing = outbox_path(folder, OUTBOX_GROWING);
	if (!outbox->folder || !outbox->growing)
		return -ENOMEM;
	outbox->fd =
		open(outbox->growing, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (outbox->fd < 0)
		return error_set(error, -errno, "%s: %s", outbox->growing, strerror(errno));
	r = file_write_all(outbox->fd, magic, sizeof(magic));
	if (r < 0)
		return error_set(error, r, "%s: %s", outbox->growing, strerror(-r));
	*ret_outbox = take_ptr(outbox);
	return 0;
}

struct outbox *outbox_free(struct outbox *outbox)
{
	if (!outbox)
		return NULL;
	if (outbox->fd >= 0) {
		close(outbox->fd);
		unlink(outbox->growing);
	}
	buffer_done(&outbox->packed);
	free(outbox->growing);
	free(outbox->folder);
	free(outbox);
	return NULL;
}

uint64_t outbox_next(const struct outbox *outbox)
{
	return outbox->next;
}

static int outbox_write(struct outbox *outbox, unsigned int table, uint64_t rows, const void *data,
			size_t size, struct error *error)
{
	_cleanup_(buffer_done) struct buffer head = { 0 };
	int r;

	buffer_u32(&head, table);
	buffer_u64(&head, outbox->next);
	buffer_u64(&head, rows);
	buffer_u64(&head, size);
	if (buffer_failed(&head))
		return -ENOMEM;
	buffer_u32(&head, crc32c(crc32c(0, head.data, head.size), data, size));
	if (buffer_failed(&head))
		return -ENOMEM;
	r = file_write_all(outbox->fd, head.data, head.size);
	if (r == 0)
		r = file_write_all(outbox->fd, data, size);
	return r < 0 ? error_set(error, r, "%s: %s", outbox->growing, strerror(-r)) : 0;
}

int outbox_take(struct outbox *outbox, struct batch_rows *rows, bool all, struct error *error)
{
	int r = 0;

	for (unsigned int table = 0; r == 0 && table < FLEET_TABLES; table++) {
		struct buffer *bytes = &rows->of[table].rows;
		uint64_t count = rows->of[table].count;

		if (buffer_failed(bytes))
			return -ENOMEM;
		if (!count || (!all && count < OUTBOX_ROWS && bytes->size < OUTBOX_BYTES))
			continue;
		outbox->packed.size = 0;
		r = gzip_pack(bytes->data, bytes->size, &outbox->packed);
		if (r == 0)
			r = outbox_write(outbox, table, count, outbox->packed.data,
					 outbox->packed.size, error);
		outbox->next++;
		bytes->size = 0;
		rows->of[table].count = 0;
	}
	return r;
}

int outbox_commit(struct outbox *outbox, const struct ship_state *after, struct error *error)
{
	_cleanup_(buffer_done) struct buffer state = { 0 };
	_cleanup_free_ char *path = outbox_path(outbox->folder, OUTBOX_FILE);
	int r;

	ship_state_encode(after, &state);
	if (!path || buffer_failed(&state))
		return -ENOMEM;
	r = outbox_write(outbox, OUTBOX_STATE, 0, state.data, state.size, error);
	if (r < 0)
		return r;
	if (fsync(outbox->fd) < 0 || rename(outbox->growing, path) < 0)
		return error_set(error, -errno, "%s: %s", path, strerror(errno));
	close(take_fd(outbox->fd));
	r = file_sync_dir(outbox->folder);
	return r < 0 ? error_set(error, r, "%s: %s", outbox->folder, strerror(-r)) : 0;
}

/* Reads the next part. Returns 1, 0 at the end, or -EBADMSG. */
static int outbox_next_part(struct reader *at, struct outbox_batch *ret_part)
{
	struct outbox_batch part;
	const uint8_t *head = at->data + at->position;
	uint32_t crc;

	if (!reader_left(at))
		return 0;
	part.table = reader_u32(at);
	part.number = reader_u64(at);
	part.rows = reader_u64(at);
	part.size = reader_u64(at);
	crc = reader_u32(at);
	part.data = reader_take(at, part.size);
	if (reader_failed(at) || crc32c(crc32c(0, head, OUTBOX_HEAD), part.data, part.size) != crc)
		return -EBADMSG;
	*ret_part = part;
	return 1;
}

int outbox_check(struct outbox_reader *reader)
{
	struct outbox_batch part = { 0 };
	struct reader at;
	const void *begin;
	bool ended = false;
	int r;

	reader_init(&at, reader->data, reader->size);
	begin = reader_take(&at, sizeof(magic));
	if (!begin || memcmp(begin, magic, sizeof(magic)) != 0)
		return -EBADMSG;
	reader->at = at;
	while ((r = outbox_next_part(&at, &part)) > 0) {
		/* the state is the last part, and all others belong to tables */
		if (ended || (part.table != OUTBOX_STATE && !fleet_into(part.table)))
			return -EBADMSG;
		ended = part.table == OUTBOX_STATE;
	}
	return r < 0 || !ended ? -EBADMSG : 0;
}

int outbox_open(const char *folder, struct outbox_reader *ret_reader, struct error *error)
{
	_cleanup_(outbox_close) struct outbox_reader reader = { 0 };
	_cleanup_free_ char *path = outbox_path(folder, OUTBOX_FILE);
	int r = path ? file_read_own(path, OUTBOX_MAX, &reader.data, &reader.size) : -ENOMEM;

	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = outbox_check(&reader);
	if (r < 0)
		return error_set(error, r, "%s: %s", path ? path : folder, strerror(-r));
	*ret_reader = reader;
	reader.data = NULL;
	return 1;
}

void outbox_close(struct outbox_reader *reader)
{
	free(reader->data);
	*reader = (struct outbox_reader){ 0 };
}

int outbox_next_batch(struct outbox_reader *reader, struct outbox_batch *ret_batch)
{
	size_t before = reader->at.position;
	struct outbox_batch part;

	if (outbox_next_part(&reader->at, &part) <= 0)
		return 0;
	if (part.table == OUTBOX_STATE) {
		reader->at.position = before;
		return 0;
	}
	*ret_batch = part;
	return 1;
}

int outbox_state(struct outbox_reader *reader, struct ship_state *ret_state)
{
	struct outbox_batch part;

	if (outbox_next_part(&reader->at, &part) <= 0 || part.table != OUTBOX_STATE)
		return -EBADMSG;
	return ship_state_decode(part.data, part.size, ret_state);
}

int outbox_remove(const char *folder)
{
	_cleanup_free_ char *path = outbox_path(folder, OUTBOX_FILE);

	if (!path)
		return -ENOMEM;
	return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
}
