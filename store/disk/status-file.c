// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file is one record like those of the notes. The recorder writes each new record over the old
 * one, because that only dirties a page. Behind a shorter record, the end of an earlier longer
 * record remains; readers use only the first record. A reader during a write finds a wrong checksum
 * and reads again.
 */
#include "store/disk/status-file.h"

#include <fcntl.h>
#include <stdio.h>
#include <time.h>

#include "store/disk/beneath.h"
#include "base/clock.h"
#include "base/file.h"
#include "store/disk/files.h"
#include "store/disk/notes.h"

#define STATUS_FILE_MAX (256u << 10)
#define READS_MAX 5
#define READ_AGAIN_NS (2 * NSEC_PER_MSEC)

void status_file_remove(const char *path)
{
	char file[PATH_MAX];

	if (store_file(path, STORE_STATUS, file, NULL) == 0)
		unlink(file);
}

int status_file_write(const char *path, const char *text, struct error *error)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	_cleanup_close_ int fd = -1;
	char file[PATH_MAX], pid[16];
	const struct notes_field fields[] = { { "pid", pid }, { "text", text } };
	struct note note = {
		.kind = NOTES_STATUS,
		.realtime_ns = clock_ns(CLOCK_REALTIME),
		.fields = fields,
		.field_count = ARRAY_SIZE(fields),
	};
	int r = store_file(path, STORE_STATUS, file, error);

	snprintf(pid, sizeof(pid), "%d", getpid());
	if (r < 0)
		return r;
	r = notes_encode(&note, &bytes);
	if (r < 0)
		return r;
	fd = beneath_open(path, STORE_STATUS, O_WRONLY | O_CREAT, STORE_FILE_MODE);
	r = fd < 0 ? fd : file_write_at(fd, bytes.data, bytes.size, 0);
	return r < 0 ? error_set(error, r, "%s: %s", file, strerror(-r)) : 0;
}

struct status {
	struct buffer *text;
	int pid;
	uint64_t realtime_ns;
	bool there;
};

static int see_status(void *context, const struct note *note)
{
	struct status *status = context;

	if (note->kind != NOTES_STATUS || status->there)
		return 0;
	status->there = true;
	status->pid = atoi(note_field(note, "pid"));
	status->realtime_ns = note->realtime_ns;
	buffer_text(status->text, note_field(note, "text"));
	return buffer_failed(status->text) ? -ENOMEM : 0;
}

/* Reads the record. An unreadable file counts as absent. */
static int status_file_read_once(const char *path, struct status *status)
{
	_cleanup_free_ char *data = NULL;
	_cleanup_close_ int fd = -1;
	uint64_t damaged;
	size_t size;
	int r = store_open_file(path, ".", STORE_STATUS, &fd, NULL);

	if (r < 0)
		return r;
	r = file_read_fd(fd, STATUS_FILE_MAX, &data, &size);
	if (r < 0)
		return r;
	r = notes_decode(data, size, see_status, status, &damaged);
	return r == 0 && !status->there ? -EBADMSG : r;
}

int status_file_read(const char *path, struct buffer *text, int *ret_pid, uint64_t *ret_time_ns)
{
	const struct timespec pause = { 0, READ_AGAIN_NS };
	struct status status = { .text = text };
	int r = status_file_read_once(path, &status);

	for (int i = 1; r == -EBADMSG && i < READS_MAX; i++) {
		nanosleep(&pause, NULL);
		r = status_file_read_once(path, &status);
	}
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	*ret_pid = status.pid;
	*ret_time_ns = status.realtime_ns;
	return 1;
}
