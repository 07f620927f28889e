// SPDX-License-Identifier: GPL-2.0-only
/* The index made to say what is in the folder. */
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

	if (segment_dir_know(&reconciling->names, segment->name) < 0)
		return -ENOMEM;
	return array_push(&reconciling->rows.list, *segment);
}

/* Puts a segment file back into the index. One that is damaged stays out of it: readers see that it
 * is in the folder. */
static int reconcile_adopt(struct store_writer *writer, const struct store_segment *segment,
			   struct error *error)
{
	_cleanup_(buffer_done) struct buffer busy = { 0 };
	struct incident_rows incidents = { 0 };
	int r = 0;

	if (*segment->damage)
		return 0;
	if (segment->incidents)
		r = segment_dir_incidents(writer->path, segment, &incidents, error);
	/* damaged or too new behind its header: the readers will see it, as its incidents and its
	 * busy CPUs are missing in the index */
	if (!error_is_exhaustion(r) && segment->samples)
		r = segment_dir_busy(writer->path, segment, &busy, error);
	if (!error_is_exhaustion(r))
		r = index_put(writer->index, segment, &incidents, &busy, error);
	incident_rows_done(&incidents);
	return r;
}

/*
 * Marks the rows whose files are gone. What retention did not remove is written down: nobody else
 * would know of it without its row. What is sound of a damaged file is written anew.
 */
static int note_vanished(struct reconciling *reconciling, struct store_gone_list *gone)
{
	const char *path = reconciling->writer->path;
	uint64_t damaged = 0;
	int r = removed_ranges_read(path, gone, &damaged, reconciling->error);
	bool any = damaged > 0;

	for (size_t i = 0; r == 0 && i < reconciling->rows.list.count; i++) {
		struct store_segment *row = &reconciling->rows.list.items[i];
		struct store_gone one = { row->begin_ns, row->end_ns, true };

		r = segment_dir_has(&reconciling->names, row->name);
		row->vanished = r == 0;
		r = MIN(r, 0);
		if (!row->vanished || removed_ranges_has(gone, false, one.from_ns, one.to_ns))
			continue;
		r = removed_ranges_add(gone, &one);
		any = true;
	}
	return r < 0 || !any ? r : removed_ranges_write(path, gone, reconciling->error);
}

/* Where that cannot be written, the rows stay, which tell of it too. */
static int forget_gone(struct reconciling *reconciling)
{
	struct store_gone_list gone = { 0 };
	int r = note_vanished(reconciling, &gone);

	array_done(&gone.list);
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

	if (r == 0)
		r = segment_dir_unknown(writer->path, &reconciling->names, unknown, error);
	if (r == 0)
		r = forget_gone(reconciling);
	for (size_t i = 0; r == 0 && i < unknown->list.count; i++)
		r = reconcile_adopt(writer, &unknown->list.items[i], error);
	return r;
}

/* What a writer left that was killed while it replaced a file. */
static void reconcile_sweep(const struct store_writer *writer)
{
	static const char *const names[] = { "." STORE_GONE ".new", "." STORE_NOTES ".new" };
	char file[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (store_file(writer->path, names[i], file, NULL) == 0)
			unlink(file);
}

static int reconcile_once(struct store_writer *writer, struct error *error)
{
	struct reconciling reconciling = { .writer = writer, .error = error };
	int r = index_begin(writer->index, error);

	reconcile_sweep(writer);
	if (r == 0)
		r = reconcile(&reconciling);
	if (r == 0)
		r = index_commit(writer->index, error);
	else
		index_abort(writer->index);
	segment_dir_names_done(&reconciling.names);
	array_done(&reconciling.rows.list);
	array_done(&reconciling.unknown.list);
	return r;
}

static int open_index(struct store_writer *writer, bool anew, struct error *error)
{
	char file[PATH_MAX];
	int r = store_file(writer->path, STORE_INDEX, file, error);

	if (r < 0)
		return r;
	if (anew || (writer->index && !index_is_there(writer->index))) {
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
	/* one that is damaged or of an older perftape is made anew: all that is in it is in the
	 * folder too */
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
