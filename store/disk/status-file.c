// SPDX-License-Identifier: GPL-2.0-only
/*
 * One record of the form of the notes at the start of a file that is written over, so that it costs
 * no more than dirtying a page. A shorter record leaves the end of a longer one behind it, which is
 * no record: the first one counts. Who reads while it is written finds a checksum that is wrong,
 * and looks again.
 */
#include "store/disk/status-file.h"

#include <fcntl.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "store/disk/files.h"
#include "store/disk/notes.h"

#define STATUS_FILE_MAX (256u << 10)
#define LOOKS 5
#define LOOK_AGAIN_NS (2 * NSEC_PER_MSEC)

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
	if (r == 0)
		r = notes_encode(&note, &bytes);
	if (r < 0)
		return r;
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	r = fd < 0 ? -errno : file_write_at(fd, bytes.data, bytes.size, 0);
	return r < 0 ? error_set(error, r, "%s: %s", file, strerror(-r)) : 0;
}

struct told {
	struct buffer *text;
	int pid;
	uint64_t realtime_ns;
	bool there;
};

static int see_status(void *context, const struct note *note)
{
	struct told *told = context;

	if (note->kind != NOTES_STATUS || told->there)
		return 0;
	told->there = true;
	told->pid = atoi(note_field(note, "pid"));
	told->realtime_ns = note->realtime_ns;
	buffer_text(told->text, note_field(note, "text"));
	return buffer_failed(told->text) ? -ENOMEM : 0;
}

/* What cannot be read is not there. */
static int status_file_look(const char *path, struct told *told)
{
	_cleanup_free_ char *data = NULL;
	_cleanup_close_ int fd = -1;
	uint64_t damaged;
	size_t size;
	int r = store_open_file(path, ".", STORE_STATUS, &fd, NULL);

	if (r == 0)
		r = file_read_fd(fd, STATUS_FILE_MAX, &data, &size);
	if (r == 0)
		r = notes_decode(data, size, see_status, told, &damaged);
	return r == 0 && !told->there ? -EBADMSG : r;
}

int status_file_read(const char *path, struct buffer *text, int *ret_pid, uint64_t *ret_told_ns)
{
	const struct timespec pause = { 0, LOOK_AGAIN_NS };
	struct told told = { .text = text };
	int r = status_file_look(path, &told);

	for (int i = 1; r == -EBADMSG && i < LOOKS; i++) {
		nanosleep(&pause, NULL);
		r = status_file_look(path, &told);
	}
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	*ret_pid = told.pid;
	*ret_told_ns = told.realtime_ns;
	return 1;
}
