// SPDX-License-Identifier: GPL-2.0-only
#include "store/read/log-resume.h"

#include <stdio.h>

#include "base/bytes.h"
#include "store/read/store-reader.h"

/* Each CPU stamps its own lines, so a line may have an earlier stamp than the line before it. */
#define UNORDERED_NS 10000000000ull

void log_resume_done(struct log_resume *found)
{
	array_done(&found->noted);
}

uint32_t log_resume_hash(const char *text)
{
	return crc32c(0, text, strlen(text));
}

/*
 * Advances the position over a tape's lines, because the tape may be newer than the position in the
 * file. If the tape cannot be read, the recorder takes some lines twice.
 */
static int log_resume_see_tape(struct store_reader *reader, const struct store_segment *segment,
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

/* Finds the last line of that boot on the tapes, for a store without a position file. */
static int log_resume_see_last(struct store_reader *reader, const char *boot_id,
			       struct log_position *position, struct error *error)
{
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	struct log_position last = { .next_id = position->next_id, .below_id = position->below_id };
	int r = store_reader_find(reader, 0, UINT64_MAX, &segments, error);

	for (size_t i = segments.list.count; r == 0 && !last.stamp_ns && i-- > 0;) {
		const struct store_segment *segment = &segments.list.items[i];

		if (strcmp(segment->boot_id, boot_id) == 0 && !*segment->damage)
			r = log_resume_see_tape(reader, segment, &last);
	}
	if (r < 0)
		return r;
	if (last.stamp_ns) {
		snprintf(last.boot_id, sizeof(last.boot_id), "%s", boot_id);
		*position = last;
	}
	return 0;
}

static int log_resume_see_tapes(struct store_reader *reader, struct log_position *position,
				struct error *error)
{
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	uint64_t since_ns = position->stamp_ns;
	int r = store_reader_find(reader, 0, UINT64_MAX, &segments, error);

	for (size_t i = 0; r == 0 && i < segments.list.count; i++) {
		const struct store_segment *segment = &segments.list.items[i];

		if (strcmp(segment->boot_id, position->boot_id) == 0 &&
		    segment->perf_end_ns >= since_ns && !*segment->damage)
			r = log_resume_see_tape(reader, segment, position);
	}
	return r;
}

struct log_resume_search {
	const char *boot_id;
	/* The search skips older notes. */
	uint64_t since_ns;
	struct log_resume *found;
};

static int log_resume_see_incident(void *context, const struct store_incident *incident)
{
	const struct log_resume_search *search = context;
	struct log_resume *found = search->found;

	found->ids_from = MAX(found->ids_from, incident->id + 1);
	if (*incident->segment || incident->perf_ns + UNORDERED_NS < search->since_ns ||
	    strcmp(incident->boot_id, search->boot_id) != 0)
		return 0;
	return array_push(
		&found->noted,
		(struct log_resume_note){ incident->perf_ns, log_resume_hash(incident->text) });
}

static int log_resume_search_store(const char *store, const char *boot_id,
				   struct log_resume_search *search, struct error *error)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct log_position *position = &search->found->position;
	int r = log_position_read(store, position, error);
	bool known = strcmp(position->boot_id, boot_id) == 0;

	if (known)
		search->since_ns = position->stamp_ns;
	if (r < 0)
		return r;
	r = store_reader_open(store, &reader, error);
	if (r < 0)
		return r;
	/*
	 * compare the notes with the position in the file, because noted lines may lie between that
	 * position and the last line on a tape
	 */
	r = store_reader_incidents(reader, 0, UINT64_MAX, log_resume_see_incident, search, error);
	if (r < 0)
		return r;
	return known ? log_resume_see_tapes(reader, position, error)
		     : log_resume_see_last(reader, boot_id, position, error);
}

int log_resume_find(const char *store, const char *boot_id, struct log_resume *ret_found,
		    struct error *error)
{
	struct log_resume found = { .ids_from = 1 };
	struct log_resume_search search = { .boot_id = boot_id, .found = &found };
	int r = log_resume_search_store(store, boot_id, &search, error);

	if (r < 0) {
		log_resume_done(&found);
		return r;
	}
	*ret_found = found;
	return 0;
}
