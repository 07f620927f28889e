// SPDX-License-Identifier: GPL-2.0-only
/* The index made to say what is in the folder. */
#include <unistd.h>

#include "store/files.h"
#include "store/folder.h"
#include "store/writer.h"

struct reconciling {
	struct store_writer *writer;
	struct strings present; /* the names in the folder */
	array_of(bool) indexed; /* by their numbers */
	struct store_segments gone;
	struct error *error;
};

static int see_name(void *context, const char *name)
{
	struct reconciling *reconciling = context;
	uint32_t id;

	return folder_is_segment(name) &&
			       strings_add(&reconciling->present, name, strlen(name), &id) < 0
		       ? -ENOMEM
		       : 0;
}

static int see_row(void *context, const struct store_segment *segment)
{
	struct reconciling *reconciling = context;
	uint32_t id;

	if (strings_add(&reconciling->present, segment->name, strlen(segment->name), &id) < 0)
		return -ENOMEM;
	if (id >= reconciling->indexed.count)
		return array_push(&reconciling->gone.list, *segment);
	reconciling->indexed.items[id] = true;
	return 0;
}

/* Puts a segment file back into the index. One that is damaged stays out of it: readers see that it is in the folder. */
static int adopt(struct store_writer *writer, const char *name, struct error *error)
{
	struct incidents incidents = { 0 };
	struct store_segment segment;
	int r = folder_describe(writer->path, name, &segment, error);

	if (r < 0 || *segment.damage)
		return r == -ENOENT ? 0 : r;
	if (segment.incidents)
		r = folder_incidents(writer->path, &segment, &incidents, error);
	/* damaged or too new behind its header: the readers will see it, as its incidents are missing in the index */
	if (r != -ENOMEM && r != -EMFILE && r != -ENFILE)
		r = index_put(writer->index, &segment, &incidents, error);
	incidents_done(&incidents);
	return r;
}

static int reconcile(struct reconciling *reconciling)
{
	struct store_writer *writer = reconciling->writer;
	struct error *error = reconciling->error;
	uint32_t present;
	int r = store_each_name(writer->path, STORE_SEGMENTS, see_name, reconciling, error);

	present = strings_count(&reconciling->present);
	if (r == 0)
		r = array_reserve(&reconciling->indexed, present);
	if (r < 0)
		return r;
	reconciling->indexed.count = present;
	memset(reconciling->indexed.items, 0, present * sizeof(bool));
	r = index_segments(writer->index, see_row, reconciling, error);
	for (size_t i = 0; r == 0 && i < reconciling->gone.list.count; i++)
		r = index_remove(writer->index, reconciling->gone.list.items[i].name, error);
	for (uint32_t i = 1; r == 0 && i < present; i++)
		if (!reconciling->indexed.items[i])
			r = adopt(writer, strings_at(&reconciling->present, i), error);
	return r;
}

static int reconcile_once(struct store_writer *writer, struct error *error)
{
	struct reconciling reconciling = { .writer = writer, .error = error };
	int r = index_begin(writer->index, error);

	if (r == 0)
		r = reconcile(&reconciling);
	if (r == 0)
		r = index_commit(writer->index, error);
	else
		index_abort(writer->index);
	strings_done(&reconciling.present);
	array_done(&reconciling.indexed);
	array_done(&reconciling.gone.list);
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
	/* one that is damaged or of an older perftape is made anew: all that is in it is in the folder too */
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
