// SPDX-License-Identifier: GPL-2.0-only
#include "cli/incidents/log-input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "unpacker/unpack-file.h"

#define PIECE_BYTES (1 << 20)
/*
 * A packed log may unpack to at most this multiple of its size; real logs reach 100. The unpacked
 * log may also take at most half of the free space in the folder for temporary files.
 */
#define UNPACK_RATIO 1000
#define UNPACK_FREE (64ull << 20)
#define IDLE_MS 1000

static const char *temporary_folder(void)
{
	const char *folder = secure_getenv("TMPDIR");

	return folder && *folder ? folder : "/tmp";
}

void log_input_done(struct log_input *input)
{
	if (input->fd >= 0)
		close(input->fd);
	if (input->pipe >= 0)
		close(input->pipe);
	input->fd = input->pipe = -1;
}

/* Returns false if nothing arrived for a while. */
static bool log_input_wait_for(int fd)
{
	struct pollfd waiting = { .fd = fd, .events = POLLIN };

	return poll(&waiting, 1, IDLE_MS) != 0;
}

/*
 * Returns whether the log is text. perftape can read text while more text arrives, but not a packed
 * log.
 */
static bool log_input_is_text(int file)
{
	char head[6];

	if (pread(file, head, sizeof(head), 0) != sizeof(head))
		return false;
	for (size_t i = 0; i < sizeof(head); i++)
		if ((head[i] & 0x80) || (head[i] < ' ' && !strchr("\t\n\r\x1b\x1e", head[i])))
			return false;
	return true;
}

/* Copies the pipe into a file without a name. */
static int keep_pipe(struct log_input *input, bool as_it_comes, struct error *error)
{
	const char *folder = temporary_folder();
	_cleanup_close_ int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	_cleanup_free_ char *piece = malloc(PIECE_BYTES);
	bool all = false;
	int r = 0;

	if (file < 0)
		return error_set(error, -errno, "cannot keep the input in %s: %s", folder,
				 strerror(errno));
	if (!piece)
		return -ENOMEM;
	while (r == 0 && !all) {
		ssize_t got;

		if (as_it_comes && !log_input_wait_for(input->fd) && log_input_is_text(file))
			break;
		got = read(input->fd, piece, PIECE_BYTES);
		all = got == 0;
		if (got > 0)
			r = file_write_all(file, piece, got);
		else if (got < 0 && errno != EINTR)
			return error_set(error, -errno, "cannot read standard input: %s",
					 strerror(errno));
	}
	if (r < 0)
		return error_set(error, r, "cannot keep the input in %s: %s", folder, strerror(-r));
	if (all)
		close(input->fd);
	else
		input->pipe = input->fd;
	input->fd = take_fd(file);
	return 0;
}

/* Names the format of a file that is not text, and the command that converts it. */
static int refuse_others(const struct log_input *input, struct error *error)
{
	static const struct {
		const char *magic;
		const char *what, *how;
	} others[] = {
		{ "BZh", "packed with bzip2", "bzip2 -dc" },
		{ "\x04\x22\x4d\x18", "packed with lz4", "lz4 -dc" },
		{ "\x89LZO", "packed with lzop", "lzop -dc" },
		{ "PK\x03\x04", "a zip archive", "unzip -p" },
		{ "LPKSHHRH", "a journal file", "journalctl -o export --file" },
		{ "\xff\xfe", "written in UTF-16", "iconv -f UTF-16 -t UTF-8" },
		{ "\xfe\xff", "written in UTF-16", "iconv -f UTF-16 -t UTF-8" },
	};
	char head[8] = "";

	if (pread(input->fd, head, sizeof(head), 0) < 0)
		/* the next read of the file reports the error */
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strncmp(head, others[i].magic, strlen(others[i].magic)) == 0)
			return error_set(error, -EPROTONOSUPPORT,
					 "%s is %s; use: %s FILE | perftape incidents scan -",
					 input->name, others[i].what, others[i].how);
	return 0;
}

static uint64_t log_input_unpack_limit(uint64_t packed_bytes)
{
	uint64_t limit = MIN(packed_bytes, UINT64_MAX / UNPACK_RATIO - UNPACK_FREE) * UNPACK_RATIO +
			 UNPACK_FREE;
	struct statvfs about;

	if (statvfs(temporary_folder(), &about) == 0)
		limit = MIN(limit, about.f_bavail * about.f_frsize / 2);
	return limit;
}

static int open_file(struct log_input *input, const char *path, bool as_it_comes,
		     struct error *error)
{
	bool standard = !strcmp(path, "-");
	struct stat about;
	int r;

	input->name = standard ? "standard input" : path;
	input->fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
			     : open(path, O_RDONLY | O_CLOEXEC);
	if (input->fd < 0 || fstat(input->fd, &about) < 0)
		return error_set(error, -errno, "cannot read %s: %s", input->name, strerror(errno));
	if (S_ISDIR(about.st_mode))
		return error_set(error, -EISDIR, "%s is a folder; name a file", input->name);
	input->changed_ns = clock_ns(CLOCK_REALTIME);
	if (S_ISREG(about.st_mode) && !standard)
		input->changed_ns = about.st_mtim.tv_sec * NSEC_PER_SEC;
	r = S_ISREG(about.st_mode) ? 0 : keep_pipe(input, as_it_comes, error);
	if (r < 0)
		return r;
	if (fstat(input->fd, &about) < 0)
		return error_set(error, -errno, "cannot read %s: %s", input->name, strerror(errno));
	r = unpack_file(&input->fd, temporary_folder(), log_input_unpack_limit(about.st_size),
			&input->damaged, error);
	if (r < 0)
		return error_prefix(error, r, "%s", input->name);
	if (fstat(input->fd, &about) < 0)
		return error_set(error, -errno, "cannot read %s: %s", input->name, strerror(errno));
	input->size = about.st_size;
	return refuse_others(input, error);
}

int log_input_open(const char *path, bool as_it_comes, struct log_input *ret_input,
		   struct error *error)
{
	struct log_input input = { .fd = -1, .pipe = -1 };
	int r = open_file(&input, path, as_it_comes, error);

	if (r < 0)
		log_input_done(&input);
	else
		*ret_input = input;
	return r;
}

ssize_t log_input_read_at(const struct log_input *input, char *data, size_t size, uint64_t offset)
{
	ssize_t got;

	do {
		got = pread(input->fd, data, size, offset);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

ssize_t log_input_read_pipe(const struct log_input *input, char *data, size_t size, bool *ret_idle)
{
	ssize_t got;

	*ret_idle = !log_input_wait_for(input->pipe);
	if (*ret_idle)
		return 0;
	do {
		got = read(input->pipe, data, size);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}
