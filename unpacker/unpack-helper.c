// SPDX-License-Identifier: GPL-2.0-only
#include "unpacker/unpack-helper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/fd-message.h"
#include "process/helper.h"
#include "unpacker/unpack-server.h"

/* The interval of checks whether a part takes too long. */
#define LOOK_MS 1000
/* Checks after which a part takes too long: while the helper runs, and in all. */
#define LOOKS_MAX 10
#define LOOKS_STARVED_MAX 60

struct unpack_helper {
	/* Decodes in this process; NULL: in the helper. */
	struct unpack_decoder *here;
	/* -1: the helper has ended. */
	int socket;
	int32_t pid;
	/* UNPACK_PART_MAX bytes; NULL: the decoder is here. */
	uint8_t *part;
};

typedef int unpack_give(void *context, const uint8_t *data, size_t size);

static void unpack_helper_end(struct unpack_helper *helper)
{
	if (helper->socket < 0)
		return;
	close(helper->socket);
	helper->socket = -1;
	kill(helper->pid, SIGKILL);
	while (waitpid(helper->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

struct unpack_helper *unpack_helper_free(struct unpack_helper *helper)
{
	if (!helper)
		return NULL;
	unpack_helper_end(helper);
	unpack_decoder_free(helper->here);
	free(helper->part);
	free(helper);
	return NULL;
}

static struct unpack_helper *unpack_helper_allocate(void)
{
	struct unpack_helper *helper = calloc(1, sizeof(*helper));

	if (helper)
		helper->socket = -1;
	return helper;
}

int unpack_helper_new_here(const uint8_t head[UNPACK_HEAD], struct unpack_helper **ret_helper)
{
	_cleanup_(cleanup_unpack_helper) struct unpack_helper *helper = unpack_helper_allocate();
	int r = helper ? unpack_decoder_new(head, &helper->here) : -ENOMEM;

	if (r == 0)
		*ret_helper = take_ptr(helper);
	return r;
}

int unpack_helper_new(const uint8_t head[UNPACK_HEAD], struct unpack_helper **ret_helper)
{
	_cleanup_(cleanup_unpack_helper) struct unpack_helper *helper = NULL;

	if (!unpack_is_packed(head))
		return -EBADMSG;
	helper = unpack_helper_allocate();
	if (helper)
		helper->part = malloc(UNPACK_PART_MAX);
	if (!helper || !helper->part)
		return -ENOMEM;
	if (helper_start(UNPACK_SERVER_JOB, SOCK_STREAM, 0, &helper->pid, &helper->socket) < 0 ||
	    fd_message_send_all(helper->socket, head, UNPACK_HEAD) < 0)
		return -ECHILD;
	*ret_helper = take_ptr(helper);
	return 0;
}

/* Waits until the helper has sent something. */
static int unpack_helper_wait(const struct unpack_helper *helper)
{
	struct pollfd polled = { .fd = helper->socket, .events = POLLIN };
	unsigned int looks = 0, running = 0;

	while (poll(&polled, 1, LOOK_MS) <= 0) {
		running += !helper_waits_for_cpu(helper->pid);
		if (++looks >= LOOKS_STARVED_MAX || running >= LOOKS_MAX)
			return -ETIME;
	}
	return 0;
}

static int unpack_helper_receive(const struct unpack_helper *helper, void *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		int r = unpack_helper_wait(helper);
		ssize_t got;

		if (r < 0)
			return r;
		got = recv(helper->socket, (uint8_t *)bytes + done, size - done, MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got <= 0)
			return -EPROTO;
		done += got;
	}
	return 0;
}

/* Only these results are those of a decoder; a helper that was taken over may send others. */
static bool unpack_helper_may_result(int32_t result)
{
	return result == 0 || result == -EBADMSG || result == -ENOBUFS || result == -ENOMEM;
}

/* Receives the parts of an answer. Sets *ret_result to the result of the decoder. */
static int unpack_helper_take(struct unpack_helper *helper, unpack_give *give, void *context,
			      int32_t *ret_result)
{
	for (;;) {
		int r = unpack_helper_receive(helper, ret_result, sizeof(*ret_result));

		if (r == 0 && *ret_result <= 0)
			return unpack_helper_may_result(*ret_result) ? 0 : -EPROTO;
		if (r == 0 && (uint32_t)*ret_result > UNPACK_PART_MAX)
			r = -EPROTO;
		if (r == 0)
			r = unpack_helper_receive(helper, helper->part, *ret_result);
		if (r == 0)
			r = give(context, helper->part, *ret_result);
		if (r < 0)
			return r;
	}
}

/* The helper reads a whole question before it answers, so sending does not wait for long. */
static int unpack_helper_ask(struct unpack_helper *helper, const void *data, uint32_t size,
			     unpack_give *give, void *context)
{
	int32_t result = 0;
	int r = -EPROTO;

	if (helper->socket < 0)
		return r;
	if (fd_message_send_all(helper->socket, &size, sizeof(size)) == 0 &&
	    fd_message_send_all(helper->socket, data, size) == 0)
		r = unpack_helper_take(helper, give, context, &result);
	if (r < 0)
		unpack_helper_end(helper);
	return r < 0 ? r : result;
}

int unpack_helper_feed(struct unpack_helper *helper, const void *data, size_t size,
		       unpack_give *give, void *context)
{
	int r = 0;

	if (helper->here)
		return unpack_decoder_feed(helper->here, data, size, give, context);
	for (size_t done = 0; r == 0 && done < size; done += UNPACK_QUESTION_MAX)
		r = unpack_helper_ask(helper, (const uint8_t *)data + done,
				      MIN(size - done, (size_t)UNPACK_QUESTION_MAX), give, context);
	return r;
}

int unpack_helper_finish(struct unpack_helper *helper, unpack_give *give, void *context)
{
	if (helper->here)
		return unpack_decoder_finish(helper->here, give, context);
	return unpack_helper_ask(helper, NULL, 0, give, context);
}
