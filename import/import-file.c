// SPDX-License-Identifier: GPL-2.0-only
#include "import/importer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/table.h"
#include "unpacker/unpack-file.h"
#include "unpacker/unpack-helper.h"
#include "unpacker/unpack-helper.h"
#include "import/import-clock.h"

/* Reads a file before its import, to find its identity, its times, and the event to import. */

/* A file that unpacks to more than this is a bomb. */
#define UNPACK_LIMIT (1ull << 38)
#define UNPACK_RATIO 2000

#define ID_PART 65536

void import_file_done(struct import_file *file)
{
	perf_data_done(&file->perf);
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	*file = (struct import_file){ .fd = -1 };
}

/* Identifies the contents by size, beginning and end, so that the path does not matter. */
static int import_file_identify(struct import_file *file)
{
	_cleanup_free_ uint8_t *part = malloc(ID_PART);
	uint64_t hash[2] = { file->perf.size, ~file->perf.size };
	ssize_t size;

	if (!part)
		return -ENOMEM;
	for (int i = 0; i < 2; i++) {
		off_t at = i && file->perf.size > ID_PART ? file->perf.size - ID_PART : 0;

		size = pread(file->fd, part, ID_PART, at);
		if (size < 0)
			return -errno;
		hash[0] = hash_u64(hash[0] ^ hash_bytes(part, size));
		hash[1] = hash_u64(hash[1] + crc32c(i, part, size));
	}
	snprintf(file->id, sizeof(file->id), "%016llx%08llx", (unsigned long long)hash[0],
		 (unsigned long long)hash[1] & 0xffffffff);
	return 0;
}

static bool is_dummy(const struct perf_data_event *event)
{
	return event->type == PERF_TYPE_SOFTWARE && event->config == PERF_COUNT_SW_DUMMY;
}

/* "cycles" also means "cycles:u": compare only the text before the colon. */
static bool import_file_is_named(const struct perf_data_event *event, const char *name)
{
	return strcmp(event->name, name) == 0 ||
	       (strncmp(event->name, name, strlen(name)) == 0 && event->name[strlen(name)] == ':');
}

static int choose_event(struct import_file *file, const struct import_options *options,
			struct error *error)
{
	struct buffer names = { 0 };
	int r = 0;

	for (size_t i = 0; i < file->perf.events.count && !file->event; i++) {
		const struct perf_data_event *event = &file->perf.events.items[i];

		buffer_printf(&names, "%s%s", i ? ", " : "", event->name);
		if (options->event ? import_file_is_named(event, options->event)
				   : !is_dummy(event) && event->layout.sample_type & PERF_SAMPLE_IP)
			file->event = event;
	}
	buffer_u8(&names, 0);
	if (!file->event && options->event)
		r = error_set(error, -ENOENT, "%s: no event %s; it has %s", file->path,
			      options->event, names.data ? (char *)names.data : "");
	else if (!file->event)
		r = error_set(error, -ENOENT, "%s: no event with samples", file->path);
	else if (!(file->event->layout.sample_type & PERF_SAMPLE_TIME) ||
		 !(file->event->layout.sample_type & PERF_SAMPLE_TID))
		r = error_set(error, -EBADMSG,
			      "%s: samples lack a time or a thread; record with perf record -T",
			      file->path);
	buffer_done(&names);
	return r;
}

/*
 * Collects the times of a file's samples. If the header has times that include the first sample,
 * stops there and takes these times. A file that continues another one is read to its end, because
 * the next file needs its stream.
 */
static int note_time(void *context, const uint8_t *record, size_t size, uint64_t offset)
{
	struct import_file *file = context;
	uint64_t time_ns;
	uint32_t type;

	memcpy(&type, record, sizeof(type));
	if (type != PERF_TYPE_SAMPLE)
		return 0;
	time_ns = perf_data_place(&file->perf, record, size).time_ns;
	if (!file->continues && !file->first_ns && time_ns >= file->perf.first_ns &&
	    time_ns <= file->perf.last_ns) {
		file->first_ns = file->perf.first_ns;
		file->last_ns = file->perf.last_ns;
		return -ECANCELED;
	}
	if (!file->first_ns || time_ns < file->first_ns)
		file->first_ns = time_ns;
	file->last_ns = MAX(file->last_ns, time_ns);
	return 0;
}

static int find_times(struct import_file *file, struct unpack_helper **stream, struct error *error)
{
	int r;

	file->first_ns = file->last_ns = 0;
	r = perf_data_read(&file->perf, stream, note_time, file, error);
	return r == -ECANCELED ? 0 : r;
}

static int ignore_record(void *context, const uint8_t *record, size_t size, uint64_t offset)
{
	return 0;
}

int import_file_pass(struct import_file *file, struct unpack_helper **stream)
{
	int r = perf_data_read(&file->perf, stream, ignore_record, NULL, NULL);

	return MIN(r, 0);
}

static int find_clock(struct import_file *file, const struct import_options *options,
		      struct error *error)
{
	int r = import_clock_find(file, options);

	return r < 0 ? error_set(error, r, "%s: %s", file->path, strerror(-r)) : 0;
}

int import_file_follow(struct import_file *file, struct import_file *before,
		       const struct import_options *options, struct unpack_helper **stream,
		       struct error *error)
{
	struct error said = { 0 };
	int r = 0;

	if (!before || !before->continues)
		*stream = unpack_helper_free(*stream);
	if (before && !before->continues)
		r = import_file_pass(before, stream);
	if (r == 0)
		r = find_times(file, stream, &said);
	if (r < 0 || r == PERF_DATA_CONTINUES)
		return error_set(error, r < 0 ? r : -EBADMSG, "%s: %s", file->path,
				 r < 0 ? strerror(-r) : said.text);
	return find_clock(file, options, error);
}

/* Finds the file's times, and whether the file can be read without the file before it. */
static int look_through(struct import_file *file, const struct import_options *options,
			struct error *error)
{
	_cleanup_(cleanup_unpack_helper) struct unpack_helper *stream = NULL;
	int r = import_file_identify(file);

	if (r == 0)
		r = find_times(file, &stream, NULL);
	if (r < 0)
		return error_set(error, r, "%s: %s", file->path, strerror(-r));
	file->continues = r == PERF_DATA_CONTINUES;
	return file->continues ? 0 : find_clock(file, options, error);
}

static int import_file_unpack(struct import_file *file, const struct import_options *options,
			      struct error *error)
{
	struct stat about;
	uint64_t limit;
	int r;

	if (fstat(file->fd, &about) < 0)
		return error_set(error, -errno, "%s", strerror(errno));
	if (!S_ISREG(about.st_mode))
		return error_set(error, -EINVAL, "not a regular file");
	limit = MIN(UNPACK_LIMIT, (uint64_t)about.st_size * UNPACK_RATIO + (64u << 20));
	r = unpack_file(&file->fd, options->folder, limit, &file->truncated, error);
	return MIN(r, 0);
}

int import_file_open(const char *path, const struct import_options *options,
		     struct import_file *ret_file, struct error *error)
{
	struct import_file file = { .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
	int r;

	if (file.fd < 0)
		return error_set(error, -errno, "%s: %s", path, strerror(errno));
	file.path = strdup(path);
	r = file.path ? import_file_unpack(&file, options, error) : -ENOMEM;
	if (r == 0)
		r = perf_data_open(file.fd, &file.perf, error);
	if (r < 0) {
		error_prefix(error, r, "%s", path);
		import_file_done(&file);
		return r;
	}
	r = choose_event(&file, options, error);
	if (r == 0)
		r = look_through(&file, options, error);
	if (r < 0) {
		import_file_done(&file);
		return r;
	}
	*ret_file = file;
	return 0;
}
