// SPDX-License-Identifier: GPL-2.0-only
#include "process/fd-message.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

ssize_t fd_message_send(int socket, const void *bytes, size_t size, const int *files, size_t count,
			int flags)
{
	char control[CMSG_SPACE(FD_MESSAGE_FILES * sizeof(int))] = { 0 };
	struct iovec part = { (void *)bytes, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *header;
	ssize_t sent;

	if (count) {
		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(header), files, count * sizeof(int));
	}
	do
		sent = sendmsg(socket, &message, MSG_NOSIGNAL | flags);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : sent;
}

ssize_t fd_message_receive(int socket, void *bytes, size_t size, int ret_files[FD_MESSAGE_FILES])
{
	char control[CMSG_SPACE(FD_MESSAGE_FILES * sizeof(int))];
	struct iovec part = { bytes, size };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *header;
	ssize_t got;

	for (size_t i = 0; i < FD_MESSAGE_FILES; i++)
		ret_files[i] = -1;
	do
		got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_type == SCM_RIGHTS)
		memcpy(ret_files, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
	return got;
}

int fd_message_send_waiting(int socket, const void *bytes, size_t size, const int *files,
			    size_t count, int (*wait)(void *context, short events), void *context)
{
	for (size_t done = 0; done < size;) {
		int r = wait(context, POLLOUT);
		ssize_t sent;

		if (r < 0)
			return r;
		sent = fd_message_send(socket, (const uint8_t *)bytes + done, size - done, files,
				       done ? 0 : count, MSG_DONTWAIT);
		if (sent == -EAGAIN)
			continue;
		if (sent < 0)
			return -EPROTO;
		done += sent;
	}
	return 0;
}

int fd_message_send_all(int socket, const void *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t sent = fd_message_send(socket, (const uint8_t *)bytes + done, size - done,
					       NULL, 0, 0);

		if (sent < 0)
			return sent;
		done += sent;
	}
	return 0;
}

int fd_message_receive_all(int socket, void *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		struct iovec part = { (uint8_t *)bytes + done, size - done };
		struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
		ssize_t got = recvmsg(socket, &message, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -EPIPE;
		done += got;
	}
	return 0;
}
