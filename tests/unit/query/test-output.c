// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/file.h"
#include "query/text/output.h"
#include "tests/tapes.h"

static size_t files_in(const char *path)
{
	DIR *folder = opendir(path);
	size_t count = 0;

	CHECK(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count - 2;
}

static int write_text(const char *path, const char *text, size_t times, struct error *error)
{
	struct output output;
	int r = output_open(&output, path, error);

	for (size_t i = 0; r == 0 && i < times; i++) {
		buffer_text(&output.text, text);
		output_flush(&output);
	}
	return r < 0 ? r : output_commit(&output, error);
}

/* What is said to come and does not come leaves nothing in the file. */
static void test_expected(void)
{
	static const char *const others[] = { "/dev/null", "answer.gz" };
	_cleanup_(tapes_store_done) struct tapes_store folder;
	_cleanup_free_ char *data = NULL;
	char path[128];
	struct output output;
	size_t size;

	tapes_store_init(&folder);
	snprintf(path, sizeof(path), "%s/answer", folder.path);
	CHECK_EQ(output_open(&output, path, NULL), 0);
	output_expect(&output, 0);
	output_expect(&output, 1 << 20);
	output_expect(&output, UINT64_MAX);
	buffer_text(&output.text, "short");
	CHECK_EQ(output_commit(&output, NULL), 0);
	CHECK_EQ(file_read(path, 10 << 20, &data, &size), 0);
	CHECK_EQ(size, 5);
	CHECK_STR(data, "short");
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		snprintf(path, sizeof(path), "%s%s%s", *others[i] == '/' ? "" : folder.path,
			 *others[i] == '/' ? "" : "/", others[i]);
		CHECK_EQ(output_open(&output, path, NULL), 0);
		output_expect(&output, 1 << 20);
		CHECK_EQ(output_commit(&output, NULL), 0);
	}
}

static void test_file(void)
{
	_cleanup_(tapes_store_done) struct tapes_store folder;
	_cleanup_free_ char *data = NULL, *again = NULL;
	char path[128], link[128];
	struct stat about;
	size_t size;

	tapes_store_init(&folder);
	snprintf(path, sizeof(path), "%s/answer", folder.path);
	snprintf(link, sizeof(link), "%s/link", folder.path);
	CHECK_EQ(write_text(path, "0123456789", 100000, NULL), 0);
	CHECK_EQ(file_read(path, 10 << 20, &data, &size), 0);
	CHECK_EQ(size, 1000000);
	CHECK(!memcmp(data + 999990, "0123456789", 11));
	CHECK_EQ(symlink("answer", link), 0);
	CHECK_EQ(write_text(link, "new", 1, NULL), 0);
	CHECK_EQ(file_read(path, 100, &again, &size), 0);
	CHECK_STR(again, "new");
	CHECK_EQ(lstat(link, &about), 0);
	CHECK(S_ISLNK(about.st_mode));
	CHECK_EQ(files_in(folder.path), 2);
}

/* Until it is whole, nothing has its name, and what there is of it is hidden. */
static void test_not_before_it_is_whole(void)
{
	_cleanup_(tapes_store_done) struct tapes_store folder;
	struct output output;
	char path[128];

	tapes_store_init(&folder);
	snprintf(path, sizeof(path), "%s/answer", folder.path);
	CHECK_EQ(output_open(&output, path, NULL), 0);
	buffer_text(&output.text, "half");
	CHECK(access(path, F_OK) < 0);
	CHECK(strstr(output.temporary, "/.answer."));
	CHECK_EQ(files_in(folder.path), 1);
	output_done(&output);
	CHECK_EQ(files_in(folder.path), 0);
}

static void test_gzip(void)
{
	_cleanup_(tapes_store_done) struct tapes_store folder;
	char path[128], text[64], expected[64];
	struct output output;
	gzFile file;

	tapes_store_init(&folder);
	snprintf(path, sizeof(path), "%s/answer.gz", folder.path);
	CHECK_EQ(output_open(&output, path, NULL), 0);
	for (int i = 0; i < 100000; i++) {
		buffer_printf(&output.text, "line %d\n", i);
		output_flush(&output);
	}
	CHECK_EQ(output_commit(&output, NULL), 0);
	file = gzopen(path, "r");
	CHECK(file);
	for (int i = 0; i < 100000; i++) {
		snprintf(expected, sizeof(expected), "line %d\n", i);
		CHECK(gzgets(file, text, sizeof(text)));
		CHECK_STR(text, expected);
	}
	CHECK(!gzgets(file, text, sizeof(text)));
	CHECK_EQ(gzdirect(file), 0);
	gzclose(file);
}

static void test_failures(void)
{
	_cleanup_(tapes_store_done) struct tapes_store folder;
	struct error error;
	char path[128], text[256];

	tapes_store_init(&folder);
	CHECK_EQ(write_text("/dev/full", "x", 1, &error), -ENOSPC);
	CHECK_STR(error.text, "cannot write /dev/full: No space left on device");
	CHECK_EQ(write_text("/dev/full", "0123456789", 1 << 20, &error), -ENOSPC);
	CHECK_EQ(write_text("/dev/null", "x", 1, &error), 0);
	snprintf(path, sizeof(path), "%s/none/answer", folder.path);
	snprintf(text, sizeof(text), "cannot write %s: No such file or directory", path);
	CHECK_EQ(write_text(path, "x", 1, &error), -ENOENT);
	CHECK_STR(error.text, text);
	CHECK_EQ(write_text(folder.path, "x", 1, &error), -EISDIR);
	/* nobody may write there, not even root */
	CHECK(write_text("/proc/perftape", "x", 1, &error) < 0);
	snprintf(path, sizeof(path), "%s/%0*d", folder.path, 40, 7);
	CHECK_EQ(write_text(path, "x", 1, &error), 0);
}

/* A name that leaves no room for a longer one beside it. */
static void test_longest_name(void)
{
	_cleanup_(tapes_store_done) struct tapes_store folder;
	char path[512];

	tapes_store_init(&folder);
	snprintf(path, sizeof(path), "%s/%0255d", folder.path, 7);
	CHECK_EQ(write_text(path, "x", 1, NULL), 0);
	CHECK_EQ(access(path, F_OK), 0);
}

static mode_t mode_of(const char *path)
{
	struct stat about;

	CHECK_EQ(stat(path, &about), 0);
	return about.st_mode & 0777;
}

/* A file that only its owner could read stays one. */
static void test_rights(void)
{
	_cleanup_(tapes_store_done) struct tapes_store folder;
	char path[128];
	mode_t mask = umask(022);

	tapes_store_init(&folder);
	snprintf(path, sizeof(path), "%s/answer", folder.path);
	CHECK_EQ(write_text(path, "x", 1, NULL), 0);
	CHECK_EQ(mode_of(path), 0644);
	CHECK_EQ(chmod(path, 0600), 0);
	CHECK_EQ(write_text(path, "x", 1, NULL), 0);
	CHECK_EQ(mode_of(path), 0600);
	CHECK_EQ(chmod(path, 0664), 0);
	CHECK_EQ(write_text(path, "x", 1, NULL), 0);
	CHECK_EQ(mode_of(path), 0664);
	umask(mask);
}

static bool is_link(const char *path)
{
	struct stat about;

	return lstat(path, &about) == 0 && S_ISLNK(about.st_mode);
}

/* A link stays, whether there is something behind it or not. */
static void test_links(void)
{
	_cleanup_(tapes_store_done) struct tapes_store folder;
	char link[128], second[128], file[128], inner[128];

	tapes_store_init(&folder);
	snprintf(inner, sizeof(inner), "%s/inner", folder.path);
	snprintf(file, sizeof(file), "%s/inner/file", folder.path);
	snprintf(link, sizeof(link), "%s/link", folder.path);
	snprintf(second, sizeof(second), "%s/second", folder.path);
	CHECK_EQ(mkdir(inner, 0700), 0);
	CHECK_EQ(symlink("inner/file", link), 0);
	CHECK_EQ(symlink(link, second), 0);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(write_text(second, "x", 1, NULL), 0);
		CHECK(is_link(link) && is_link(second) && !is_link(file));
		CHECK_EQ(access(file, R_OK), 0);
		CHECK_EQ(files_in(inner), 1);
	}
	CHECK_EQ(unlink(link), 0);
	CHECK_EQ(symlink("link", link), 0);
	CHECK_EQ(write_text(link, "x", 1, NULL), -ELOOP);
	CHECK(is_link(link));
}

/* Runs with a descriptor as standard output, and gives back what output_commit() said. */
static int write_to_standard_output(int fd, struct error *error)
{
	int kept = dup(STDOUT_FILENO), r;

	fflush(stdout);
	dup2(fd, STDOUT_FILENO);
	r = write_text("-", "0123456789", 1 << 20, error);
	if (fcntl(STDOUT_FILENO, F_GETFD) < 0)
		r = -EBADF;
	dup2(kept, STDOUT_FILENO);
	close(kept);
	return r;
}

static void test_standard_output(void)
{
	struct error error = { 0 };
	int ends[2], full = open("/dev/full", O_WRONLY), null = open("/dev/null", O_WRONLY);

	signal(SIGPIPE, SIG_IGN);
	CHECK_EQ(pipe(ends), 0);
	close(ends[0]);
	CHECK_EQ(write_to_standard_output(ends[1], &error), -EPIPE);
	CHECK_STR(error.text, "");
	CHECK_EQ(write_to_standard_output(full, &error), -ENOSPC);
	CHECK_STR(error.text, "cannot write standard output: No space left on device");
	CHECK_EQ(write_to_standard_output(null, &error), 0);
	close(ends[1]);
	close(full);
	close(null);
}

CHECK_MAIN({ "what is expected", test_expected }, { "a file is replaced", test_file },
	   { "it appears when it is whole", test_not_before_it_is_whole },
	   { "gzip by name", test_gzip }, { "what cannot be written", test_failures },
	   { "the longest name", test_longest_name },
	   { "the rights of what is there", test_rights }, { "symbolic links", test_links },
	   { "standard output", test_standard_output })
