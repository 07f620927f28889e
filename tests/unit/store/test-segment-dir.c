// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files in the segments' folder decide. Whatever happens to the index or to single files, the
 * store reports everything that is missing.
 */
#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "store/disk/files.h"
#include "store/disk/index.h"
#include "tests/tapes.h"

#define AT(seconds) (TAPES_REALTIME + (seconds)*NSEC_PER_SEC)

/* Formats and runs a shell command. */
static void shell(const char *format, const char *a, const char *b)
{
	char command[1024];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(command, sizeof(command), format, a, b);
#pragma GCC diagnostic pop
	CHECK_EQ(system(command), 0);
}

/* Runs a shell command on the file of a segment, $f. */
static void on_segment(const struct tapes_store *store, unsigned int number, const char *command)
{
	char prefix[128];

	snprintf(prefix, sizeof(prefix), "cd '%s/segments' && f=$(echo *-%010u.tape) && ",
		 store->path, number);
	shell("%s%s", prefix, command);
}

static struct tape *one_sample(unsigned int begin, unsigned int end)
{
	struct tape *tape = tapes_new(begin, end);

	tapes_sample(tape, tape->begin_ns, 0, tapes_thread(tape, 1, 1, "x"), 0);
	return tape;
}

/* Seals segments of 10 s each, one after the other from `first` on. */
static void seal_some(struct store_writer *writer, unsigned int first, unsigned int count)
{
	for (unsigned int i = first; i < first + count; i++) {
		_cleanup_(cleanup_tape) struct tape *tape = one_sample(i * 10, i * 10 + 10);
		struct error error = { 0 };

		tape->sequence = i;
		CHECK_EQ(store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, &error), 0);
	}
}

static void make_store(struct tapes_store *store, unsigned int count)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;

	tapes_store_init(store);
	CHECK_EQ(store_writer_open(store->path, &writer, NULL), 0);
	seal_some(writer, 0, count);
}

static int list(const char *path, struct store_segments *segments, struct error *error)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	int r = store_reader_open(path, &reader, error);

	return r < 0 ? r : store_reader_find(reader, 0, UINT64_MAX, segments, error);
}

/* Returns whether the store has `count` valid segments of 10 s, one after the other. */
static bool holds(const char *path, size_t count)
{
	struct store_segments segments = { 0 };
	struct error error = { 0 };
	int r = list(path, &segments, &error);
	bool good = r == 0 && segments.list.count == count;

	printf("# %zu segments, not %zu? %s\n", segments.list.count, count, error.text);
	for (size_t i = 0; good && i < count; i++) {
		const struct store_segment *segment = &segments.list.items[i];

		good = !*segment->damage && segment->samples == 1 &&
		       segment->begin_ns == AT(i * 10) && segment->end_ns == AT(i * 10 + 10);
	}
	array_done(&segments.list);
	return good;
}

/* Returns whether the index alone says that its content is out of date. */
static bool has_old_index(const char *path, size_t unused)
{
	_cleanup_(cleanup_index) struct index *index = NULL;
	struct error error = { 0 };
	char file[PATH_MAX];

	(void)unused;
	return store_file(path, STORE_INDEX, file, NULL) == 0 &&
	       index_open(file, false, &index, &error) == -ESTALE &&
	       strstr(error.text, "index.sqlite-wal: its changes can only be read");
}

/* Makes a check as user nobody, who may only read. */
static bool check_as_nobody(bool (*check)(const char *path, size_t count), const char *path,
			    size_t count)
{
	int status;
	pid_t pid;

	fflush(stdout); /* or the child would print the same text again */
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
			_exit(2);
		status = check(path, count) ? 0 : 1;
		fflush(stdout);
		_exit(status);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool holds_for_nobody(const char *path, size_t count)
{
	return check_as_nobody(holds, path, count);
}

/* Makes a copy of the store to which nobody can write. */
static void copy_store(const struct tapes_store *store, struct tapes_store *ret_copy)
{
	tapes_store_init(ret_copy);
	shell("cp -r '%s'/. '%s'", store->path, ret_copy->path);
}

static void lock_store(const struct tapes_store *store)
{
	shell("chmod -R a+rX,a-w '%s'%s", store->path, "");
}

static void unlock_store(struct tapes_store *store)
{
	char command[256];

	snprintf(command, sizeof(command), "chmod -R u+w '%s'", store->path);
	if (system(command) == 0)
		tapes_store_done(store);
}

/*
 * The copy was made while the writer had the store open. The last segment is only in
 * index.sqlite-wal, which a reader of the copy cannot use.
 */
static void test_wal_in_a_copy(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(unlock_store) struct tapes_store copy, bare;

	make_store(&store, 2);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	seal_some(writer, 2, 3);
	copy_store(&store, &copy);
	shell("test -s '%s/index.sqlite-wal' && rm -f '%s/index.sqlite-shm'", copy.path, copy.path);
	lock_store(&copy);
	CHECK(check_as_nobody(has_old_index, copy.path, 0));
	CHECK(holds_for_nobody(copy.path, 5));
	CHECK(holds(copy.path, 5));
	/* without the WAL, the index is an old one */
	copy_store(&store, &bare);
	shell("rm '%s'/index.sqlite-*%s", bare.path, "");
	lock_store(&bare);
	CHECK(holds_for_nobody(bare.path, 5));
}

static void test_read_only(void)
{
	_cleanup_(unlock_store) struct tapes_store store;

	make_store(&store, 3);
	lock_store(&store);
	CHECK(holds_for_nobody(store.path, 3));
	CHECK(holds(store.path, 3));
}

/* Reads as another user beside a writer that works. */
static void test_beside_the_writer(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(unlock_store) struct tapes_store store;

	make_store(&store, 2);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	seal_some(writer, 2, 2);
	shell("chmod -R a+rX '%s'%s", store.path, "");
	CHECK(holds_for_nobody(store.path, 4));
	seal_some(writer, 4, 1);
	/* new files are only for the owner and the group */
	shell("chmod -R a+rX '%s'%s", store.path, "");
	CHECK(holds_for_nobody(store.path, 5));
}

/* Seals two more segments as user nobody. Returns whether the index takes both. */
static bool seals_for_nobody(const char *path)
{
	int status;
	pid_t pid;

	fflush(stdout); /* or the child would print the same text again */
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;

		if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
			_exit(2);
		if (store_writer_open(path, &writer, NULL) < 0)
			_exit(3);
		seal_some(writer, 2, 2);
		writer = store_writer_close(writer);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Root cleaned up the store of another user. Now the index is root's, but the folder is not. */
static void test_index_of_another(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;

	make_store(&store, 2);
	if (geteuid() == 0)
		shell("chown -R 65534:65534 '%s'%s", store.path, "");
	shell("chmod 0444 '%s/index.sqlite'%s", store.path, "");
	CHECK(seals_for_nobody(store.path));
	CHECK(holds(store.path, 4));
}

static void test_broken_index(void)
{
	static const char *const breaks[] = {
		"rm '%s/index.sqlite'%s",
		"echo junk > '%s/index.sqlite'%s",
		": > '%s/index.sqlite'%s",
		"chmod 0 '%s/index.sqlite'%s",
		"rm '%s/index.sqlite' && mkdir '%s/index.sqlite'",
		"truncate -s 4096 '%s/index.sqlite'%s",
	};

	for (size_t i = 0; i < ARRAY_SIZE(breaks); i++) {
		_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
		_cleanup_(tapes_store_done) struct tapes_store store;

		make_store(&store, 3);
		printf("# %s\n", breaks[i]);
		shell(breaks[i], store.path, strstr(breaks[i], "mkdir") ? store.path : "");
		shell("chmod a+rX '%s' '%s'/segments", store.path, store.path);
		CHECK(holds(store.path, 3));
		if (strstr(breaks[i], "mkdir"))
			continue;
		/* and the writer rebuilds the index */
		CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
		CHECK(holds(store.path, 3));
	}
}

static void set_index(const struct tapes_store *store, const char *sql)
{
	shell("python3 -c \"import sqlite3; c = sqlite3.connect('%s/index.sqlite'); "
	      "c.execute('%s'); c.commit()\"",
	      store->path, sql);
}

/* SQLite lacks checksums, so a row can contain anything. */
static void test_wrong_row(void)
{
	static const char *const changes[] = {
		"UPDATE segments SET samples = 7 WHERE sequence = 1",
		"UPDATE segments SET begin_ns = begin_ns + 5 WHERE sequence = 1",
		"UPDATE segments SET end_ns = begin_ns + 5 WHERE sequence = 0",
		"UPDATE segments SET lost = 1 WHERE sequence = 2",
		"DELETE FROM segments WHERE sequence = 1",
		"DROP TABLE segments",
		"PRAGMA user_version = 0",
	};

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
		_cleanup_(tapes_store_done) struct tapes_store store;

		make_store(&store, 3);
		printf("# %s\n", changes[i]);
		set_index(&store, changes[i]);
		CHECK(holds(store.path, 3));
		CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
		CHECK(holds(store.path, 3));
	}
}

static void test_newer_index(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct error error = { 0 };

	make_store(&store, 1);
	set_index(&store, "PRAGMA user_version = 9");
	CHECK_EQ(store_reader_open(store.path, &reader, &error), -EPROTONOSUPPORT);
	CHECK(strstr(error.text, "index.sqlite: version 9 is from a newer perftape"));
	CHECK_EQ(store_writer_open(store.path, &writer, &error), -EPROTONOSUPPORT);
	CHECK(strstr(error.text, "index.sqlite: version 9 is from a newer perftape"));
}

/* Returns whether segment `i` is listed as damaged between these times, with a reason. */
static bool shows_damage(const struct tapes_store *store, size_t i, uint64_t begin_ns,
			 uint64_t end_ns)
{
	struct store_segments segments = { 0 };
	struct store_segment segment = { 0 };
	struct error error = { 0 };

	if (list(store->path, &segments, &error) < 0 || segments.list.count != 3)
		printf("# %zu: %s\n", segments.list.count, error.text);
	else
		segment = segments.list.items[i];
	array_done(&segments.list);
	printf("# %llu to %llu: %s\n", (unsigned long long)segment.begin_ns,
	       (unsigned long long)segment.end_ns, segment.damage);
	return *segment.damage && segment.begin_ns == begin_ns && segment.end_ns == end_ns;
}

static void test_damaged_files(void)
{
	static const char *const breaks[] = {
		": > $f",
		"echo junk > $f",
		"truncate -s 100 $f",
		"truncate -s 500 $f",
		"rm $f; mkdir $f",
		"rm $f; mkfifo $f",
		/* a segment of a newer version */
		"printf '\\011' | dd of=$f bs=1 seek=8 conv=notrunc status=none",
	};

	for (size_t i = 0; i < ARRAY_SIZE(breaks); i++) {
		_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
		_cleanup_(tapes_store_done) struct tapes_store store;

		make_store(&store, 3);
		printf("# %s\n", breaks[i]);
		on_segment(&store, 1, breaks[i]);
		/*
		 * while the index has the row, after the index is lost, and after a writer rebuilt
		 * it
		 */
		CHECK(shows_damage(&store, 1, AT(10), AT(20)));
		shell("rm '%s'/index.sqlite*%s", store.path, "");
		CHECK(shows_damage(&store, 1, AT(10), AT(20)));
		CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
		CHECK(shows_damage(&store, 1, AT(10), AT(20)));
	}
}

/*
 * A damaged segment without a neighbour on one side counts as one hour long. Without any neighbour,
 * it ends when its file was written.
 */
static void test_damaged_file_at_the_end(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;

	make_store(&store, 3);
	on_segment(&store, 2, "echo junk > $f; touch -d @1794971550 $f");
	shell("rm '%s'/index.sqlite*%s", store.path, "");
	CHECK(shows_damage(&store, 2, AT(20), AT(30)));
	on_segment(&store, 2, "touch -d @1799999999 $f");
	CHECK(shows_damage(&store, 2, AT(20), AT(3620)));
	on_segment(&store, 2, "rm $f; echo junk > junk.tape; touch -d @1794971640 junk.tape");
	CHECK(shows_damage(&store, 0, AT(120) - 3600 * NSEC_PER_SEC, AT(120)));
}

/* The store removes the leftovers of a killed writer, whatever boot the writer was of. */
static void test_leftovers(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;

	make_store(&store, 1);
	shell("touch '%s'/segments/.1234-0000000007.tape.new%s", store.path, "");
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	shell("test -z \"$(find '%s' -name '*.new')\"%s", store.path, "");
	CHECK(holds(store.path, 1));
}

/* Even if a segment could not be written, its number is not used again. */
static void test_numbers_are_used_once(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct error error = { 0 };

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	tape = tapes_new(0, 1);
	shell("cd '%s'%s && mv segments elsewhere && touch segments", store.path, "");
	CHECK_EQ(store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, &error), -ENOTDIR);
	shell("cd '%s'%s && rm segments && mv elsewhere segments", store.path, "");
	CHECK_EQ(store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, &error), 0);
}

static size_t count_of(const char *path)
{
	struct store_segments segments = { 0 };
	struct error error = { 0 };
	size_t count;

	CHECK_EQ(list(path, &segments, &error), 0);
	count = segments.list.count;
	array_done(&segments.list);
	return count;
}

/*
 * The writer creates a store again that somebody moved away. If another process created it
 * meanwhile, the writer does not write to that store, now or later.
 */
static void test_moved_away(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL, *other = NULL;
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct error error = { 0 };
	char busy[128];

	/* a segment of this boot */
	CHECK_EQ(tape_new(&tape), 0);
	tape->begin_ns = TAPES_PERF;
	tape->end_ns = TAPES_PERF + NSEC_PER_SEC;
	tapes_anchor(tape, TAPES_PERF, TAPES_REALTIME);
	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	CHECK_EQ(store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, &error), 0);
	shell("rm -r '%s'/*%s", store.path, "");
	CHECK_EQ(store_writer_set_status(writer, "{}", NULL), -EBUSY);
	tape->sequence = 1;
	CHECK_EQ(store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, &error), 1);
	CHECK(strstr(error.text, "was removed or replaced"));
	CHECK_EQ(store_writer_set_status(writer, "{}", NULL), 0);
	CHECK_EQ(count_of(store.path), 1);
	CHECK_EQ(store_writer_open(store.path, &other, &error), -EBUSY);

	shell("rm -r '%s'/*%s", store.path, "");
	CHECK_EQ(store_writer_open(store.path, &other, &error), 0);
	tape->sequence = 2;
	CHECK_EQ(store_writer_seal(other, tape, SEGMENT_HASTY, NULL, &error), 0);
	CHECK_EQ(store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, &error), -EBUSY);
	snprintf(busy, sizeof(busy), "process %d is recording into it already", getpid());
	CHECK(strstr(error.text, busy));
	CHECK_EQ(store_writer_spool(writer, 2, "x", 1, &error), -EBUSY);
	other = store_writer_close(other);
	CHECK_EQ(store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, &error), 1);
	CHECK(tape->sequence != 2);
	CHECK_EQ(count_of(store.path), 2);
}

/* Such a segment would be listed in 1970, where nobody would find it. */
static void test_no_anchor(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(cleanup_tape) struct tape *tape =
		tapes_bare(TAPES_PERF, TAPES_PERF + NSEC_PER_SEC);
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct error error = { 0 };

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	CHECK_EQ(store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, &error), -EINVAL);
	CHECK_STR(error.text, "a tape of 0 samples lacks a clock anchor, so its time is unknown");
	tapes_anchor(tape, TAPES_PERF, TAPES_REALTIME);
	CHECK_EQ(store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, &error), 0);
}

CHECK_MAIN({ "a tape without anchors is refused", test_no_anchor },
	   { "a WAL that cannot be used", test_wal_in_a_copy },
	   { "a store that nobody can write to", test_read_only },
	   { "a reader of another user beside the writer", test_beside_the_writer },
	   { "an index of another user is made anew", test_index_of_another },
	   { "a broken index loses nothing", test_broken_index },
	   { "a wrong index loses nothing", test_wrong_row },
	   { "the index of a newer perftape loses nothing", test_newer_index },
	   { "damaged files are reported", test_damaged_files },
	   { "a damaged file at the end is reported", test_damaged_file_at_the_end },
	   { "leftovers of a killed writer are removed", test_leftovers },
	   { "numbers are used once", test_numbers_are_used_once },
	   { "a store that was moved away is made again", test_moved_away })
