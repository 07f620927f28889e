// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads any bytes as the answer of the process that opens files of others. The first byte states
 * how many descriptors come with the answer. Each descriptor must be closed or owned, and a
 * build-id must fit.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "process/fd-message.h"
#include "recorder/files/open-helper.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count_files(void)
{
	DIR *folder = opendir("/proc/self/fd");
	size_t count = 0;

	if (!folder)
		abort();
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static void send_answer(int to, const uint8_t *data, size_t size, size_t count)
{
	int files[FD_MESSAGE_FILES];

	for (size_t i = 0; i < count; i++)
		files[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd_message_send(to, data, size, files, count, MSG_DONTWAIT) < 0)
		abort();
	for (size_t i = 0; i < count; i++)
		close(files[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct open_helper helper = { .control = -1, .fd = -1 };
	size_t before = count_files();
	struct open_helper_answer answer;
	struct finder_files files;
	int sockets[2];

	if (!size || size > 1 << 15)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		abort();
	helper.fd = sockets[0];
	send_answer(sockets[1], data + 1, size - 1, data[0] % (FD_MESSAGE_FILES + 1));
	if (open_helper_listen(&helper, 0, &answer, &files) == 1) {
		if (answer.module.build_id_size > TAPE_BUILD_ID_MAX || answer.result > 0)
			abort();
		finder_files_close(&files);
	}
	close(sockets[0]);
	close(sockets[1]);
	if (count_files() != before)
		abort();
	return 0;
}
