// SPDX-License-Identifier: GPL-2.0-only
/* Unpacks in a helper process, also in one that crashes, hangs or lies. */
#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "pack/gzip.h"
#include "pack/zstd.h"
#include "process/fd-message.h"
#include "process/helper.h"
#include "unpacker/unpack-file.h"
#include "tests/fake-clock.h"
#include "unpacker/unpack-helper.h"
#include "unpacker/unpack-server.h"

#define LIMIT (8u << 20)
#define TEXT_SIZE (1u << 20)

/* ---- the helper ---- */

/* The byte behind the magic number of gzip, where a real file has 8. */
enum behaviour {
	CRASHES = 'c',
	HANGS = 'h',
	GIVES_TOO_MUCH = 'm',
	GIVES_TOO_LITTLE = 'l',
	RESULTS_IN_OTHER = 'o',
	GOES_ON = 'g',
	TRICKLES = 't',
	NEVER_READS = 'n',
};

/* Sends the largest part byte by byte. */
static void trickle(int socket)
{
	int32_t number = UNPACK_PART_MAX;
	int r = fd_message_send_all(socket, &number, sizeof(number));

	while (r == 0)
		r = fd_message_send_all(socket, "x", 1);
}

/* Answers each question as soon as its bytes arrive, and leaves them in the socket. */
static void answer_unread(int socket)
{
	const int32_t result = 0;
	int there = 0;

	for (int wanted = UNPACK_QUESTION_MAX;; wanted += 4 + UNPACK_QUESTION_MAX) {
		while (ioctl(socket, FIONREAD, &there) == 0 && there < wanted)
			usleep(1000);
		if (fd_message_send_all(socket, &result, sizeof(result)) < 0)
			return;
	}
}

static void behave(int socket, enum behaviour behaviour)
{
	int32_t number = behaviour == RESULTS_IN_OTHER	 ? -EPERM
			 : behaviour == GIVES_TOO_LITTLE ? 100
							 : UNPACK_PART_MAX + 1;

	if (behaviour == CRASHES)
		__builtin_trap();
	while (behaviour == HANGS)
		pause();
	if (behaviour == TRICKLES)
		trickle(socket);
	if (behaviour == NEVER_READS)
		answer_unread(socket);
	if (behaviour == GOES_ON)
		fd_message_send_all(socket, "\0\0\0\0\0", 5);
	fd_message_send_all(socket, &number, sizeof(number));
}

static int obedient_run(int socket)
{
	uint8_t head[UNPACK_HEAD], question[4];

	if (recv(socket, head, sizeof(head), MSG_PEEK | MSG_WAITALL) != sizeof(head))
		return 1;
	if (memcmp(head, "\x1f\x8b\x08", 3) == 0 || head[0] != 0x1f)
		return unpack_server_run(socket);
	fd_message_receive_all(socket, head, sizeof(head));
	fd_message_receive_all(socket, question, sizeof(question));
	behave(socket, head[2]);
	return 0;
}

static __attribute__((constructor)) void enter(int argc, char **argv)
{
	static const struct helper_job jobs[] = { { UNPACK_SERVER_JOB, obedient_run }, { 0 } };

	helper_enter(argc, argv, jobs);
}

/* ---- the test ---- */

/* No poll for these events waits, because the helper hangs. */
static short hung_events;
/* A poll takes this time. */
static uint64_t slow_ns;

int __real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	int ready = __real_poll(fds, count, fds->events & hung_events ? 0 : timeout_ms);

	fake_clock_pass(slow_ns);
	return ready;
}

static void make_text(struct buffer *text)
{
	for (unsigned int i = 0; text->size < TEXT_SIZE; i++)
		buffer_printf(text, "line %u\n", i * i);
	text->size = TEXT_SIZE;
	CHECK(!buffer_failed(text));
}

static int make_gzip(const struct buffer *text)
{
	struct gzip_writer *writer;
	int fd = memfd_create("packed", MFD_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(gzip_writer_new(fd, &writer), 0);
	CHECK_EQ(gzip_write(writer, text->data, text->size, true), 0);
	gzip_writer_free(writer);
	return fd;
}

static int make_file(const void *bytes, size_t size)
{
	int fd = memfd_create("packed", MFD_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(file_write_all(fd, bytes, size), 0);
	return fd;
}

static int make_zstd(const struct buffer *text)
{
	_cleanup_(buffer_done) struct buffer packed = { 0 };

	CHECK_EQ(zstd_append(&packed, text->data, text->size, 3), 0);
	return make_file(packed.data, packed.size);
}

static void check_unpacked(int fd, const void *text, size_t size, bool damaged)
{
	_cleanup_free_ char *got = NULL;
	struct error error = { 0 };
	bool is_damaged = false;
	size_t got_size;

	CHECK_EQ(unpack_file(&fd, "/tmp", LIMIT, &is_damaged, &error), 1);
	CHECK_EQ(is_damaged, damaged);
	CHECK_EQ(file_read_fd(fd, LIMIT, &got, &got_size), 0);
	CHECK_EQ(got_size, size);
	CHECK(memcmp(got, text, size) == 0);
	close(fd);
}

static void test_files(void)
{
	/* three times "packed text" */
	static const uint8_t xz[] = {
		0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02, 0x00,
		0x21, 0x01, 0x16, 0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0xe0, 0x00, 0x23, 0x00,
		0x13, 0x5d, 0x00, 0x38, 0x18, 0x48, 0x99, 0xcd, 0x5c, 0x1c, 0x25, 0x42, 0xa8, 0x6e,
		0xbb, 0x65, 0x12, 0x3f, 0x0e, 0x4e, 0x40, 0x00, 0x00, 0x00, 0xbe, 0xb9, 0xe8, 0xa2,
		0x25, 0xa5, 0x04, 0xa2, 0x00, 0x01, 0x2f, 0x24, 0x97, 0x69, 0x99, 0x0e, 0x1f, 0xb6,
		0xf3, 0x7d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5a,
	};
	static const char xz_text[] = "packed text\npacked text\npacked text\n";
	_cleanup_(buffer_done) struct buffer text = { 0 };
	int fd;

	make_text(&text);
	check_unpacked(make_gzip(&text), text.data, text.size, false);
	check_unpacked(make_zstd(&text), text.data, text.size, false);
	check_unpacked(make_file(xz, sizeof(xz)), xz_text, strlen(xz_text), false);
	/* what precedes the damage is kept; the checksum is damaged */
	fd = make_gzip(&text);
	CHECK_EQ(pwrite(fd, "damaged", 7, lseek(fd, 0, SEEK_END) - 8), 7);
	check_unpacked(fd, text.data, text.size, true);
}

static void check_refused(int fd, const char *folder, uint64_t limit, int r, const char *text)
{
	struct error error = { 0 };
	bool damaged = false;

	CHECK_EQ(unpack_file(&fd, folder, limit, &damaged, &error), r);
	CHECK(strstr(error.text, text));
	close(fd);
}

static void test_refused(void)
{
	/* a window of 1 GB */
	static const uint8_t window[] = { 0x28, 0xb5, 0x2f, 0xfd, 0, 0xa0, 0x01, 0, 0 };
	_cleanup_(buffer_done) struct buffer zeros = { 0 };

	CHECK(buffer_room(&zeros, LIMIT));
	memset(zeros.data, 0, LIMIT);
	zeros.size = LIMIT;
	check_refused(make_zstd(&zeros), "/tmp", 7 << 20, -EFBIG, "unpacks to more than 7 MB");
	check_refused(make_gzip(&zeros), "/nowhere", LIMIT, -ENOENT, "unpacking into /nowhere");
	check_refused(make_file(window, sizeof(window)), "/tmp", LIMIT, -ENOBUFS, "memory");
	/* a folder has no bytes to read, and the folder of the output is not to blame */
	check_refused(open("/tmp", O_RDONLY | O_CLOEXEC), "/tmp", LIMIT, -EISDIR, "directory");
	check_refused(make_file("not packed", 10), "/tmp", LIMIT, 0, "");
	check_refused(make_file("", 0), "/tmp", LIMIT, 0, "");
}

static int count(void *context, const uint8_t *data, size_t size)
{
	*(size_t *)context += size;
	return 0;
}

static int refuse(void *context, const uint8_t *data, size_t size)
{
	return -ECANCELED;
}

/* Pieces of any size make the same stream. After the caller gives up, the helper is gone. */
static void test_pieces(void)
{
	_cleanup_(cleanup_unpack_helper) struct unpack_helper *helper = NULL;
	_cleanup_(buffer_done) struct buffer text = { 0 }, packed = { 0 };
	size_t size = 0;

	make_text(&text);
	CHECK_EQ(zstd_append(&packed, text.data, text.size, 1), 0);
	CHECK_EQ(unpack_helper_new(packed.data, &helper), 0);
	CHECK_EQ(unpack_helper_feed(helper, packed.data, 1, count, &size), 0);
	CHECK_EQ(unpack_helper_feed(helper, packed.data + 1, packed.size - 1, count, &size), 0);
	CHECK_EQ(size, text.size);
	CHECK_EQ(unpack_helper_finish(helper, count, &size), 0);
	CHECK_EQ(unpack_helper_feed(helper, packed.data, packed.size, refuse, NULL), -ECANCELED);
	CHECK_EQ(unpack_helper_feed(helper, packed.data, packed.size, count, &size), -EPROTO);
	CHECK_EQ(unpack_helper_finish(helper, count, &size), -EPROTO);
}

static struct unpack_helper *make_behaving(enum behaviour behaviour)
{
	const uint8_t head[UNPACK_HEAD] = { 0x1f, 0x8b, behaviour };
	struct unpack_helper *helper = NULL;

	CHECK_EQ(unpack_helper_new(head, &helper), 0);
	return helper;
}

/* Feeds a helper that ends its stream, and then is gone. */
static int feed_behaving(enum behaviour behaviour, size_t *ret_size)
{
	_cleanup_(cleanup_unpack_helper) struct unpack_helper *helper = make_behaving(behaviour);
	const uint8_t head[UNPACK_HEAD] = { 0x1f, 0x8b, behaviour };
	size_t size = 0;
	int r;

	hung_events = behaviour == HANGS ? POLLIN : 0;
	r = unpack_helper_feed(helper, head, sizeof(head), count, &size);
	hung_events = 0;
	*ret_size = size;
	CHECK_EQ(unpack_helper_feed(helper, head, sizeof(head), count, &size), -EPROTO);
	return r;
}

static void check_behaving(enum behaviour behaviour, int result)
{
	size_t size;

	CHECK_EQ(feed_behaving(behaviour, &size), result);
	CHECK_EQ(size, 0);
}

static void test_hostile(void)
{
	check_behaving(CRASHES, -EPROTO);
	check_behaving(HANGS, -ETIME);
	check_behaving(GIVES_TOO_MUCH, -EPROTO);
	check_behaving(GIVES_TOO_LITTLE, -EPROTO);
	check_behaving(RESULTS_IN_OTHER, -EPROTO);
	check_behaving(GOES_ON, -EPROTO);
}

/* Single bytes that come in time do not gain time for the part. */
static void test_trickle(void)
{
	size_t size;

	slow_ns = 900 * NSEC_PER_MSEC;
	CHECK_EQ(feed_behaving(TRICKLES, &size), -ETIME);
	slow_ns = 0;
	CHECK(size < UNPACK_PART_MAX);
}

/* Its socket is full after some questions; then sending must not wait for ever. */
static void test_never_reads(void)
{
	_cleanup_(cleanup_unpack_helper) struct unpack_helper *helper = make_behaving(NEVER_READS);
	static const uint8_t question[UNPACK_QUESTION_MAX];
	size_t size = 0;
	int r = 0;

	hung_events = POLLOUT;
	for (int i = 0; r == 0 && i < 1024; i++)
		r = unpack_helper_feed(helper, question, sizeof(question), count, &size);
	hung_events = 0;
	CHECK_EQ(r, -ETIME);
	CHECK_EQ(size, 0);
}

CHECK_MAIN({ "files are unpacked", test_files },
	   { "other files are refused, and the reason is said", test_refused },
	   { "a stream comes in pieces", test_pieces },
	   { "a helper that crashes, hangs or lies costs its stream", test_hostile },
	   { "a helper that sends single bytes costs its stream", test_trickle },
	   { "a helper that answers and never reads costs its stream", test_never_reads })
