// SPDX-License-Identifier: GPL-2.0-only
#include "store/disk/spool-dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "store/disk/beneath.h"
#include "base/clock.h"
#include "base/file.h"
#include "store/disk/files.h"
#include "store/disk/status-file.h"
#include "store/disk/unsaved-note.h"
#include "tape/clocks.h"

/*
 * Readers skip spools whose last write is further than this outside the window. A spool holds at
 * most an hour, but somebody may have set the wall clock meanwhile.
 */
#define REACH_NS (24 * 3600 * NSEC_PER_SEC)
/*
 * A spool gets a block about every second, and the recorder writes each block within a second or
 * two. The modification time of a copied file is less reliable.
 */
#define BLOCK_NS NSEC_PER_SEC
/* A recorder writes its status each second. */
#define STATUS_FRESH_NS (5 * NSEC_PER_SEC)
#define WRITTEN_MAX_NS (10 * NSEC_PER_SEC)

bool spool_dir_is_spool(const char *name)
{
	return store_name_ends(name, STORE_SPOOL_SUFFIX);
}

static bool spool_dir_is_ours(const char *name)
{
	return spool_dir_is_spool(name) || store_name_ends(name, STORE_DAMAGED_SUFFIX);
}

/*
 * A reader of the store's group may not open the lock. A fresh status shows that a writer exists,
 * because a recorder writes the status each second.
 */
static void spool_dir_guess_writer(const char *path, struct spool_dir_writer *ret_writer)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	_cleanup_free_ char *boot_id = NULL;
	uint64_t time_ns;
	int pid;

	if (status_file_read(path, &text, &pid, &time_ns) != 1 ||
	    time_ns + STATUS_FRESH_NS < clock_ns(CLOCK_REALTIME) ||
	    file_read("/proc/sys/kernel/random/boot_id", 64, &boot_id, NULL) < 0)
		return;
	ret_writer->there = true;
	ret_writer->pid = pid;
	snprintf(ret_writer->boot_id, sizeof(ret_writer->boot_id), "%.*s",
		 (int)strcspn(boot_id, "\n"), boot_id);
}

void spool_dir_find_writer(const char *path, struct spool_dir_writer *ret_writer)
{
	/*
	 * ask for a read lock, because it conflicts with the lock of a writer, but not with those
	 * of readers
	 */
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	_cleanup_close_ int fd = -1;
	char text[128];
	unsigned long long first = 0;
	ssize_t size;

	*ret_writer = (struct spool_dir_writer){ 0 };
	fd = beneath_open(path, STORE_LOCK, O_RDONLY | O_NONBLOCK, 0);
	if (fd == -EACCES)
		spool_dir_guess_writer(path, ret_writer);
	if (fd < 0 || fcntl(fd, F_OFD_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
		return;
	size = pread(fd, text, sizeof(text) - 1, 0);
	text[MAX(size, 0)] = 0;
	ret_writer->there = true;
	(void)!sscanf(text, "%d %39s %*u %llu", &ret_writer->pid, ret_writer->boot_id, &first);
	ret_writer->first = first;
}

int spool_dir_format_writer(const struct spool_dir_writer *writer, uint64_t next, char *text,
			    size_t size)
{
	return snprintf(text, size, "%-10d\n%-39s %-20llu %-20llu\n", writer->pid, writer->boot_id,
			(unsigned long long)next, (unsigned long long)writer->first);
}

/* Returns whether the writer fills this spool at present. */
static bool is_live(const struct spool_dir_writer *writer, const char *name)
{
	uint64_t number;

	return writer && writer->there && store_is_of_boot(name, writer->boot_id, &number) &&
	       number >= writer->first;
}

static uint64_t changed_ns(const struct stat *about)
{
	return about->st_mtim.tv_sec * NSEC_PER_SEC + about->st_mtim.tv_nsec;
}

/*
 * Estimates the end of a recording whose last bytes lack a header. The last write of the file is
 * that end, unless the file is a copy. The number of bytes without a header limits the estimate.
 */
static uint64_t find_end(const struct tape *tape, const struct spool_end *end,
			 const struct stat *about)
{
	double share = (double)(about->st_size - end->timed_bytes) / (double)end->timed_bytes;
	uint64_t likely_ns = (tape->end_ns - tape->begin_ns) * MIN(share, 1.0);
	struct clocks_moment moments[CLOCKS_MOMENTS_MAX];
	size_t count = clocks_to_perf(tape, CLOCKS_REALTIME, changed_ns(about), moments);
	uint64_t until_ns = tape->end_ns + MAX(likely_ns, BLOCK_NS);

	if (count && moments[count - 1].perf_ns > tape->end_ns &&
	    moments[count - 1].perf_ns < tape->end_ns + 2 * likely_ns + WRITTEN_MAX_NS)
		until_ns = moments[count - 1].perf_ns;
	return until_ns - until_ns % TAPE_TIME_UNIT_NS;
}

/*
 * Adds a loss for the bytes behind the last header, from the tape's end on. If blocks are damaged,
 * spool_decode() has already added the loss.
 */
static int add_end(struct tape *tape, const struct spool_end *end, const struct stat *about)
{
	uint64_t until_ns = find_end(tape, end, about);
	struct tape_loss loss = { TAPE_LOSS_DAMAGED, TAPE_ALL_CPUS, tape->end_ns, until_ns, 1 };

	if (end->damaged)
		tape->losses.items[tape->losses.count - 1].to_ns = until_ns;
	else if (array_push(&tape->losses, loss) < 0)
		return -ENOMEM;
	tape->end_ns = until_ns;
	return 0;
}

static int spool_dir_open_spool(const char *path, const char *name, int *ret_fd,
				struct stat *ret_about, struct error *error)
{
	_cleanup_close_ int fd = -1;
	int r = store_open_file(path, STORE_SPOOLS, name, &fd, error);

	if (r < 0)
		return r;
	if (fstat(fd, ret_about) < 0)
		return error_set(error, -errno, "%s", strerror(errno));
	*ret_fd = take_fd(fd);
	return 0;
}

/*
 * Looks for the recorder's note of unsaved samples of this spool's recording. Returns the end of
 * the recording according to the note, which `unsaved` receives, or NULL without a note.
 */
static const char *find_unsaved_end(const char *path, const char *name,
				    struct store_unsaved *unsaved)
{
	uint64_t number;

	return unsaved_note_read(path, unsaved) == 1 &&
			       store_is_of_boot(name, unsaved->boot_id, &number) &&
			       number >= unsaved->first
		       ? unsaved->ended
		       : NULL;
}

/*
 * Reads a spool. `ended` is the result of find_unsaved_end(). The note also counts the unsaved
 * samples, so with a note a torn end adds no loss.
 */
static int read_spool(int fd, const struct stat *about, bool live, const char *ended,
		      struct tape **ret_tape, struct spool_end *ret_end, struct error *error)
{
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	_cleanup_free_ char *data = NULL;
	size_t size;
	int r = file_read_fd(fd, STORE_SEGMENT_MAX, &data, &size);

	if (r < 0)
		return error_set(error, r, "%s", strerror(-r));
	r = spool_decode(data, size, &tape, ret_end, error);
	if (r < 0)
		return r;
	if (!live && !tape->anchors.count)
		return error_set(error, -EBADMSG,
				 "it lacks a clock anchor, so its time is unknown");
	if ((ret_end->torn || ret_end->damaged) && !live && !ended &&
	    ret_end->timed_bytes < (uint64_t)about->st_size)
		r = add_end(tape, ret_end, about);
	if (r < 0)
		return r;
	/* an earlier recorder left the spool, and its blocks do not say how the recording ended */
	if (!live && !*tape_fact(tape, TAPE_ENDED))
		r = tape_add_fact(tape, TAPE_ENDED, ended ? ended : TAPE_ENDED_KILLED);
	if (r < 0)
		return r;
	*ret_tape = take_ptr(tape);
	return 0;
}

int spool_dir_load(const char *path, const char *name, const struct spool_dir_writer *writer,
		   struct tape **ret_tape, struct spool_end *ret_end, struct error *error)
{
	_cleanup_close_ int fd = -1;
	struct store_unsaved unsaved;
	struct stat about;
	int r = spool_dir_open_spool(path, name, &fd, &about, error);

	if (r < 0)
		return r;
	r = read_spool(fd, &about, is_live(writer, name), find_unsaved_end(path, name, &unsaved),
		       ret_tape, ret_end, error);
	return r < 0 ? error_prefix(error, r, "%s", name) : 0;
}

struct spool_dir_walk {
	const char *path;
	uint64_t to_ns;
	struct spool_dir_writer writer;
	int (*see)(void *context, const struct store_segment *segment, struct tape **tape);
	void *context;
	struct error *error;
};

/*
 * Returns whether a spool may be in the window. Only the spool of the present writer has a reliable
 * modification time, because copying a spool changes this time.
 */
static bool may_reach(const struct spool_dir_walk *walk, const char *name, const struct stat *about)
{
	return !is_live(&walk->writer, name) || walk->to_ns > UINT64_MAX - REACH_NS ||
	       changed_ns(about) <= walk->to_ns + REACH_NS;
}

static void spool_dir_describe(const struct tape *tape, const char *name, const struct stat *about,
			       const struct error *why, struct store_segment *ret_segment)
{
	struct segment_summary summary;

	*ret_segment = (struct store_segment){ .end_ns = changed_ns(about) };
	if (tape) {
		segment_summarize(tape, &summary);
		store_describe(&summary, name, about->st_size, ret_segment);
	} else {
		snprintf(ret_segment->damage, sizeof(ret_segment->damage), "%.*s",
			 (int)sizeof(ret_segment->damage) - 1, why->text);
	}
	snprintf(ret_segment->name, sizeof(ret_segment->name), "%s", name);
	ret_segment->bytes = about->st_size;
	ret_segment->unsealed = true;
}

static int spool_dir_see_spool(void *context, const char *name)
{
	const struct spool_dir_walk *walk = context;
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	_cleanup_close_ int fd = -1;
	struct store_segment segment;
	struct spool_end end;
	struct stat about = { 0 };
	struct error why = { 0 };
	struct store_unsaved unsaved;
	int r;

	if (!spool_dir_is_ours(name))
		return 0;
	r = spool_dir_open_spool(walk->path, name, &fd, &about, &why);
	if (r == -ENOENT || (r == 0 && (!about.st_size || !may_reach(walk, name, &about))))
		/* the spool was sealed meanwhile, is empty, or is outside the window */
		return 0;
	if (r == 0)
		r = read_spool(fd, &about, is_live(&walk->writer, name),
			       find_unsaved_end(walk->path, name, &unsaved), &tape, &end, &why);
	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return error_set(walk->error, r, "%s: %s", name, strerror(-r));
	spool_dir_describe(tape, name, &about, &why, &segment);
	return walk->see(walk->context, &segment, &tape);
}

int spool_dir_each(const char *path, uint64_t to_ns,
		   int (*see)(void *context, const struct store_segment *segment,
			      struct tape **tape),
		   void *context, struct error *error)
{
	struct spool_dir_walk walk = { path, to_ns, { 0 }, see, context, error };
	int r;

	spool_dir_find_writer(path, &walk.writer);
	r = store_each_name(path, STORE_SPOOLS, spool_dir_see_spool, &walk, error);
	return r == -ENOENT ? 0 : r;
}
