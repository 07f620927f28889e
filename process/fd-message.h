/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Sends messages with open files over a socket to another process. */

#include <stddef.h>
#include <sys/types.h>

/* A message carries at most a file and its debug file. */
#define FD_MESSAGE_FILES 2

/*
 * Sends bytes with `count` files. A stream socket may take only a part of the bytes. Returns the
 * number of sent bytes, or a negative errno. `flags` are those of sendmsg().
 */
ssize_t fd_message_send(int socket, const void *bytes, size_t size, const int *files, size_t count,
			int flags);
/*
 * Receives bytes. Returns their number, 0 at the end, or a negative errno. ret_files is -1 for each
 * file that did not come; the caller closes the other files.
 */
ssize_t fd_message_receive(int socket, void *bytes, size_t size, int ret_files[FD_MESSAGE_FILES]);

/*
 * Sends all bytes over a stream socket to a process that may not read them; the files go with the
 * first bytes. Before each part, wait() waits until the socket is ready for
 * `events` of poll(). Returns 0, the negative result of wait(), or -EPROTO if the other
 * side is gone.
 */
int fd_message_send_waiting(int socket, const void *bytes, size_t size, const int *files,
			    size_t count, int (*wait)(void *context, short events), void *context);

/* Sends all bytes over a stream socket. Returns 0 or a negative errno. */
int fd_message_send_all(int socket, const void *bytes, size_t size);
/* Receives all bytes from a stream socket, and drops files. Returns 0, or -EPIPE at the end. */
int fd_message_receive_all(int socket, void *bytes, size_t size);
