// SPDX-License-Identifier: GPL-2.0-only
#include "namer/name-unwind.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "namer/name-internal.h"
#include "symbolizer/elf-unwind.h"
#include "unwind/unwind-table.h"

/* ---- in the helper ---- */

static int memory_write(int memory, const struct buffer *table)
{
	for (size_t done = 0; done < table->size;) {
		ssize_t put = pwrite(memory, table->data + done, table->size - done, done);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		done += put;
	}
	return 0;
}

int name_server_unwind(int file, int memory, struct buffer *body)
{
	_cleanup_(buffer_done) struct buffer table = { 0 };
	int r = elf_unwind_table(file, &table);

	if (r < 0)
		return r;
	r = memory_write(memory, &table);
	if (r < 0)
		return r;
	buffer_u32(body, table.size);
	return 0;
}

/* ---- in the parent ---- */

/*
 * Creates memory for the largest table. The kernel allocates a page only when the helper writes to
 * the page.
 */
static int memory_make(void)
{
	_cleanup_close_ int memory =
		memfd_create("perftape-unwind", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (memory < 0 || ftruncate(memory, UNWIND_TABLE_MAX) < 0 ||
	    fcntl(memory, F_ADD_SEALS, F_SEAL_GROW) < 0)
		return -errno;
	return take_fd(memory);
}

/* Fails if the helper has a writable mapping of the memory. */
static int memory_seal(int memory, size_t size)
{
	if (ftruncate(memory, size) < 0 ||
	    fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return -EPROTO;
	return 0;
}

static int take_size(const struct buffer *body, size_t *ret_size)
{
	struct reader reader;
	uint32_t size;

	reader_init(&reader, body->data, body->size);
	size = reader_u32(&reader);
	if (reader_failed(&reader) || !size || size > UNWIND_TABLE_MAX)
		return -EPROTO;
	*ret_size = size;
	return 0;
}

static int ask_table(struct name_helper *helper, int fd, int memory, size_t *ret_size)
{
	const struct name_question question = { NAME_UNWIND, NAME_HAS_FILE | NAME_HAS_OTHER, 0 };
	_cleanup_(buffer_done) struct buffer body = { 0 };
	int result = 0;
	int r = name_helper_ask(helper, &question, NULL, (int[]){ fd, memory }, &result, &body);

	if (r < 0 || result < 0)
		return r < 0 ? r : name_helper_result(helper, result);
	return take_size(&body, ret_size);
}

int name_helper_unwind(struct name_helper *helper, int fd, int *ret_memory, size_t *ret_size)
{
	_cleanup_close_ int memory = memory_make();
	size_t size = 0;
	int r;

	if (memory < 0)
		return memory;
	r = ask_table(helper, fd, memory, &size);
	if (r == 0)
		r = memory_seal(memory, size);
	if (r < 0)
		return r;
	*ret_memory = take_fd(memory);
	*ret_size = size;
	return 0;
}
