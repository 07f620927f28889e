// SPDX-License-Identifier: GPL-2.0-only
/* Recovers the spools of earlier writers. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mutation.h"
#include "store/disk/files.h"
#include "store/disk/segment-dir.h"
#include "store/disk/spool-dir.h"
#include "store/write/writer.h"

struct leftover {
	char name[64];
	struct timespec changed;
};

struct leftovers {
	struct store_writer *writer;
	array_of(struct leftover) list;
};

/* Returns whether the spool may belong to this writer. */
static bool recovery_is_ours(const struct store_writer *writer, const char *name)
{
	uint64_t number;

	return store_is_of_boot(name, writer->boot_id, &number) && number >= writer->first_sequence;
}

/* Writes the name of a tape's spool or mark with another suffix. */
static int recovery_path(const struct store_writer *writer, const char *name, const char *suffix,
			 char path[PATH_MAX])
{
	struct store_identity identity;
	char other[80];

	if (!store_identify(name, &identity))
		return -EINVAL;
	snprintf(other, sizeof(other), "%.*s%s", (int)identity.size, name, suffix);
	return store_file(writer->spools, other, path, NULL);
}

/* Removes a mark whose spool is gone: its writer was killed between the two removals. */
static void remove_lone_mark(const struct store_writer *writer, const char *name)
{
	char spool[PATH_MAX], mark[PATH_MAX];

	if (recovery_path(writer, name, STORE_SPOOL_SUFFIX, spool) == 0 &&
	    recovery_path(writer, name, STORE_NAMING_SUFFIX, mark) == 0 && !file_exists(spool))
		unlink(mark);
}

static int see_leftover(void *context, const char *name)
{
	struct leftovers *leftovers = context;
	struct leftover leftover;
	char path[PATH_MAX];
	struct stat about;

	if (store_name_ends(name, STORE_NAMING_SUFFIX))
		remove_lone_mark(leftovers->writer, name);
	if (!spool_dir_is_spool(name) || recovery_is_ours(leftovers->writer, name) ||
	    store_file(leftovers->writer->spools, name, path, NULL) < 0 || lstat(path, &about) < 0)
		return 0;
	snprintf(leftover.name, sizeof(leftover.name), "%.63s", name);
	leftover.changed = about.st_mtim;
	return array_push(&leftovers->list, leftover);
}

static int compare_leftovers(const void *a, const void *b)
{
	const struct leftover *left = a, *right = b;

	if (left->changed.tv_sec != right->changed.tv_sec)
		return left->changed.tv_sec < right->changed.tv_sec ? -1 : 1;
	if (left->changed.tv_nsec != right->changed.tv_nsec)
		return left->changed.tv_nsec < right->changed.tv_nsec ? -1 : 1;
	return strcmp(left->name, right->name);
}

/*
 * Returns whether the segment of a spool exists already, because its writer was killed before
 * removing the spool. A segment of a newer version counts, because such a segment has more than we
 * could write.
 */
static bool is_sealed(const struct store_writer *writer, const char *name)
{
	static const struct segment_want everything = { 0, UINT64_MAX, SEGMENT_ALL, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct store_segment segment = { 0 };
	struct store_identity identity;
	int r;

	if (!store_identify(name, &identity))
		return false;
	snprintf(segment.name, sizeof(segment.name), "%.*s" STORE_SUFFIX, (int)identity.size, name);
	r = segment_dir_load(writer->path, &segment, &everything, &tape, NULL);
	return r == 0 || r == -EPROTONOSUPPORT;
}

static int recovery_set_aside(const struct store_writer *writer, const char *name,
			      struct error *error)
{
	char from[PATH_MAX], to[PATH_MAX], aside[80];
	int r;

	snprintf(aside, sizeof(aside), "%s.damaged", name);
	r = store_file(writer->spools, name, from, error);
	if (r < 0)
		return r;
	r = store_file(writer->spools, aside, to, error);
	if (r < 0)
		return r;
	return rename(from, to) < 0 ? error_set(error, -errno, "%s: %s", from, strerror(errno)) : 0;
}

static void recovery_count(struct store_recovered *recovered, const struct tape *tape)
{
	struct segment_summary summary;

	segment_summarize(tape, &summary);
	recovered->tapes++;
	recovered->samples += summary.samples;
	recovered->begin_ns =
		recovered->begin_ns ? MIN(recovered->begin_ns, summary.begin_ns) : summary.begin_ns;
	recovered->end_ns = MAX(recovered->end_ns, summary.end_ns);
}

void store_recovered_add(struct store_recovered *sum, const struct store_recovered *more)
{
	if (more->tapes) {
		sum->begin_ns = sum->tapes ? MIN(sum->begin_ns, more->begin_ns) : more->begin_ns;
		sum->end_ns = MAX(sum->end_ns, more->end_ns);
	}
	sum->tapes += more->tapes;
	sum->samples += more->samples;
	sum->damaged += more->damaged;
	sum->unread = more->unread;
}

struct recovery {
	struct store_writer *writer;
	int (*seal)(void *context, struct store_writer *writer, struct tape *tape);
	void *context;
	struct store_recovered result;
	/* The first error for which a spool stays. */
	int unread;
	struct error *error;
};

static void remove_spool(const struct store_writer *writer, const char *name)
{
	char path[PATH_MAX];

	if (store_file(writer->spools, name, path, NULL) == 0)
		unlink(path);
	if (recovery_path(writer, name, STORE_NAMING_SUFFIX, path) == 0)
		unlink(path);
}

/* Keeps a spool that is unreadable now, and lets the recovery of the others go on. */
static int recovery_keep(struct recovery *recovery, int r, const struct error *why)
{
	if (r == -EPROTONOSUPPORT)
		/* a newer perftape wrote the spool and will read it */
		return 0;
	if (r == -ENOMEM)
		return r;
	if (!recovery->unread)
		recovery->unread = error_set(recovery->error, r, "%s", why->text);
	recovery->result.unread++;
	return 0;
}

/*
 * Returns whether the spool has the name that belongs to its content. A copy under another name
 * would replace a complete segment.
 */
static bool is_its_name(const char *name, const struct tape *tape)
{
	const char *boot_id = tape_fact(tape, "boot_id");
	char boot[64], expected[64];
	struct store_identity identity;

	if (!store_identify(name, &identity))
		return false;
	snprintf(boot, sizeof(boot), "%.*s", (int)identity.boot_size, name);
	return (!*boot_id || strcmp(boot_id, boot) == 0) &&
	       store_name(boot, tape->sequence, STORE_SPOOL_SUFFIX, expected) == 0 &&
	       strcmp(name, expected) == 0;
}

static int recover_one(struct recovery *recovery, const char *name)
{
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct spool_end end = { 0 };
	struct error why = { 0 };
	int r;

	if (is_sealed(recovery->writer, name)) {
		remove_spool(recovery->writer, name);
		return 0;
	}
	r = spool_dir_load(recovery->writer->path, name, NULL, &tape, &end, &why);
	if (r == 0 && !is_its_name(name, tape))
		r = -EBADMSG;
	if (r == -EBADMSG && recovery_set_aside(recovery->writer, name, &why) == 0) {
		recovery->result.damaged++;
		return 0;
	}
	if (r < 0)
		return recovery_keep(recovery, r, &why);
	if (mutated("forget-spool-block"))
		tape->samples.count -= tape->samples.count / 4;
	r = recovery->seal(recovery->context, recovery->writer, tape);
	if (r < 0)
		return r;
	/*
	 * a torn spool is damage only if the recorder was killed; after a lack of space, the
	 * unsaved note already explains the torn end
	 */
	recovery->result.damaged += (end.torn || end.damaged) &&
				    strcmp(tape_fact(tape, TAPE_ENDED), TAPE_ENDED_KILLED) == 0;
	recovery_count(&recovery->result, tape);
	remove_spool(recovery->writer, name);
	return 0;
}

/* Returns whether the spool is empty, so that recovery can skip it. */
static bool is_empty(const struct store_writer *writer, const char *name)
{
	char path[PATH_MAX];
	struct stat about;

	return store_file(writer->spools, name, path, NULL) == 0 && lstat(path, &about) == 0 &&
	       S_ISREG(about.st_mode) && !about.st_size;
}

int store_writer_recover(struct store_writer *writer,
			 int (*seal)(void *context, struct store_writer *writer, struct tape *tape),
			 void *context, struct store_recovered *ret_recovered, struct error *error)
{
	struct recovery recovery = { writer, seal, context, .error = error };
	struct leftovers leftovers = { .writer = writer };
	int r = store_each_name(writer->path, STORE_SPOOLS, see_leftover, &leftovers, error);

	if (leftovers.list.count)
		qsort(leftovers.list.items, leftovers.list.count, sizeof(*leftovers.list.items),
		      compare_leftovers);
	for (size_t i = 0; r == 0 && i < leftovers.list.count; i++) {
		const char *name = leftovers.list.items[i].name;

		if (is_empty(writer, name))
			remove_spool(writer, name);
		else
			r = recover_one(&recovery, name);
	}
	array_done(&leftovers.list);
	*ret_recovered = recovery.result;
	r = r ? r : recovery.unread;
	return r < 0 ? error_prefix(error, r, "%s", writer->path) : 0;
}
