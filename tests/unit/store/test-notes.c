// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "base/file.h"
#include "store/disk/files.h"
#include "store/disk/notes.h"
#include "store/write/write-error.h"
#include "tests/fake-clock.h"
#include "tests/tapes.h"

int __real_nanosleep(const struct timespec *pause, struct timespec *ret_left);
int __wrap_nanosleep(const struct timespec *pause, struct timespec *ret_left);

static bool skips_pauses;

/* Moves the clock instead of sleeping if the test requests that. */
int __wrap_nanosleep(const struct timespec *pause, struct timespec *ret_left)
{
	if (!skips_pauses)
		return __real_nanosleep(pause, ret_left);
	fake_clock_pass(pause->tv_sec * NSEC_PER_SEC + pause->tv_nsec);
	return 0;
}

static const struct notes_field mark_fields[] = { { "text", "here it stood" }, { "by", "" } };
static const struct note mark = { NOTES_MARK, 1234567890123456789, mark_fields, 2 };

/* The texts of all notes that a reader saw, one after the other. */
struct seen {
	size_t count;
	size_t stop_at;
	char text[4096];
};

static int see(void *context, const struct note *note)
{
	struct seen *seen = context;
	size_t at = strlen(seen->text);

	snprintf(seen->text + at, sizeof(seen->text) - at, "%u@%llu", note->kind,
		 (unsigned long long)note->realtime_ns);
	for (size_t i = 0; i < note->field_count; i++) {
		at = strlen(seen->text);
		snprintf(seen->text + at, sizeof(seen->text) - at, " %s=%s", note->fields[i].name,
			 note->fields[i].value);
	}
	at = strlen(seen->text);
	snprintf(seen->text + at, sizeof(seen->text) - at, "\n");
	return ++seen->count == seen->stop_at ? -EINTR : 0;
}

static void encode(struct buffer *bytes, uint32_t kind, uint64_t realtime_ns, const char *value)
{
	const struct notes_field field = { "name", value };

	CHECK_EQ(notes_encode(&(struct note){ kind, realtime_ns, &field, 1 }, bytes), 0);
}

static struct seen decode(const void *data, size_t size, uint64_t *ret_damaged)
{
	struct seen seen = { 0 };

	CHECK_EQ(notes_decode(data, size, see, &seen, ret_damaged), 0);
	return seen;
}

static void test_round_trip(void)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	struct seen seen;
	uint64_t damaged;

	CHECK_EQ(notes_encode(&mark, &bytes), 0);
	encode(&bytes, 77, UINT64_MAX, "of a kind that is not known");
	CHECK_EQ(notes_encode(&(struct note){ NOTES_PIN, 0, NULL, 0 }, &bytes), 0);
	seen = decode(bytes.data, bytes.size, &damaged);
	CHECK_EQ(damaged, 0);
	CHECK_STR(seen.text, "2@1234567890123456789 text=here it stood by=\n"
			     "77@18446744073709551615 name=of a kind that is not known\n3@0\n");
	CHECK_STR(note_field(&mark, "text"), "here it stood");
	CHECK_STR(note_field(&mark, "at"), "");
}

static void test_see_ends_it(void)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	struct seen seen = { .stop_at = 2 };
	uint64_t damaged;

	for (int i = 0; i < 3; i++)
		encode(&bytes, NOTES_MARK, i, "x");
	CHECK_EQ(notes_decode(bytes.data, bytes.size, see, &seen, &damaged), -EINTR);
	CHECK_EQ(seen.count, 2);
}

static void test_too_large(void)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	_cleanup_free_ char *text = malloc(65537);
	struct notes_field field = { "", text };
	struct note note = { NOTES_MARK, 0, &field, 1 };
	uint64_t damaged;

	memset(text, 'x', 65536);
	text[65534] = 0; /* two bytes less: each text has a NUL */
	CHECK_EQ(notes_encode(&note, &bytes), 0);
	CHECK_EQ(decode(bytes.data, bytes.size, &damaged).count, 1);
	text[65534] = 'x';
	text[65535] = 0;
	CHECK_EQ(notes_encode(&note, &bytes), -E2BIG);
}

/*
 * With any byte changed and at any length, the notes that remain are valid, and the rest is
 * reported as damaged.
 */
static void test_damage(void)
{
	static const char *const values[] = { "one", "two", "three" };
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	size_t ends[4] = { 0 };
	uint64_t damaged;

	for (int i = 0; i < 3; i++) {
		encode(&bytes, NOTES_MARK, i, values[i]);
		ends[i + 1] = bytes.size;
	}
	for (size_t at = 0; at < bytes.size; at++) {
		_cleanup_free_ uint8_t *copy = malloc(bytes.size);
		struct seen seen;

		for (int bit = 0; bit < 8; bit++) {
			memcpy(copy, bytes.data, bytes.size);
			copy[at] ^= 1 << bit;
			seen = decode(copy, bytes.size, &damaged);
			CHECK_EQ(seen.count, 2);
			CHECK_EQ(damaged, 1);
			for (int i = 0; i < 3; i++)
				CHECK(!strstr(seen.text, values[i]) ==
				      (at >= ends[i] && at < ends[i + 1]));
		}
		seen = decode(bytes.data, at, &damaged);
		CHECK_EQ(seen.count, (at >= ends[1]) + (at >= ends[2]));
		CHECK_EQ(damaged, at != ends[0] && at != ends[1] && at != ends[2]);
	}
}

static void count_notes(const char *path, size_t count, uint64_t expected_damage)
{
	struct seen seen = { 0 };
	uint64_t damaged = 77;

	CHECK_EQ(notes_read(path, see, &seen, &damaged, NULL), 0);
	CHECK_EQ(seen.count, count);
	CHECK_EQ(damaged, expected_damage);
}

/* If a killed process left a part of a record, the next record is not damaged. */
static void test_torn(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	char file[128];
	struct stat about;

	tapes_store_init(&store);
	count_notes(store.path, 0, 0);
	snprintf(file, sizeof(file), "%s/notes", store.path);
	CHECK_EQ(notes_append(store.path, &mark, NULL), 0);
	CHECK_EQ(notes_append(store.path, &mark, NULL), 0);
	CHECK_EQ(stat(file, &about), 0);
	CHECK_EQ(truncate(file, about.st_size - 5), 0);
	count_notes(store.path, 1, 1);
	CHECK_EQ(notes_append(store.path, &mark, NULL), 0);
	count_notes(store.path, 2, 1);
}

/* Repair keeps valid notes, moves the others to a separate file, and restores the format. */
static void test_repair(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_free_ char *before = NULL, *aside = NULL;
	uint64_t bytes = 77;
	char file[128];
	size_t size;

	tapes_store_init(&store);
	snprintf(file, sizeof(file), "%s/notes", store.path);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(notes_append(store.path, &mark, NULL), 0);
	CHECK_EQ(notes_repair(store.path, &bytes, NULL), 0);
	CHECK_EQ(bytes, 0);
	CHECK_EQ(file_read(file, 1 << 16, &before, &size), 0);
	before[size / 3 + 20] ^= 1;
	CHECK_EQ(file_replace(store.path, "notes", before, size), 0);
	count_notes(store.path, 2, 1);
	CHECK_EQ(notes_repair(store.path, &bytes, NULL), 0);
	CHECK_EQ(bytes, size / 3);
	count_notes(store.path, 2, 0);
	snprintf(file, sizeof(file), "%s/notes.damaged", store.path);
	CHECK_EQ(file_read(file, 1 << 16, &aside, &bytes), 0);
	CHECK_EQ(bytes, size / 3);
	CHECK_EQ(memcmp(aside, before + size / 3, bytes), 0);
	CHECK_EQ(notes_append(store.path, &mark, NULL), 0);
	count_notes(store.path, 3, 0);
}

static void test_no_file(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct error error = { 0 };
	struct seen seen = { 0 };
	uint64_t damaged;
	char file[128];

	CHECK_EQ(notes_append("/nonexistent", &mark, &error), -ENOENT);
	CHECK(strstr(error.text, "/nonexistent/notes"));
	tapes_store_init(&store);
	snprintf(file, sizeof(file), "%s/notes", store.path);
	CHECK_EQ(mkdir(file, 0700), 0);
	CHECK_EQ(notes_read(store.path, see, &seen, &damaged, &error), -EBADMSG);
	CHECK_EQ(notes_append(store.path, &mark, &error), -EISDIR);
}

/*
 * Every process that may read the notes can lock them. This does not stop writers, because their
 * lock is on a file that only the owner can open. If the owner keeps that lock, writing ends with
 * an error instead of waiting for ever.
 */
static void test_kept_locked(void)
{
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_close_ int fd = -1;
	struct error error = { 0 };
	struct stat about;
	char path[128];

	tapes_store_init(&store);
	CHECK_EQ(notes_append(store.path, &mark, NULL), 0);
	snprintf(path, sizeof(path), "%s/notes", store.path);
	fd = open(path, O_RDONLY);
	CHECK_EQ(flock(fd, LOCK_EX), 0);
	CHECK_EQ(notes_append(store.path, &mark, NULL), 0);
	close(fd);
	snprintf(path, sizeof(path), "%s/" STORE_NOTES_LOCK, store.path);
	CHECK_EQ(stat(path, &about), 0);
	CHECK_EQ(about.st_mode & 0777, 0600);
	fd = open(path, O_RDONLY);
	CHECK_EQ(flock(fd, LOCK_SH), 0);
	skips_pauses = true;
	CHECK_EQ(notes_append(store.path, &mark, &error), -EBUSY);
	skips_pauses = false;
	CHECK(strstr(error.text, "holds its lock"));
	CHECK(clock_ns(CLOCK_MONOTONIC) - begin_ns >= 10 * NSEC_PER_SEC);
	CHECK_EQ(flock(fd, LOCK_UN), 0);
	CHECK_EQ(notes_append(store.path, &mark, NULL), 0);
}

/* Several processes write at once, and each record is whole. */
static void test_many_writers(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	int status;

	tapes_store_init(&store);
	fflush(stdout);
	for (int i = 0; i < 4; i++)
		if (fork() == 0) {
			int r = 0;

			for (int n = 0; n < 25 && r == 0; n++)
				r = notes_append(store.path, &mark, NULL);
			_exit(r < 0);
		}
	for (int i = 0; i < 4; i++)
		CHECK(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	count_notes(store.path, 100, 0);
}

/* An error names the store, the operation that failed, and the remedy. */
static void check_refused(int code, const char *said)
{
	struct error error = { 0 };

	CHECK_EQ(write_error_set(&error, code, "/a/store", "open", "lock"), code);
	CHECK(strstr(error.text, "/a/store: cannot open its lock: ") == error.text);
	if (!strstr(error.text, said))
		CHECK_FAIL("%s", error.text);
}

static void test_refused(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct store_writer *writer = NULL;
	struct error error = { 0 };
	char path[600];

	check_refused(-EROFS, "read-only; mount it");
	check_refused(-EACCES, "give the store to that user (chown -R), record as root");
	check_refused(-ENOSPC, "the disk is full, or has no inodes left; free some space");
	check_refused(-EIO, strerror(EIO));
	tapes_store_init(&store);
	snprintf(path, sizeof(path), "%s/%0300d", store.path, 1);
	CHECK_EQ(store_writer_open(path, &writer, &error), -ENAMETOOLONG);
	CHECK(strstr(error.text, ": cannot make its segments: a name in the path is too long"));
	tapes_store_put(&store, tapes_new(0, 1));
	snprintf(path, sizeof(path), "%s/lock/store", store.path);
	CHECK_EQ(store_writer_open(path, &writer, &error), -ENOTDIR);
	CHECK(strstr(error.text,
		     "/lock/store: cannot make its segments: a part of the path is a "));
}

/* Returns the number of sound records behind false ones. Each false one has the size of 64 KB. */
static size_t sound_behind(size_t false_records)
{
	static const uint8_t false_record[] = { 0x9f, 'n', 'o', 't', 0x10, 0, 1, 0 };
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	struct seen seen = { .stop_at = SIZE_MAX };
	uint64_t damaged;

	for (size_t i = 0; i < false_records; i++)
		buffer_bytes(&bytes, false_record, sizeof(false_record));
	CHECK(buffer_room(&bytes, 65552 + 12));
	memset(bytes.data + bytes.size, 0, 65552 + 12);
	bytes.size += 65552 + 12;
	CHECK_EQ(notes_encode(&mark, &bytes), 0);
	CHECK_EQ(notes_decode(bytes.data, bytes.size, see, &seen, &damaged), 0);
	CHECK_EQ(damaged, 1);
	return seen.count;
}

/* False records cost a checksum of 64 KB each. Their number is bounded. */
static void test_false_records(void)
{
	CHECK_EQ(sound_behind(10), 1);
	CHECK_EQ(sound_behind(1000), 0);
}

/* Forged notes must not keep a recorder from starting. The newest notes stay. */
static void test_shortened(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct store_writer *writer;
	struct seen seen = { 0 };
	char file[PATH_MAX];
	uint64_t damaged;

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	store_writer_close(writer);
	CHECK_EQ(store_file(store.path, STORE_NOTES, file, NULL), 0);
	CHECK_EQ(notes_append(store.path, &mark, NULL), 0);
	CHECK_EQ(truncate(file, NOTES_MAX), 0);
	CHECK_EQ(notes_append(store.path, &mark, NULL), 0);
	seen.stop_at = SIZE_MAX;
	CHECK_EQ(notes_read(store.path, see, &seen, &damaged, NULL), 0);
	CHECK_EQ(seen.count, 1);
	CHECK_EQ(damaged, 0);
	seen.count = 0;
	for (int again = 0; again < 2; again++) {
		CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
		CHECK_EQ(store_writer_shortened(writer), !again);
		store_writer_close(writer);
	}
	seen.stop_at = SIZE_MAX;
	CHECK_EQ(notes_read(store.path, see, &seen, &damaged, NULL), 0);
	CHECK_EQ(seen.count, 1);
	CHECK_EQ(damaged, 0);
	CHECK_EQ(store_file(store.path, STORE_NOTES_LONG, file, NULL), 0);
	CHECK_EQ(access(file, F_OK), 0);
}

CHECK_MAIN({ "notes survive encoding", test_round_trip },
	   { "a reader can stop at any note", test_see_ends_it },
	   { "a note that is too large is refused", test_too_large },
	   { "damage costs one note, and is reported", test_damage },
	   { "a torn record costs only itself", test_torn },
	   { "false records are bounded", test_false_records },
	   { "notes beyond their bound are set aside", test_shortened },
	   { "repair keeps sound notes", test_repair },
	   { "an absent or unreadable file", test_no_file },
	   { "notes that a reader keeps locked", test_kept_locked },
	   { "many writers at once", test_many_writers },
	   { "a store that cannot be written is explained", test_refused })
