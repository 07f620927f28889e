// SPDX-License-Identifier: GPL-2.0-only
#include "namer/name-server.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "process/fd-message.h"
#include "namer/name-internal.h"
#include "namer/name-wire.h"
#include "process/sandbox.h"
#include "symbolizer/jit.h"

/* Enough for the largest debug file without malice; NAME_TEXTS_MAX limits the answer. */
#define MEMORY_BYTES (320u << 20)
/* The parent ends a helper much earlier; this limit is for a stopped parent. */
#define CPU_SECONDS 120
/* The standard files, the socket, and the two files of a question with their copies. */
#define FILES 16

/* The helper does not read larger perf maps and jitdumps. */
#define JIT_FILE_MAX (256u << 20)

struct name_request {
	struct name_question question;
	int files[FD_MESSAGE_FILES];
	/* The open addresses of the parent. */
	struct addresses addresses;
	uint64_t first;
};

static void name_request_done(struct name_request *request)
{
	for (size_t i = 0; i < FD_MESSAGE_FILES; i++)
		if (request->files[i] >= 0)
			close(request->files[i]);
	addresses_done(&request->addresses);
}

static int take_addresses(int socket, struct name_request *request)
{
	_cleanup_free_ uint64_t *numbers = malloc(request->question.count * 8 + 1);
	int r = numbers ? 0 : -ENOMEM;

	if (r == 0)
		r = fd_message_receive_all(socket, numbers, request->question.count * 8);
	for (size_t i = 0; r == 0 && i < request->question.count; i++)
		r = addresses_add(&request->addresses, le64toh(numbers[i]));
	request->first = r == 0 && request->question.count ? le64toh(numbers[0]) : 0;
	return r;
}

/* The parent sends the files with the first bytes. */
static int name_request_receive(int socket, struct name_request *request)
{
	uint8_t head[NAME_QUESTION_SIZE];
	ssize_t got = fd_message_receive(socket, head, sizeof(head), request->files);
	int r;

	if (got <= 0)
		return -EPIPE;
	r = fd_message_receive_all(socket, head + got, sizeof(head) - got);
	if (r < 0)
		return r;
	r = name_question_decode(head, &request->question);
	return r < 0 ? r : take_addresses(socket, request);
}

/* ---- the tasks ---- */

static int answer_identity(const struct name_request *request, struct buffer *body)
{
	struct name_identity identity = { 0 };
	int fd = request->files[0];
	int r = elf_build_id(fd, identity.build_id, &identity.build_id_size);

	if (r <= 0)
		identity.build_id_size = 0;
	if (elf_debuglink(fd, identity.debuglink, &identity.debuglink_crc) <= 0)
		identity.debuglink[0] = 0;
	name_answer_put_identity(&identity, body);
	return MIN(r, 0);
}

/* Names addresses by symbols, then labels the others by function starts, even of a damaged file. */
static int name_server_name_elf(struct name_request *request, bool *labels)
{
	struct addresses *addresses = &request->addresses;
	_cleanup_free_ bool *named = calloc(addresses->list.count + 1, sizeof(*named));
	int other = request->question.files & NAME_HAS_OTHER ? request->files[1] : -1, r, labelled;

	if (!named)
		return -ENOMEM;
	r = elf_names(request->files[0], other, addresses, NULL);
	if (r == -ENOMEM || !addresses->open)
		return r;
	for (size_t i = 0; i < addresses->list.count; i++)
		named[i] = addresses->list.items[i].state == ADDRESSES_NAMED;
	labelled = elf_function_starts(request->files[0], "", addresses);
	for (size_t i = 0; i < addresses->list.count; i++)
		labels[i] = !named[i] && addresses->list.items[i].state == ADDRESSES_NAMED;
	return labelled < 0 && labelled != -EBADMSG ? labelled : r;
}

static int name_from(int fd, int (*names)(const struct file_window *, struct addresses *),
		     struct addresses *addresses)
{
	struct file_window source;

	if (fd < 0 || !addresses->open)
		return 0;
	source = file_window_of_file(fd);
	return source.size > JIT_FILE_MAX ? 0 : names(&source, addresses);
}

static int name_server_name_jit(struct name_request *request)
{
	size_t next = 0;
	int map = request->question.files & NAME_HAS_FILE ? request->files[next++] : -1;
	int dump = request->question.files & NAME_HAS_OTHER ? request->files[next] : -1;
	int r = name_from(map, perf_map_names, &request->addresses);

	return r < 0 ? r : name_from(dump, jitdump_names, &request->addresses);
}

static int answer_names(struct name_request *request, struct buffer *body)
{
	_cleanup_free_ bool *labels = calloc(request->question.count + 1, sizeof(*labels));
	int r = -ENOMEM;

	if (!labels)
		return r;
	r = request->question.task == NAME_ELF ? name_server_name_elf(request, labels)
					       : name_server_name_jit(request);
	name_answer_put_names(&request->addresses, labels, body);
	return r;
}

#ifdef PERFTAPE_MUTATIONS
/*
 * No known file crashes the helper, so tests write "crash" or "hang" into the spare bytes of ELF.
 */
static void obey_file(int fd)
{
	char text[8] = "";

	if (!getenv("PERFTAPE_OBEYS_FILES") || fd < 0 || pread(fd, text, sizeof(text) - 1, 9) < 0)
		return;
	if (strncmp(text, "crash", 5) == 0)
		__builtin_trap();
	for (volatile bool hangs = strncmp(text, "hang", 4) == 0; hangs;)
		;
}
#else
static void obey_file(int fd)
{
}
#endif

static int name_server_answer_one(struct name_request *request, struct buffer *body)
{
	obey_file(request->files[0]);
	switch (request->question.task) {
	case NAME_IDENTITY:
		return answer_identity(request, body);
	case NAME_CRC:
		return elf_has_crc(request->files[0], request->first) ? 0 : -ENOENT;
	case NAME_UNWIND:
		return name_server_unwind(request->files[0], request->files[1], body);
	default:
		return answer_names(request, body);
	}
}

static int name_server_answer(int socket, struct name_request *request)
{
	_cleanup_(buffer_done) struct buffer body = { 0 }, head = { 0 };
	int r = name_server_answer_one(request, &body);

	if (buffer_failed(&body)) {
		r = -ENOMEM;
		body.size = 0;
	}
	name_answer_put_head(r, body.size, &head);
	if (buffer_failed(&head))
		return -ENOMEM;
	r = fd_message_send_all(socket, head.data, head.size);
	return r < 0 ? r : fd_message_send_all(socket, body.data, body.size);
}

int name_server_run(int socket)
{
	const struct sandbox_limits limits = { MEMORY_BYTES, CPU_SECONDS, FILES };
	int r;

	prctl(PR_SET_NAME, "perftape-name");
	r = sandbox_enter(&limits);
	while (r == 0) {
		struct name_request request = { .files = { -1, -1 } };

		r = name_request_receive(socket, &request);
		if (r == 0)
			r = name_server_answer(socket, &request);
		name_request_done(&request);
	}
	return r == -EPIPE ? 0 : 1;
}
