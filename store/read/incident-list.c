// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists the incidents of a store. The incidents of a segment come from the index if their number
 * there equals the number in the segment's row. Otherwise they come from the segment itself, as for
 * spools and for segments that the index lacks. Incidents outside of segments come from the notes.
 */
#include "base/table.h"
#include "store/disk/segment-dir.h"
#include "store/read/reader.h"

struct listing {
	struct store_reader *reader;
	struct error *error;
	struct incident_rows all;
	/* The incidents of the index, sorted by segment. */
	struct incident_rows indexed;
	array_of(struct run) runs;
};

/* The indexed incidents of one segment. The index is sorted by name. */
struct run {
	const char *segment;
	size_t first, count;
};

static int see_indexed(void *context, const struct store_incident *incident)
{
	return incident_rows_add(context, incident);
}

/* Reads the incidents of the index, if a sound index exists. */
static int read_index(struct listing *listing)
{
	int r;

	if (!listing->reader->index)
		return 0;
	r = index_incidents(listing->reader->index, see_indexed, &listing->indexed, NULL);
	if (r < 0 && r != -ENOMEM) {
		reader_drop_index(listing->reader);
		incident_rows_done(&listing->indexed);
		listing->indexed = (struct incident_rows){ 0 };
		r = 0;
	}
	return r;
}

static int find_runs(struct listing *listing)
{
	const struct incident_row *rows = listing->indexed.rows.items;
	size_t count = listing->indexed.rows.count;

	for (size_t i = 0; i < count; i++) {
		if (i && rows[i].segment == rows[i - 1].segment)
			listing->runs.items[listing->runs.count - 1].count++;
		else if (array_push(&listing->runs,
				    (struct run){
					    strings_at(&listing->indexed.strings, rows[i].segment),
					    i, 1 }) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int compare_run(const void *key, const void *run)
{
	return strcmp(key, ((const struct run *)run)->segment);
}

/*
 * Adds the incidents of a file. Ignores a segment that retention removed meanwhile, and unreadable
 * segments, which the list of segments reports.
 */
static int add_from_file(struct listing *listing, const struct store_segment *segment,
			 struct error *error)
{
	static const struct segment_want want = { 0, UINT64_MAX, SEGMENT_CONTEXT, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	int r = store_reader_load(listing->reader, segment, &want, &tape, error);

	if (r == 0)
		r = incident_rows_add_tape(&listing->all, tape, segment->name);
	return r == -ENOMEM || r == -EMFILE || r == -ENFILE ? r : 0;
}

static int incident_list_add_segment(void *context, const struct store_segment *segment)
{
	struct listing *listing = context;
	const struct run *run;
	int r = 0;

	if (!segment->incidents && !segment->unsealed)
		return 0;
	run = listing->runs.count ? bsearch(segment->name, listing->runs.items, listing->runs.count,
					    sizeof(*run), compare_run)
				  : NULL;
	if (!run || run->count != segment->incidents)
		return add_from_file(listing, segment, listing->error);
	for (size_t i = run->first; r == 0 && i < run->first + run->count; i++) {
		struct store_incident incident = incident_rows_at(&listing->indexed, i);

		r = incident_rows_add(&listing->all, &incident);
	}
	return r;
}

static int incident_list_see_note(void *context, const struct note *note)
{
	return incident_rows_add_note(context, note);
}

static int incident_list_add_segments(struct listing *listing)
{
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	int r;

	if (listing->reader->listing)
		return listing_each(listing->reader, incident_list_add_segment, listing,
				    listing->error);
	r = reader_gather(listing->reader, 0, UINT64_MAX, &segments, listing->error);
	for (size_t i = 0; r == 0 && i < segments.list.count; i++)
		r = incident_list_add_segment(listing, &segments.list.items[i]);
	return r;
}

static int incident_list_all(struct listing *listing)
{
	struct store_reader *reader = listing->reader;
	uint64_t damaged;
	int r = read_index(listing);

	if (r < 0)
		return r;
	r = find_runs(listing);
	if (r < 0)
		return r;
	r = incident_list_add_segments(listing);
	if (r < 0)
		return r;
	if (!reader->is_file)
		r = notes_read(reader->path, incident_list_see_note, &listing->all, &damaged,
			       listing->error);
	return r < 0 ? r : incident_rows_sort(&listing->all);
}

int store_reader_incidents(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
			   int (*see)(void *context, const struct store_incident *incident),
			   void *context, struct error *error)
{
	struct listing listing = { .reader = reader, .error = error };
	int r = incident_list_all(&listing);

	if (r < 0)
		error_prefix(error, r, "%s", reader->path);
	for (size_t i = 0; r >= 0 && i < listing.all.rows.count; i++) {
		struct store_incident incident = incident_rows_at(&listing.all, i);

		if (incident.time_ns >= from_ns && incident.time_ns < to_ns)
			r = see(context, &incident);
	}
	array_done(&listing.runs);
	incident_rows_done(&listing.all);
	incident_rows_done(&listing.indexed);
	return r < 0 ? r : 0;
}
