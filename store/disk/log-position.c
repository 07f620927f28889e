// SPDX-License-Identifier: GPL-2.0-only
#include "store/disk/log-position.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "base/file.h"
#include "store/disk/files.h"
#include "store/read/store-reader.h"

#define FILE_NAME "kernel-log"
#define FILE_MAX 512

/* Each CPU stamps for itself: a line may have an earlier stamp than the one before. */
#define UNORDERED_NS 10000000000ull

void log_found_done(struct log_found *found)
{
	array_done(&found->noted);
}

uint32_t log_hash(const char *text)
{
	return crc32c(0, text, strlen(text));
}

/* All of it but the checksum, which follows. */
static void write_line(const struct log_position *position, char text[FILE_MAX])
{
	snprintf(text, FILE_MAX, "1 %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
		 position->boot_id, position->sequence, position->stamp_ns, position->next_id,
		 position->below_id);
}

int log_position_keep(const char *store, const struct log_position *position, struct error *error)
{
	char line[FILE_MAX], text[FILE_MAX + 16];
	int size, r;

	write_line(position, line);
	size = snprintf(text, sizeof(text), "%s %08x\n", line, log_hash(line));
	r = file_replace(store, FILE_NAME, text, size);
	return r < 0 ? error_set(error, r, "%s/" FILE_NAME ": %s", store, strerror(-r)) : 0;
}

static int read_position(const char *store, struct log_position *ret, struct error *error)
{
	struct log_position position = { 0 };
	_cleanup_free_ char *text = NULL;
	char file[PATH_MAX], again[FILE_MAX];
	unsigned int crc;
	int r = store_file(store, FILE_NAME, file, error);

	*ret = position;
	if (r < 0)
		return r;
	r = file_read(file, FILE_MAX, &text, NULL);
	if (r < 0)
		return r == -ENOENT || r == -EFBIG
			       ? 0
			       : error_set(error, r, "%s: %s", file, strerror(-r));
	if (sscanf(text, "1 %39s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %8x",
		   position.boot_id, &position.sequence, &position.stamp_ns, &position.next_id,
		   &position.below_id, &crc) != 6)
		return 0;
	write_line(&position, again);
	if (log_hash(again) == crc)
		*ret = position;
	return 0;
}

/* Lines that came after the file was written. What cannot be read has none: then some come twice.
 */
static int log_position_see_tape(struct store_reader *reader, const struct store_segment *segment,
				 struct log_position *position)
{
	static const struct segment_want want = { 0, UINT64_MAX, SEGMENT_CONTEXT, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	int r = store_reader_load(reader, segment, &want, &tape, NULL);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (size_t i = 0; i < tape->lines.count; i++) {
		const struct tape_line *line = &tape->lines.items[i];

		if (line->sequence < position->sequence)
			continue;
		position->sequence = line->sequence;
		position->stamp_ns = line->time_ns;
	}
	return 0;
}

/* Without a position: the last line of that boot that a tape has. */
static int see_last_tape(struct store_reader *reader, const char *boot_id,
			 struct log_position *position, struct error *error)
{
	struct store_segments segments = { 0 };
	struct log_position last = { .next_id = position->next_id, .below_id = position->below_id };
	int r = store_reader_find(reader, 0, UINT64_MAX, &segments, error);

	for (size_t i = segments.list.count; r == 0 && !last.stamp_ns && i-- > 0;) {
		const struct store_segment *segment = &segments.list.items[i];

		if (strcmp(segment->boot_id, boot_id) == 0 && !*segment->damage)
			r = log_position_see_tape(reader, segment, &last);
	}
	array_done(&segments.list);
	if (r == 0 && last.stamp_ns) {
		snprintf(last.boot_id, sizeof(last.boot_id), "%s", boot_id);
		*position = last;
	}
	return r;
}

static int see_tapes(struct store_reader *reader, struct log_position *position,
		     struct error *error)
{
	struct store_segments segments = { 0 };
	uint64_t since_ns = position->stamp_ns;
	int r = store_reader_find(reader, 0, UINT64_MAX, &segments, error);

	for (size_t i = 0; r == 0 && i < segments.list.count; i++) {
		const struct store_segment *segment = &segments.list.items[i];

		if (strcmp(segment->boot_id, position->boot_id) == 0 &&
		    segment->perf_end_ns >= since_ns && !*segment->damage)
			r = log_position_see_tape(reader, segment, position);
	}
	array_done(&segments.list);
	return r;
}

struct seeing {
	const char *boot_id;
	/* of the notes that matter */
	uint64_t since_ns;
	struct log_found *found;
};

static int log_position_see_incident(void *context, const struct store_incident *incident)
{
	const struct seeing *seeing = context;
	struct log_found *found = seeing->found;

	found->ids_from = MAX(found->ids_from, incident->id + 1);
	if (*incident->segment || incident->perf_ns + UNORDERED_NS < seeing->since_ns ||
	    strcmp(incident->boot_id, seeing->boot_id) != 0)
		return 0;
	return array_push(&found->noted,
			  (struct log_noted){ incident->perf_ns, log_hash(incident->text) });
}

int log_position_find(const char *store, const char *boot_id, struct log_found *ret_found,
		      struct error *error)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct log_found found = { .ids_from = 1 };
	struct seeing seeing = { .boot_id = boot_id, .found = &found };
	int r = read_position(store, &found.position, error);
	bool known = strcmp(found.position.boot_id, boot_id) == 0;

	if (known)
		seeing.since_ns = found.position.stamp_ns;
	if (r == 0)
		r = store_reader_open(store, &reader, error);
	/* notes are held against the position in the file: between it and the last tape's there may
	 * be one */
	if (r == 0)
		r = store_reader_incidents(reader, 0, UINT64_MAX, log_position_see_incident,
					   &seeing, error);
	if (r == 0)
		r = known ? see_tapes(reader, &found.position, error)
			  : see_last_tape(reader, boot_id, &found.position, error);
	if (r < 0)
		log_found_done(&found);
	else
		*ret_found = found;
	return r;
}
