/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A process that answers as systemd does, on a socket below a tree, for some units. All functions
 * CHECK.
 */

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/bytes.h"
#include "tests/fake-clock.h"
#include "tests/tree.h"

/* A question about this unit gets no answer; instead the clock moves on. */
#define SYSTEMDS_SILENT UINT32_MAX
#define SYSTEMDS_SILENCE_NS (60 * NSEC_PER_SEC)

struct systemds_unit {
	const char *name, *active, *sub;
	uint32_t restarts;
};

struct systemds {
	pid_t pid;
};

static inline void systemds_align(struct buffer *to, size_t unit)
{
	while (to->size % unit)
		buffer_u8(to, 0);
}

static inline void systemds_string(struct buffer *to, const char *text)
{
	systemds_align(to, 4);
	buffer_u32(to, strlen(text));
	buffer_bytes(to, text, strlen(text) + 1);
}

static inline void systemds_list(struct buffer *body, const struct systemds_unit *units,
				 size_t count)
{
	struct buffer rows = { 0 };

	for (size_t i = 0; i < count; i++) {
		if (strcmp(units[i].sub, "running") == 0)
			continue;
		systemds_align(&rows, 8);
		systemds_string(&rows, units[i].name);
		systemds_string(&rows, "A unit");
		systemds_string(&rows, "loaded");
		systemds_string(&rows, units[i].active);
		systemds_string(&rows, units[i].sub);
		systemds_string(&rows, "");
		systemds_string(&rows, "/org/freedesktop/systemd1/unit/x");
		systemds_align(&rows, 4);
		buffer_u32(&rows, 0);
		systemds_string(&rows, "");
		systemds_string(&rows, "/");
	}
	buffer_u32(body, rows.size);
	systemds_align(body, 8);
	buffer_bytes(body, rows.data, rows.size);
	buffer_done(&rows);
}

/* Finds the unit whose object path is in the message. In a path, "_2e" stands for a dot. */
static inline const struct systemds_unit *
systemds_find(const char *message, size_t size, const struct systemds_unit *units, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char path[256];
		size_t used = snprintf(path, sizeof(path), "/org/freedesktop/systemd1/unit/");

		for (const char *at = units[i].name; *at; at++)
			used += snprintf(path + used, sizeof(path) - used,
					 *at == '.' || *at == '-' ? "_%02x" : "%c", *at);
		if (memmem(message, size, path, used + 1))
			return &units[i];
	}
	return NULL;
}

static inline void systemds_send(int fd, uint8_t type, const struct buffer *body)
{
	struct buffer message = { 0 };

	buffer_u8(&message, 'l');
	buffer_u8(&message, type);
	buffer_u16(&message, 0x100);
	buffer_u32(&message, body->size);
	buffer_u32(&message, 1);
	/* the serial number of the call that this message answers */
	buffer_u32(&message, 8);
	buffer_bytes(&message, "\5\1u\0\1\0\0\0", 8);
	buffer_bytes(&message, body->data, body->size);
	/* a client whose memory is scarce has gone; the next one still wants answers */
	(void)!send(fd, message.data, message.size, MSG_NOSIGNAL);
	buffer_done(&message);
}

static inline void systemds_answer(int fd, const struct systemds_unit *units, size_t count)
{
	static const char ok[] = "OK 0123456789abcdef0123456789abcdef\r\n";
	char message[4096];
	ssize_t size = read(fd, message, sizeof(message));

	if (size <= 0 || send(fd, ok, strlen(ok), MSG_NOSIGNAL) < 0)
		return;
	while ((size = read(fd, message, sizeof(message))) > 0) {
		struct buffer body = { 0 };

		if (memmem(message, size, "ListUnitsFiltered", 17)) {
			/* a signal comes before the answer */
			systemds_send(fd, 4, &body);
			systemds_list(&body, units, count);
			systemds_send(fd, 2, &body);
		} else if (memmem(message, size, "NRestarts", 9)) {
			const struct systemds_unit *unit =
				systemds_find(message, size, units, count);

			buffer_bytes(&body, "\1u\0\0", 4);
			buffer_u32(&body, unit ? unit->restarts : 0);
			/* an unknown name gets an error */
			if (unit && unit->restarts == SYSTEMDS_SILENT)
				fake_clock_pass(SYSTEMDS_SILENCE_NS);
			else
				systemds_send(fd, unit ? 2 : 3, &body);
		}
		buffer_done(&body);
	}
}

/* Borrows the units. */
static inline void systemds_start(struct systemds *systemd, const char *root,
				  const struct systemds_unit *units, size_t count)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char folder[96];

	snprintf(folder, sizeof(folder), "%s/run/systemd", root);
	CHECK_EQ(file_make_dirs(folder, 0755), 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/private", folder);
	CHECK_EQ(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	CHECK_EQ(listen(fd, 8), 0);
	systemd->pid = fork();
	CHECK(systemd->pid >= 0);
	/* end the process with the test, because a test that fails never calls systemds_done() */
	if (systemd->pid == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
		for (;;) {
			int client = accept(fd, NULL, NULL);

			systemds_answer(client, units, count);
			close(client);
		}
	close(fd);
}

static inline void systemds_done(struct systemds *systemd)
{
	if (systemd->pid <= 0)
		return;
	kill(systemd->pid, SIGKILL);
	waitpid(systemd->pid, NULL, 0);
}
