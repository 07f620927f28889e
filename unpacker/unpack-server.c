// SPDX-License-Identifier: GPL-2.0-only
#include "unpacker/unpack-server.h"

#include <errno.h>
#include <sys/prctl.h>

#include "pack/unpack.h"
#include "process/fd-message.h"
#include "process/sandbox.h"

/* A decoder takes at most 256 MB. */
#define MEMORY_BYTES (384u << 20)
/* To unpack 100 GB takes about that. The parent also waits only for a while for each part. */
#define CPU_SECONDS 3600
/* The standard files and the socket. */
#define FILES 4

static int unpack_server_send(int socket, int32_t number)
{
	return fd_message_send_all(socket, &number, sizeof(number));
}

static int unpack_server_give(void *context, const uint8_t *data, size_t size)
{
	int socket = *(int *)context;

	while (size) {
		size_t part = MIN(size, (size_t)UNPACK_PART_MAX);
		int r = unpack_server_send(socket, part);

		if (r == 0)
			r = fd_message_send_all(socket, data, part);
		if (r < 0)
			_exit(1);
		data += part;
		size -= part;
	}
	return 0;
}

/* Answers one question. Returns a negative errno when the parent is gone, or breaks the rules. */
static int unpack_server_answer(int socket, struct unpack_decoder *decoder)
{
	static uint8_t bytes[UNPACK_QUESTION_MAX];
	uint32_t size;
	int r = fd_message_receive_all(socket, &size, sizeof(size));

	if (r < 0)
		return r;
	if (size > sizeof(bytes))
		return -EPROTO;
	r = fd_message_receive_all(socket, bytes, size);
	if (r < 0)
		return r;
	r = size ? unpack_decoder_feed(decoder, bytes, size, unpack_server_give, &socket)
		 : unpack_decoder_finish(decoder, unpack_server_give, &socket);
	return unpack_server_send(socket, r);
}

static int unpack_server_serve(int socket)
{
	const struct sandbox_limits limits = { MEMORY_BYTES, CPU_SECONDS, FILES };
	_cleanup_(cleanup_unpack_decoder) struct unpack_decoder *decoder = NULL;
	uint8_t head[UNPACK_HEAD];
	int r = sandbox_enter(&limits);

	if (r < 0)
		return r;
	r = fd_message_receive_all(socket, head, sizeof(head));
	if (r < 0)
		return r;
	r = unpack_decoder_new(head, &decoder);
	while (r == 0)
		r = unpack_server_answer(socket, decoder);
	return r;
}

int unpack_server_run(int socket)
{
	prctl(PR_SET_NAME, "perftape-unpack");
	return unpack_server_serve(socket) == -EPIPE ? 0 : 1;
}
