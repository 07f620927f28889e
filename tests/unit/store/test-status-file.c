// SPDX-License-Identifier: GPL-2.0-only
/* A recorder reports its status through a file in its store. */
#include <fcntl.h>
#include <sys/wait.h>

#include "store/read/store-reader.h"
#include "store/write/store-writer.h"
#include "tests/tapes.h"

struct told {
	struct buffer text;
	int pid;
	uint64_t told_ns;
};

static void told_done(struct told *told)
{
	buffer_done(&told->text);
}

static int look(const char *path, struct told *told)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	int r;

	told->text.size = 0;
	CHECK_EQ(store_reader_open(path, &reader, NULL), 0);
	r = store_reader_status(reader, &told->text, &told->pid, &told->told_ns);
	buffer_u8(&told->text, 0);
	return r;
}

static void test_last_one_counts(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(told_done) struct told told = { 0 };
	uint64_t begin_ns = clock_ns(CLOCK_REALTIME);

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	CHECK_EQ(look(store.path, &told), 0);
	CHECK_EQ(store_writer_set_status(writer, "a longer text than the next one", NULL), 0);
	CHECK_EQ(store_writer_set_status(writer, "shorter", NULL), 0);
	CHECK_EQ(look(store.path, &told), 1);
	CHECK_STR((char *)told.text.data, "shorter");
	CHECK_EQ(told.pid, getpid());
	CHECK(told.told_ns >= begin_ns && told.told_ns <= clock_ns(CLOCK_REALTIME));
	writer = store_writer_close(writer);
	CHECK_EQ(look(store.path, &told), 0);
}

/* A killed recorder leaves the file behind, and the next one replaces it. */
static void test_killed(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(told_done) struct told told = { 0 };
	int status;
	pid_t pid;

	tapes_store_init(&store);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int r = store_writer_open(store.path, &writer, NULL);

		_exit(r < 0 || store_writer_set_status(writer, "last words", NULL) < 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK_EQ(look(store.path, &told), 1);
	CHECK_STR((char *)told.text.data, "last words");
	CHECK_EQ(told.pid, pid);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	CHECK_EQ(look(store.path, &told), 0);
}

/* With any byte changed, the file counts as absent; it never gives a wrong status. */
static void test_damage(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(told_done) struct told told = { 0 };
	_cleanup_close_ int fd = -1;
	char file[128];
	uint8_t byte;

	tapes_store_init(&store);
	snprintf(file, sizeof(file), "%s/status", store.path);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	CHECK_EQ(store_writer_set_status(writer, "text", NULL), 0);
	fd = open(file, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	for (off_t at = 0; pread(fd, &byte, 1, at) == 1; at++) {
		CHECK_EQ(pwrite(fd, &(uint8_t){ byte ^ 0x10 }, 1, at), 1);
		CHECK_EQ(look(store.path, &told), 0);
		CHECK_EQ(pwrite(fd, &byte, 1, at), 1);
	}
	CHECK_EQ(look(store.path, &told), 1);
}

/* A reader beside a writer always reads one whole text. Each text has another length. */
static void test_while_it_is_written(void)
{
	static const char all[] =
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(told_done) struct told told = { 0 };
	int status;
	pid_t pid;

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	CHECK_EQ(store_writer_set_status(writer, all, NULL), 0);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int r = 0;

		for (size_t i = 0; i < 3000 && r == 0; i++)
			r = store_writer_set_status(writer, all + i % sizeof(all), NULL);
		_exit(r < 0);
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		CHECK_EQ(look(store.path, &told), 1);
		CHECK(strspn((char *)told.text.data, "a") == strlen((char *)told.text.data));
	}
	CHECK_EQ(status, 0);
}

CHECK_MAIN({ "the last report counts", test_last_one_counts },
	   { "a killed recorder leaves its report", test_killed },
	   { "a damaged report counts as absent", test_damage },
	   { "a reader beside a writer gets whole reports", test_while_it_is_written })
