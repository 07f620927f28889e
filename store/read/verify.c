// SPDX-License-Identifier: GPL-2.0-only
/* Checks every byte of a store. */
#include <sys/stat.h>
#include <time.h>

#include "store/disk/files.h"
#include "store/disk/segment-dir.h"
#include "store/read/reader.h"
#include "store/disk/spool-dir.h"

struct verifying {
	struct store_reader *reader;
	void (*report)(void *context, const char *file, const char *what);
	void (*progress)(void *context, uint64_t bytes, uint64_t total_bytes);
	void *context;
	struct store_verified result;
	/* The total number of bytes. */
	uint64_t total_bytes;
	struct error *error;
};

/*
 * Beside a recorder, the check of the index repeats at most INDEX_AGAIN times, with a pause before
 * each repetition.
 */
#define INDEX_AGAIN 3
#define INDEX_AGAIN_NS 200000000l

static void verify_report(struct verifying *verifying, const char *file, const char *what)
{
	verifying->result.damaged++;
	verifying->report(verifying->context, file, what);
}

static void read_bytes(struct verifying *verifying, uint64_t bytes)
{
	verifying->result.bytes += bytes;
	if (verifying->progress)
		verifying->progress(verifying->context, verifying->result.bytes,
				    verifying->total_bytes);
}

/*
 * Returns whether the segment's header agrees with the tape. The index and the answers to queries
 * rely on the header.
 */
static bool header_matches(const struct store_segment *segment, const struct tape *tape)
{
	struct segment_summary summary;

	segment_summarize(tape, &summary);
	return summary.samples == segment->samples && summary.lost == segment->lost &&
	       summary.incidents == segment->incidents && summary.begin_ns == segment->begin_ns &&
	       summary.end_ns == segment->end_ns && summary.sequence == segment->sequence;
}

static int verify_segment(struct verifying *verifying, const struct store_segment *segment)
{
	static const struct segment_want everything = { 0, UINT64_MAX, SEGMENT_ALL, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct error why = { 0 };
	int r = store_reader_load(verifying->reader, segment, &everything, &tape, &why);

	if (r == -ENOENT)
		/* retention removed it meanwhile */
		return 0;
	if (error_is_exhaustion(r))
		return error_set(verifying->error, r, "%s", strerror(-r));
	verifying->result.segments++;
	if (r < 0)
		verify_report(verifying, segment->name, why.text);
	else if (!header_matches(segment, tape))
		verify_report(verifying, segment->name, "its summary disagrees with its content");
	else
		verifying->result.samples += tape->samples.count;
	read_bytes(verifying, segment->bytes);
	return 0;
}

/* Checks a spool. A truncated or changed spool still loads, with a loss. */
static int verify_spool(struct verifying *verifying, const struct store_segment *segment)
{
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct error why = { 0 };
	struct spool_end end = { 0 };
	struct spool_dir_writer writer;
	int r;

	spool_dir_find_writer(verifying->reader->path, &writer);
	r = spool_dir_load(verifying->reader->path, segment->name, &writer, &tape, &end, &why);
	if (r == -ENOENT)
		return 0;
	if (error_is_exhaustion(r))
		return error_set(verifying->error, r, "%s", strerror(-r));
	if (r < 0)
		verify_report(verifying, segment->name, why.text);
	else if (end.damaged)
		verify_report(verifying, segment->name, "a block is damaged");
	if (r == 0)
		verifying->result.samples += tape->samples.count;
	read_bytes(verifying, segment->bytes);
	return 0;
}

static int verify_files(struct verifying *verifying, const struct store_segments *all)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < all->list.count; i++) {
		const struct store_segment *segment = &all->list.items[i];

		if (segment->vanished)
			verify_report(verifying, segment->name, segment->damage);
		else
			r = segment->unsealed ? verify_spool(verifying, segment)
					      : verify_segment(verifying, segment);
	}
	return r;
}

static int verify_see_nothing(void *context, const struct note *note)
{
	return 0;
}

static int verify_notes(struct verifying *verifying, const char *name)
{
	uint64_t damaged = 0;
	struct error why = { 0 };
	int r = notes_read_file(verifying->reader->path, name, verify_see_nothing, NULL, &damaged,
				&why);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		verify_report(verifying, name, why.text);
	else if (damaged)
		verify_report(verifying, name, "a record is damaged");
	return 0;
}

/* A row of the index that has bytes for a segment. */
struct bytes_row {
	char name[64];
	uint64_t size;
	uint32_t crc;
};

/* Sorted by name. */
struct bytes_rows {
	array_of(struct bytes_row) list;
};

struct rows {
	struct verifying *verifying;
	struct store_segments segments;
	struct incident_rows incidents;
	struct bytes_rows bytes[INDEX_TABLES];
	/* Report the problems; otherwise only count them. */
	bool reports;
	uint64_t stale;
};

static int verify_see_row(void *context, const struct store_segment *segment)
{
	struct rows *rows = context;

	return array_push(&rows->segments.list, *segment);
}

static int verify_see_incident(void *context, const struct store_incident *incident)
{
	struct rows *rows = context;

	return incident_rows_add(&rows->incidents, incident);
}

static int see_bytes(void *context, const char *name, const void *data, size_t size)
{
	struct bytes_row row = { .size = size, .crc = crc32c(0, data, size) };
	struct bytes_rows *rows = context;

	snprintf(row.name, sizeof(row.name), "%s", name);
	return array_push(&rows->list, row);
}

static int compare_bytes_name(const void *name, const void *row)
{
	return strcmp(name, ((const struct bytes_row *)row)->name);
}

/* Returns NULL if the rows have no bytes of this segment. */
static const struct bytes_row *find_bytes(const struct bytes_rows *rows, const char *name)
{
	if (!rows->list.count)
		return NULL;
	return bsearch(name, rows->list.items, rows->list.count, sizeof(*rows->list.items),
		       compare_bytes_name);
}

static bool same_bytes(const struct bytes_rows *a, const struct bytes_rows *b, const char *name)
{
	static const struct bytes_row none;
	const struct bytes_row *left = find_bytes(a, name), *right = find_bytes(b, name);

	left = left ? left : &none;
	right = right ? right : &none;
	return left->size == right->size && left->crc == right->crc;
}

static void report_stale(struct rows *rows, const char *what)
{
	rows->stale++;
	if (rows->reports)
		rows->verifying->report(rows->verifying->context, STORE_INDEX, what);
}

static bool same_segment(const struct store_segment *a, const struct store_segment *b)
{
	return strcmp(a->name, b->name) == 0 && strcmp(a->boot_id, b->boot_id) == 0 &&
	       a->sequence == b->sequence && a->begin_ns == b->begin_ns && a->end_ns == b->end_ns &&
	       a->perf_begin_ns == b->perf_begin_ns && a->perf_end_ns == b->perf_end_ns &&
	       a->samples == b->samples && a->lost == b->lost && a->incidents == b->incidents &&
	       a->bytes == b->bytes;
}

static bool same_incident(const struct store_incident *a, const struct store_incident *b)
{
	return a->id == b->id && a->time_ns == b->time_ns && a->stall_ns == b->stall_ns &&
	       a->error_ns == b->error_ns && a->perf_ns == b->perf_ns &&
	       a->severity == b->severity && strcmp(a->segment, b->segment) == 0 &&
	       strcmp(a->kind, b->kind) == 0 && strcmp(a->text, b->text) == 0 &&
	       strcmp(a->source, b->source) == 0 && strcmp(a->fields, b->fields) == 0 &&
	       strcmp(a->boot_id, b->boot_id) == 0;
}

static int verify_compare_names(const void *a, const void *b)
{
	return strcmp(((const struct store_segment *)a)->name,
		      ((const struct store_segment *)b)->name);
}

/*
 * An index of the version before has no outlines of its segments. Answers then take them from the
 * segments, so a missing outline is not stale.
 */
static void verify_compare_bytes(struct rows *rows, const struct bytes_rows bytes[INDEX_TABLES],
				 const char *name)
{
	if (!same_bytes(&rows->bytes[INDEX_BUSY], &bytes[INDEX_BUSY], name))
		report_stale(rows, "its busy CPUs differ from the busy CPUs in a segment");
	else if (find_bytes(&rows->bytes[INDEX_OUTLINES], name) &&
		 !same_bytes(&rows->bytes[INDEX_OUTLINES], &bytes[INDEX_OUTLINES], name))
		report_stale(rows, "its outline differs from the outline in a segment");
}

/* Compares two lists, both sorted by name. An entry in only one of them is stale. */
static void verify_compare_rows(struct rows *rows, const struct store_segments *files,
				const struct incident_rows *incidents,
				const struct bytes_rows bytes[INDEX_TABLES])
{
	size_t row = 0, file = 0;

	while (row < rows->segments.list.count || file < files->list.count) {
		const struct store_segment *a = &rows->segments.list.items[row];
		const struct store_segment *b = &files->list.items[file];
		int order = row == rows->segments.list.count ? 1
			    : file == files->list.count	     ? -1
							     : strcmp(a->name, b->name);

		if (order < 0)
			report_stale(rows, "it has a segment that does not exist");
		else if (order > 0 && !*b->damage)
			report_stale(rows, "it lacks a segment");
		else if (order == 0 && !*b->damage && !same_segment(a, b))
			report_stale(rows, "a row differs from its segment");
		else if (order == 0 && !*b->damage)
			verify_compare_bytes(rows, bytes, b->name);
		row += order <= 0;
		file += order >= 0;
	}
	for (size_t i = 0; i < MAX(incidents->rows.count, rows->incidents.rows.count); i++) {
		struct store_incident a = { 0 }, b = { 0 };
		bool same = i < incidents->rows.count && i < rows->incidents.rows.count;

		if (same) {
			a = incident_rows_at(incidents, i);
			b = incident_rows_at(&rows->incidents, i);
		}
		if (!same || !same_incident(&a, &b)) {
			report_stale(rows, "its incidents differ from those of the segments");
			break;
		}
	}
}

static int verify_read_bytes(const char *path, const struct store_segment *segment,
			     struct bytes_rows rows[INDEX_TABLES], struct error *error)
{
	_cleanup_(index_bytes_done) struct index_bytes bytes = { 0 };
	int r = segment_dir_bytes(path, segment, &bytes, error);

	/* one may be readable while another one is damaged */
	for (int i = 0; !error_is_exhaustion(r) && i < INDEX_TABLES; i++)
		if (bytes.of[i].size &&
		    see_bytes(&rows[i], segment->name, bytes.of[i].data, bytes.of[i].size) < 0)
			r = -ENOMEM;
	return r;
}

/* Reads the present segments, sorted by name, with what the index has of them. */
static int read_files(struct verifying *verifying, struct store_segments *files,
		      struct incident_rows *incidents, struct bytes_rows bytes[INDEX_TABLES])
{
	const char *path = verifying->reader->path;
	_cleanup_(segment_dir_names_done) struct segment_dir_names names = { 0 };
	int r = segment_dir_find_unknown(path, &names, files, verifying->error);

	if (files->list.count)
		qsort(files->list.items, files->list.count, sizeof(*files->list.items),
		      verify_compare_names);
	for (size_t i = 0; r == 0 && i < files->list.count; i++) {
		const struct store_segment *segment = &files->list.items[i];

		if (!*segment->damage && segment->incidents)
			r = segment_dir_incidents(path, segment, incidents, verifying->error);
		if (!*segment->damage && segment->samples && !error_is_exhaustion(r))
			r = verify_read_bytes(path, segment, bytes, verifying->error);
		if (!error_is_exhaustion(r))
			r = 0;
	}
	return r;
}

static int compare_index(struct verifying *verifying, bool reports, uint64_t *ret_stale)
{
	struct bytes_rows bytes[INDEX_TABLES] = { 0 };
	struct rows rows = { .verifying = verifying, .reports = reports };
	_cleanup_(incident_rows_done) struct incident_rows incidents = { 0 };
	_cleanup_(store_segments_done) struct store_segments files = { 0 };
	struct index *index = verifying->reader->index;
	struct error why = { 0 };
	int r = read_files(verifying, &files, &incidents, bytes), read = 0;

	if (r == 0 && index) {
		read = index_segments(index, verify_see_row, &rows, &why);
		if (read == 0)
			read = index_incidents(index, verify_see_incident, &rows, &why);
		for (int i = 0; read == 0 && i < INDEX_TABLES; i++)
			read = index_all_bytes(index, i, see_bytes, &rows.bytes[i], &why);
	}
	if (read == -ENOMEM)
		r = read;
	else if (read < 0)
		verify_report(verifying, STORE_INDEX, why.text);
	else if (r == 0 && index)
		verify_compare_rows(&rows, &files, &incidents, bytes);
	else if (r == 0 && files.list.count)
		report_stale(&rows, "it does not exist or cannot be used");
	for (int i = 0; i < INDEX_TABLES; i++) {
		array_done(&rows.bytes[i].list);
		array_done(&bytes[i].list);
	}
	array_done(&rows.segments.list);
	incident_rows_done(&rows.incidents);
	*ret_stale = rows.stale;
	return r;
}

/*
 * Checks the index. A recorder may seal and remove segments between the reads of the files and of
 * the index. So beside a recorder, reports only differences that persist.
 */
static int verify_index(struct verifying *verifying)
{
	bool reports = false;
	struct spool_dir_writer writer;
	uint64_t stale = 1;
	int r = 0;

	for (int looks = 0; r == 0 && stale && !reports; looks++) {
		if (looks)
			nanosleep(&(struct timespec){ .tv_nsec = INDEX_AGAIN_NS }, NULL);
		spool_dir_find_writer(verifying->reader->path, &writer);
		reports = looks == INDEX_AGAIN || !writer.there;
		r = compare_index(verifying, reports, &stale);
	}
	verifying->result.stale = stale;
	return r;
}

static int verify_all(struct verifying *verifying)
{
	_cleanup_(store_segments_done) struct store_segments all = { 0 };
	struct store_reader *reader = verifying->reader;
	int r;

	/* check the index first, because the other checks may stop using it */
	r = reader->is_file ? 0 : verify_index(verifying);
	if (r < 0)
		return r;
	r = store_reader_find(reader, 0, UINT64_MAX, &all, verifying->error);
	if (r < 0)
		return r;
	for (size_t i = 0; i < all.list.count; i++)
		verifying->total_bytes += all.list.items[i].bytes;
	r = verify_files(verifying, &all);
	if (r < 0 || reader->is_file)
		return r;
	r = verify_notes(verifying, STORE_NOTES);
	return r < 0 ? r : verify_notes(verifying, STORE_REMOVED);
}

int store_reader_verify(struct store_reader *reader,
			void (*report)(void *context, const char *file, const char *what),
			void (*progress)(void *context, uint64_t bytes, uint64_t total_bytes),
			void *context, struct store_verified *ret_verified, struct error *error)
{
	struct verifying verifying = { reader, report, progress, context, .error = error };
	int r = verify_all(&verifying);

	if (r < 0)
		return error_prefix(error, r, "%s", reader->path);
	*ret_verified = verifying.result;
	return 0;
}
