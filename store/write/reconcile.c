// SPDX-License-Identifier: GPL-2.0-only
/* Makes the index agree with the folder. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "store/disk/files.h"
#include "store/disk/segment-dir.h"
#include "store/disk/removed-ranges.h"
#include "store/write/writer.h"

struct reconciling {
	struct store_writer *writer;
	struct segment_dir_names names;
	struct store_segments rows, unknown;
	struct error *error;
};

static int reconcile_see_row(void *context, const struct store_segment *segment)
{
	struct reconciling *reconciling = context;

	if (segment_dir_names_add(&reconciling->names, segment->name) < 0)
		return -ENOMEM;
	return array_push(&reconciling->rows.list, *segment);
}

/*
 * Adds a segment file to the index. Leaves out a damaged segment, which readers find in the folder.
 */
static int reconcile_adopt(struct store_writer *writer, const struct store_segment *segment,
			   struct error *error)
{
	_cleanup_(index_bytes_done) struct index_bytes rows = { 0 };
	struct incident_rows incidents = { 0 };
	int r = 0;

	if (*segment->damage)
		return 0;
	if (segment->incidents)
		r = segment_dir_incidents(writer->path, segment, &incidents, error);
	/*
	 * The segment may be damaged or too new behind its header. Readers notice, because the
	 * index lacks its incidents, busy CPUs and outline.
	 */
	if (!error_is_exhaustion(r) && segment->samples)
		r = segment_dir_bytes(writer->path, segment, &rows, error);
	if (!error_is_exhaustion(r))
		r = index_put(writer->index, segment, &incidents, &rows, error);
	incident_rows_done(&incidents);
	return r;
}

/*
 * Notes the segments that vanished, because only their rows still show them. If the file of removed
 * ranges is damaged, rewrites its sound records.
 */
static int note_vanished(struct reconciling *reconciling, struct store_removed_ranges *ranges)
{
	const char *path = reconciling->writer->path;
	uint64_t damaged = 0;
	int r = removed_ranges_read(path, ranges, &damaged, reconciling->error);
	bool any = damaged > 0;

	for (size_t i = 0; r == 0 && i < reconciling->rows.list.count; i++) {
		struct store_segment *row = &reconciling->rows.list.items[i];
		struct store_removed_range one = { row->begin_ns, row->end_ns, true };

		r = segment_dir_names_has(&reconciling->names, row->name);
		row->vanished = r == 0;
		r = MIN(r, 0);
		if (!row->vanished || removed_ranges_has(ranges, false, one.from_ns, one.to_ns))
			continue;
		r = removed_ranges_add(ranges, &one);
		any = true;
	}
	return r < 0 || !any ? r : removed_ranges_write(path, ranges, reconciling->error);
}

/*
 * Removes the rows of segments that are gone. If noting these segments fails, keeps their rows,
 * because the rows show the same.
 */
static int forget_vanished(struct reconciling *reconciling)
{
	_cleanup_(store_removed_ranges_done) struct store_removed_ranges ranges = { 0 };
	int r = note_vanished(reconciling, &ranges);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (size_t i = 0; r == 0 && i < reconciling->rows.list.count; i++)
		if (reconciling->rows.list.items[i].vanished)
			r = index_remove(reconciling->writer->index,
					 reconciling->rows.list.items[i].name, reconciling->error);
	return r;
}

static int reconcile(struct reconciling *reconciling)
{
	struct store_writer *writer = reconciling->writer;
	struct store_segments *unknown = &reconciling->unknown;
	struct error *error = reconciling->error;
	int r = index_segments(writer->index, reconcile_see_row, reconciling, error);

	if (r < 0)
		return r;
	r = segment_dir_find_unknown(writer->path, &reconciling->names, unknown, error);
	if (r < 0)
		return r;
	r = forget_vanished(reconciling);
	for (size_t i = 0; r == 0 && i < unknown->list.count; i++)
		r = reconcile_adopt(writer, &unknown->list.items[i], error);
	return r;
}

/* Removes the temporary files of a writer that was killed while it replaced a file. */
static void reconcile_sweep(const struct store_writer *writer)
{
	static const char *const names[] = { "." STORE_REMOVED ".new", "." STORE_NOTES ".new" };
	char file[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (store_file(writer->path, names[i], file, NULL) == 0)
			unlink(file);
}

static void reconciling_done(struct reconciling *reconciling)
{
	segment_dir_names_done(&reconciling->names);
	array_done(&reconciling->rows.list);
	array_done(&reconciling->unknown.list);
}

static int reconcile_once(struct store_writer *writer, struct error *error)
{
	_cleanup_(reconciling_done) struct reconciling reconciling = { .writer = writer,
								       .error = error };
	int r = index_begin(writer->index, error);

	reconcile_sweep(writer);
	if (r == 0)
		r = reconcile(&reconciling);
	if (r < 0) {
		index_abort(writer->index);
		return r;
	}
	return index_commit(writer->index, error);
}

/*
 * Returns whether another user, such as root, made the index. The folder is ours, so we can make
 * the index anew.
 */
static bool reconcile_is_refused(const char *file)
{
	return faccessat(AT_FDCWD, file, R_OK | W_OK, AT_EACCESS) < 0 && errno == EACCES;
}

static int open_index(struct store_writer *writer, bool rebuild, struct error *error)
{
	char file[PATH_MAX];
	int r = store_file(writer->path, STORE_INDEX, file, error);

	if (r < 0)
		return r;
	if (rebuild || (writer->index && !index_is_there(writer->index)) ||
	    (!writer->index && reconcile_is_refused(file))) {
		writer->index = index_close(writer->index);
		index_discard(file);
	}
	return writer->index ? 0 : index_open(file, true, &writer->index, error);
}

bool writer_is_behind(const struct store_writer *writer)
{
	return writer->behind || !writer->index || !index_is_there(writer->index);
}

int writer_reconcile(struct store_writer *writer, struct error *error)
{
	int r = open_index(writer, false, error);

	if (r == 0)
		r = reconcile_once(writer, error);
	/* rebuild a damaged or old index from the folder, which has everything */
	return r == -EBADMSG || r == -ESTALE ? store_writer_rebuild(writer, error) : r;
}

int store_writer_rebuild(struct store_writer *writer, struct error *error)
{
	int r = open_index(writer, true, error);

	if (r == 0)
		r = reconcile_once(writer, error);
	writer->behind = r < 0;
	return r;
}

void writer_forget_rows(struct store_writer *writer, const struct store_segments *segments)
{
	int r = writer->index ? index_begin(writer->index, NULL) : -ENOENT;

	for (size_t i = 0; r == 0 && i < segments->list.count; i++)
		r = index_remove(writer->index, segments->list.items[i].name, NULL);
	if (r == 0)
		r = index_commit(writer->index, NULL);
	else if (writer->index)
		index_abort(writer->index);
	if (r < 0)
		writer->behind = true;
}
