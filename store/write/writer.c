// SPDX-License-Identifier: GPL-2.0-only
#include "store/write/writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mutation.h"
#include "store/disk/beneath.h"
#include "store/disk/files.h"
#include "store/disk/segment-dir.h"
#include "store/disk/unsaved-note.h"
#include "store/disk/notes.h"
#include "store/write/folder-rights.h"
#include "store/write/write-error.h"
#include "store/write/reseal.h"
#include "store/disk/spool-dir.h"
#include "store/disk/status-file.h"
#include "tape/clocks.h"
#include "tape/tape-events.h"

/* The tolerance for thinning anchors. The clocks of two CPUs differ by this time anyway. */
#define ANCHORS_OFF_NS 20000

/*
 * Writes the lock file: its holder, and the next number of this boot. Does not sync, because a
 * crash of the machine also ends the boot.
 */
static void note_number(const struct store_writer *writer)
{
	struct spool_dir_writer ours = {
		.pid = getpid(),
		.first = writer->first_sequence,
	};
	char text[128];
	int size;

	memcpy(ours.boot_id, writer->boot_id, sizeof(ours.boot_id));
	size = spool_dir_format_writer(&ours, atomic_load(&writer->next_sequence), text,
				       sizeof(text));
	/* if the write fails, the names of the files still show the numbers */
	(void)!pwrite(writer->lock_fd, text, size, 0);
}

struct store_writer *store_writer_close(struct store_writer *writer)
{
	if (!writer)
		return NULL;
	spool_files_close(writer);
	index_close(writer->index);
	if (writer->lock_fd >= 0) {
		if (writer_has_lock(writer)) {
			status_file_remove(writer->path);
			unsaved_note_done(writer->path);
		}
		if (atomic_load(&writer->next_sequence))
			note_number(writer);
		close(writer->lock_fd);
	}
	strings_done(&writer->imported);
	strings_done(&writer->marked);
	pthread_mutex_destroy(&writer->spool_lock);
	free(writer->path);
	free(writer);
	return NULL;
}

/* Raises the next number above `number`. */
static void number_above(struct store_writer *writer, uint64_t number)
{
	uint64_t next = atomic_load(&writer->next_sequence);

	while (next <= number &&
	       !atomic_compare_exchange_weak(&writer->next_sequence, &next, number + 1))
		;
}

/*
 * Reads the next number of the previous writer in this boot. The names of files do not show this
 * number if the writer's last tapes did not leave files.
 */
static void writer_read_number(struct store_writer *writer)
{
	_cleanup_free_ char *text = NULL;
	unsigned long long next;
	char boot_id[40];

	if (file_read_fd(writer->lock_fd, 4096, &text, NULL) == 0 &&
	    sscanf(text, "%*d %39s %llu", boot_id, &next) == 2 && next &&
	    strcmp(boot_id, writer->boot_id) == 0)
		number_above(writer, next - 1);
}

static void number_above_name(struct store_writer *writer, const char *name)
{
	uint64_t number;

	if (store_is_of_boot(name, writer->boot_id, &number))
		number_above(writer, number);
}

/* Removes the files that a killed writer left. We hold the lock, so another writer cannot run. */
static void writer_sweep(const struct store_writer *writer, const char *name)
{
	static const char suffix[] = STORE_SUFFIX ".new";
	size_t size = strlen(name);
	char file[PATH_MAX];

	if (name[0] == '.' && size > strlen(suffix) &&
	    strcmp(name + size - strlen(suffix), suffix) == 0 &&
	    store_file(writer->segments, name, file, NULL) == 0)
		unlink(file);
}

static int see_segment_name(void *context, const char *name)
{
	const struct store_writer *writer = context;

	writer_sweep(writer, name);
	store_resealer_sweep(writer->path, name);
	number_above_name(context, name);
	return 0;
}

static int writer_see_spool_name(void *context, const char *name)
{
	number_above_name(context, name);
	return 0;
}

int writer_find_numbers(struct store_writer *writer, struct error *error)
{
	int r = store_each_name(writer->path, STORE_SEGMENTS, see_segment_name, writer, error);

	if (r < 0)
		return r;
	r = store_each_name(writer->path, STORE_SPOOLS, writer_see_spool_name, writer, error);
	if (r < 0)
		return r;
	writer_read_number(writer);
	note_number(writer);
	return 0;
}

static int writer_number(struct store_writer *writer, struct error *error)
{
	int r = writer_find_numbers(writer, error);

	writer->first_sequence = atomic_load(&writer->next_sequence);
	if (r < 0)
		return r;
	note_number(writer);
	return 0;
}

static int read_boot_id(char text[40], struct error *error)
{
	_cleanup_free_ char *data = NULL;
	int r = file_read("/proc/sys/kernel/random/boot_id", 64, &data, NULL);

	if (r < 0)
		return error_set(error, r, "/proc/sys/kernel/random/boot_id: %s", strerror(-r));
	snprintf(text, 40, "%.*s", (int)strcspn(data, "\n"), data);
	return 0;
}

static int see_import(void *context, const struct note *note)
{
	const char *id = note_field(note, "id");
	uint32_t number;

	return note->kind == NOTES_IMPORT && strings_add(context, id, strlen(id), &number) < 0
		       ? -ENOMEM
		       : 0;
}

static int writer_name_folders(struct store_writer *writer, struct error *error)
{
	int r = store_file(writer->path, STORE_SEGMENTS, writer->segments, error);

	if (r < 0)
		return r;
	r = store_file(writer->path, STORE_NAMES, writer->names, error);
	return r < 0 ? r : store_file(writer->path, STORE_SPOOLS, writer->spools, error);
}

/*
 * Creates a folder that only its owner and group can read: stacks show kernel addresses and the
 * programs of all users.
 */
static int make_folder(const struct store_writer *writer, const char *folder, const char *name,
		       struct error *error)
{
	int r = file_make_dirs(folder, STORE_FOLDER_MODE);
	_cleanup_close_ int fd = -1;

	if (r == -ENOTDIR && store_check_file(writer->path, error) < 0)
		return r;
	if (r < 0)
		return write_error_set(error, r, writer->path, "make", name);
	fd = beneath_open(writer->path, name, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return write_error_set(error, fd, writer->path, "write into", name);
	return faccessat(fd, ".", R_OK | W_OK | X_OK, AT_EACCESS) < 0
		       ? write_error_set(error, -errno, writer->path, "write into", name)
		       : 0;
}

int writer_make_folders(struct store_writer *writer, struct error *error)
{
	int r = make_folder(writer, writer->segments, STORE_SEGMENTS, error);

	if (r < 0)
		return r;
	r = make_folder(writer, writer->spools, STORE_SPOOLS, error);
	if (r < 0)
		return r;
	r = file_sync_dir(writer->path);
	return r < 0 ? write_error_set(error, r, writer->path, "sync", "folder") : 0;
}

/* Reconciles the index. An index that we cannot open now counts as behind. */
static int writer_start_index(struct store_writer *writer, struct error *error)
{
	int r = writer_reconcile(writer, error);

	writer->behind = r < 0;
	if (r == -EPROTONOSUPPORT)
		return error_prefix(error, r, "%s", writer->path);
	return r == -ENOMEM ? r : 0;
}

static struct store_writer *writer_new(const char *path)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	writer->lock_fd = -1;
	pthread_mutex_init(&writer->spool_lock, NULL);
	writer->path = strdup(path);
	return writer->path ? take_ptr(writer) : NULL;
}

int store_writer_open_dry(const char *path, struct store_writer **ret_writer, struct error *error)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = writer_new(path);
	_cleanup_close_ int segments = -1;
	char file[PATH_MAX];
	int r;

	if (!writer)
		return -ENOMEM;
	writer->dry = true;
	r = writer_name_folders(writer, error);
	if (r < 0)
		return r;
	r = store_file(path, STORE_INDEX, file, error);
	if (r < 0)
		return r;
	segments = beneath_open(path, STORE_SEGMENTS, O_RDONLY | O_DIRECTORY, 0);
	if (segments < 0)
		return beneath_error(error, segments, writer->segments);
	/* without a sound index, the folder is enough */
	r = index_open(file, false, &writer->index, error);
	if (r == -EPROTONOSUPPORT)
		return error_prefix(error, r, "%s", path);
	if (r == -ENOMEM)
		return r;
	*ret_writer = take_ptr(writer);
	return 0;
}

/* Prepares the folders and takes the lock. Returns 1 if the notes are shorter now. */
static int writer_prepare(struct store_writer *writer, const char *path, struct error *error)
{
	int r = store_check_folder(path, error);

	if (r < 0)
		return r;
	r = folder_rights_check(path, error);
	if (r < 0)
		return r;
	r = writer_name_folders(writer, error);
	if (r < 0)
		return r;
	r = writer_make_folders(writer, error);
	if (r < 0)
		return r;
	writer->tightened = folder_rights_tighten(path) == 1;
	r = writer_lock(writer, error);
	if (r < 0)
		return r;
	r = read_boot_id(writer->boot_id, error);
	if (r < 0)
		return r;
	r = writer_number(writer, error);
	return r < 0 ? r : notes_shorten(path, error);
}

int store_writer_open(const char *path, struct store_writer **ret_writer, struct error *error)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = writer_new(path);
	uint64_t damaged;
	int r;

	if (!writer)
		return -ENOMEM;
	r = writer_prepare(writer, path, error);
	if (r < 0)
		return r;
	writer->shortened = r == 1;
	r = notes_read(path, see_import, &writer->imported, &damaged, error);
	if (r < 0)
		return r;
	r = writer_start_index(writer, error);
	if (r < 0)
		return r;
	unsaved_note_prepare(path);
	*ret_writer = take_ptr(writer);
	return 0;
}

int store_writer_set_status(struct store_writer *writer, const char *text, struct error *error)
{
	int r = writer_check(writer, error);

	return r < 0 ? r : status_file_write(writer->path, text, error);
}

int store_writer_note_unsaved(struct store_writer *writer, struct store_unsaved *unsaved)
{
	struct store_unsaved before;

	if (!writer_has_lock(writer))
		return -EBUSY;
	memcpy(unsaved->boot_id, writer->boot_id, sizeof(unsaved->boot_id));
	unsaved->first = writer->first_sequence;
	/*
	 * no writer may have recovered the tapes of the previous note yet, so this note includes
	 * them
	 */
	if (unsaved_note_read(writer->path, &before) == 1 &&
	    strcmp(before.boot_id, unsaved->boot_id) == 0)
		unsaved->first = MIN(unsaved->first, before.first);
	return unsaved_note_write(writer->path, unsaved);
}

int store_writer_unsaved(const struct store_writer *writer, struct store_unsaved *ret_unsaved)
{
	return unsaved_note_read(writer->path, ret_unsaved);
}

void store_writer_clear_unsaved(struct store_writer *writer)
{
	if (writer_has_lock(writer))
		unsaved_note_clear(writer->path);
}

uint64_t store_writer_number(struct store_writer *writer)
{
	return atomic_fetch_add(&writer->next_sequence, 1);
}

const char *store_writer_names(const struct store_writer *writer)
{
	return writer->names;
}

static const char *boot_of(const struct store_writer *writer, const struct tape *tape)
{
	const char *boot_id = tape_fact(tape, "boot_id");

	return *boot_id ? boot_id : writer->boot_id;
}

static int writer_put_row(struct store_writer *writer, const struct store_segment *segment,
			  const struct tape *tape, const struct buffer *bytes, struct error *error)
{
	_cleanup_(index_bytes_done) struct index_bytes rows = { 0 };
	struct segment_input input = segment_input_memory(bytes->data, bytes->size);
	_cleanup_(incident_rows_done) struct incident_rows incidents = { 0 };
	int r = incident_rows_add_tape(&incidents, tape, segment->name);

	if (r < 0)
		return r;
	r = segment_dir_input_bytes(&input, &rows, error);
	if (r < 0)
		return r;
	if (writer_is_behind(writer))
		r = writer_reconcile(writer, error);
	return r != 0 ? r : index_put(writer->index, segment, &incidents, &rows, error);
}

/* Adds the segment to the index, together with segments whose addition failed before. */
static int writer_put_into_index(struct store_writer *writer, const struct store_segment *segment,
				 const struct tape *tape, const struct buffer *bytes,
				 struct error *error)
{
	int r = writer_put_row(writer, segment, tape, bytes, error);

	if (r == -EBADMSG)
		r = store_writer_rebuild(writer, error);
	writer->behind = r < 0;
	return r < 0 ? (error_prefix(error, r, "%s", writer->path), 1) : 0;
}

static int writer_encode_tape(struct tape *tape, enum segment_effort effort, struct buffer *bytes)
{
	int r = tape_sort_samples(tape);

	if (r < 0)
		return r;
	r = tape_sort_events(tape);
	if (r < 0)
		return r;
	tape_span_samples(tape);
	tape_join_losses(tape);
	clocks_thin(tape, ANCHORS_OFF_NS);
	return segment_encode(tape, effort, STORE_SEGMENT_MAX, bytes);
}

static int writer_encode(struct tape *tape, enum segment_effort effort, struct buffer *bytes,
			 struct error *error)
{
	int r = writer_encode_tape(tape, effort, bytes);

	if (r == -EFBIG)
		return error_set(
			error, r,
			"a segment of %zu samples would exceed %u MB; give a shorter --segment",
			tape->samples.count, STORE_SEGMENT_MAX >> 20);
	return r < 0 ? error_set(error, r, "out of memory while sealing a segment") : 0;
}

/*
 * Returns whether the segment still does not fit. A caller that waits for disk space retries often,
 * and encoding the segment each time would cost a considerable part of a CPU.
 */
static bool is_unfit(const struct store_writer *writer, const char *name)
{
	struct statvfs about;
	uint64_t blocks;

	if (!writer->unfit_bytes || strcmp(writer->unfit, name) != 0 ||
	    statvfs(writer->segments, &about) < 0)
		return false;
	/* only root can use the reserved space */
	blocks = geteuid() == 0 ? about.f_bfree : about.f_bavail;
	return blocks * about.f_frsize < writer->unfit_bytes;
}

static int write_segment(struct store_writer *writer, const char *name, const struct buffer *bytes,
			 struct error *error)
{
	int r = file_replace(writer->segments, name, bytes->data, bytes->size);

	if (r == -ENOSPC && mutated("drop-unsealed"))
		r = -EFBIG;
	writer->unfit_bytes = r == -ENOSPC ? bytes->size : 0;
	memcpy(writer->unfit, name, sizeof(writer->unfit));
	return r < 0 ? error_set(error, r, "%s/%s: %s", writer->segments, name, strerror(-r)) : 0;
}

/*
 * Checks that the store is ours, and names the segment. If somebody replaced the store after the
 * tape began, the tape gets a new number.
 */
static int writer_prepare_seal(struct store_writer *writer, struct tape *tape, const char *boot_id,
			       char name[64], struct error *error)
{
	int r;

	pthread_mutex_lock(&writer->spool_lock);
	r = writer_ensure_lock(writer, error);
	if (r == 0 && strcmp(boot_id, writer->boot_id) == 0 &&
	    tape->sequence >= writer->first_sequence && tape->sequence < writer->renumber_below)
		tape->sequence = store_writer_number(writer);
	pthread_mutex_unlock(&writer->spool_lock);
	return r < 0 ? r : store_name(boot_id, tape->sequence, STORE_SUFFIX, name);
}

/* Opens the index of the replaced store. The segment is safe, whatever happens to the index. */
static int writer_reopen_index(struct store_writer *writer, struct error *error)
{
	writer->index = index_close(writer->index);
	writer->behind = true;
	writer->replacements++;
	writer_start_index(writer, NULL);
	error_set(error, 0,
		  "%s: the store was removed or replaced; recording goes on in the new one",
		  writer->path);
	return 1;
}

bool store_writer_shortened(const struct store_writer *writer)
{
	return writer->shortened;
}

bool store_writer_tightened(const struct store_writer *writer)
{
	return writer->tightened;
}

uint64_t store_writer_replacements(const struct store_writer *writer)
{
	return writer->replacements;
}

int store_writer_seal(struct store_writer *writer, struct tape *tape, enum segment_effort effort,
		      uint64_t *ret_bytes, struct error *error)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	const char *boot_id = boot_of(writer, tape);
	struct segment_summary summary;
	struct store_segment segment;
	char name[64];
	int r;

	if (store_name(boot_id, tape->sequence, STORE_SUFFIX, name) < 0)
		return error_set(error, -EINVAL, "boot id \"%s\" cannot be part of a file name",
				 boot_id);
	if (!tape->anchors.count)
		return error_set(
			error, -EINVAL,
			"a tape of %zu samples lacks a clock anchor, so its time is unknown",
			tape->samples.count);
	r = writer_prepare_seal(writer, tape, boot_id, name, error);
	if (r < 0)
		return r;
	if (is_unfit(writer, name))
		return error_set(error, -ENOSPC, "%s/%s: %s", writer->segments, name,
				 strerror(ENOSPC));
	r = writer_encode(tape, effort, &bytes, error);
	if (r < 0)
		return r;
	r = write_segment(writer, name, &bytes, error);
	if (r < 0)
		return r;
	if (ret_bytes)
		*ret_bytes = bytes.size;
	memcpy(writer->sealed_last, name, sizeof(name));
	pthread_mutex_lock(&writer->spool_lock);
	note_number(writer);
	pthread_mutex_unlock(&writer->spool_lock);
	segment_summarize(tape, &summary);
	store_describe(&summary, name, bytes.size, &segment);
	r = atomic_exchange(&writer->replaced, false) ? writer_reopen_index(writer, error) : 0;
	r = MAX(r, writer_put_into_index(writer, &segment, tape, &bytes, error));
	spool_files_remove(writer, boot_id, tape->sequence);
	return r;
}

int store_writer_imported(struct store_writer *writer, const char *id)
{
	for (uint32_t i = 1; i < strings_count(&writer->imported); i++)
		if (strcmp(strings_at(&writer->imported, i), id) == 0)
			return 1;
	return 0;
}

int store_writer_note_import(struct store_writer *writer, const char *id, const char *line,
			     struct error *error)
{
	const struct notes_field fields[] = { { "id", id }, { "line", line } };
	struct note note = {
		.kind = NOTES_IMPORT,
		.realtime_ns = clock_ns(CLOCK_REALTIME),
		.fields = fields,
		.field_count = ARRAY_SIZE(fields),
	};
	int r = notes_append(writer->path, &note, error);

	return r < 0 ? r : see_import(&writer->imported, &note);
}

int store_writer_note_limits(struct store_writer *writer, const struct store_limits *limits,
			     struct error *error)
{
	struct store_limits last = { 0 };
	int r = writer_check(writer, error);

	if (r < 0)
		return r;
	r = store_limits_read(writer->path, &last, error);
	/* a recorder that restarts in a loop must not fill the notes */
	if (r == 1 && last.max_age_ns == limits->max_age_ns &&
	    last.max_bytes == limits->max_bytes &&
	    last.keep_free_bytes == limits->keep_free_bytes && last.pin_ns == limits->pin_ns)
		return 0;
	return r < 0 ? r : store_limits_append(writer->path, limits, error);
}
