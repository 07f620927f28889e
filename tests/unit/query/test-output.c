// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <zlib.h>

#include "base/file.h"
#include "cli/answer/guarded-output.h"
#include "query/text/output.h"
#include "tests/tapes.h"

static bool no_tmpfile;

int __real_openat64(int folder, const char *path, int flags, mode_t mode);
int __wrap_openat64(int folder, const char *path, int flags, ...);

/* On request, makes every file system look as if it lacked O_TMPFILE. */
int __wrap_openat64(int folder, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	va_start(args, flags);
	if (flags & (O_CREAT | __O_TMPFILE))
		mode = va_arg(args, mode_t);
	va_end(args);
	if (no_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return __real_openat64(folder, path, flags, mode);
}

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
	int r = output_open(&output, path, false, error);

	for (size_t i = 0; r == 0 && i < times; i++) {
		buffer_text(&output.text, text);
		output_flush(&output);
	}
	return r < 0 ? r : output_commit(&output, error);
}

/* If the writer announced more bytes than it writes, the file does not keep the rest. */
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
	CHECK_EQ(output_open(&output, path, false, NULL), 0);
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
		CHECK_EQ(output_open(&output, path, false, NULL), 0);
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

/* An incomplete file lacks a name, or has a hidden name if the file system requires a name. */
static void test_not_before_it_is_whole(void)
{
	_cleanup_(tapes_store_done) struct tapes_store folder;
	struct output output;
	char path[128];

	tapes_store_init(&folder);
	snprintf(path, sizeof(path), "%s/answer", folder.path);
	for (int i = 0; i < 2; i++) {
		no_tmpfile = i == 1;
		CHECK_EQ(output_open(&output, path, false, NULL), 0);
		buffer_text(&output.text, "half");
		CHECK(access(path, F_OK) < 0);
		CHECK(no_tmpfile ? strstr(output_temporary(&output), "/.answer.") != NULL
				 : !output_temporary(&output));
		CHECK_EQ(files_in(folder.path), no_tmpfile ? 1 : 0);
		output_done(&output);
		CHECK_EQ(files_in(folder.path), 0);
	}
	CHECK_EQ(write_text(path, "whole", 1, NULL), 0);
	no_tmpfile = false;
	CHECK_EQ(write_text(path, "again", 1, NULL), 0);
	CHECK_EQ(files_in(folder.path), 1);
}

/* Runs a child that opens an answer and ends by the signal. */
static void interrupt(const char *path, int number)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		struct output output;

		signal(number, SIG_DFL);
		if (guarded_output_open(&output, path, false, NULL) < 0)
			_exit(1);
		buffer_text(&output.text, "half");
		raise(number);
		_exit(2);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status));
	CHECK_EQ(WTERMSIG(status), number);
}

static void test_interrupted(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	_cleanup_(tapes_store_done) struct tapes_store folder;
	char path[128];

	tapes_store_init(&folder);
	snprintf(path, sizeof(path), "%s/answer.gz", folder.path);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(numbers); i++) {
		no_tmpfile = i % 2;
		interrupt(path, numbers[i / 2]);
		CHECK_EQ(files_in(folder.path), 0);
	}
	/* a killed process leaves at most a file that the next process removes */
	no_tmpfile = false;
	interrupt(path, SIGKILL);
	CHECK_EQ(files_in(folder.path), 0);
	no_tmpfile = true;
	interrupt(path, SIGKILL);
	CHECK_EQ(files_in(folder.path), 1);
	CHECK_EQ(write_text(path, "x", 1, NULL), 0);
	CHECK_EQ(files_in(folder.path), 1);
	no_tmpfile = false;
}

/*
 * Removes only files that an ended process with this file name left. Files of live processes,
 * locked files and other files stay.
 */
static void test_hidden_of_others(void)
{
	/* the text before and after the pid of an ended process */
	static const struct {
		const char *before, *behind;
	} names[] = {
		{ ".answer.", "-0x" }, { ".answer.", "" },   { ".answer.other.", "-0" },
		{ "answer.", "-0" },   { ".answer.", "-1" },
	};
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	_cleanup_(tapes_store_done) struct tapes_store folder;
	_cleanup_close_ int fd = -1;
	char path[128], name[64];
	pid_t pid;

	tapes_store_init(&folder);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		_exit(0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(name, sizeof(name), "%s%d%s", names[i].before, pid, names[i].behind);
		CHECK_EQ(file_replace(folder.path, name, "", 0), 0);
	}
	/* lock the last file */
	snprintf(path, sizeof(path), "%s/%s", folder.path, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	CHECK_EQ(fcntl(fd, F_OFD_SETLK, &lock), 0);
	snprintf(path, sizeof(path), "%s/answer", folder.path);
	snprintf(name, sizeof(name), ".answer.%d-0", getpid());
	CHECK_EQ(file_replace(folder.path, name, "", 0), 0);
	CHECK_EQ(write_text(path, "x", 1, NULL), 0);
	CHECK_EQ(files_in(folder.path), ARRAY_SIZE(names) + 2);
	close(take_fd(fd));
	CHECK_EQ(write_text(path, "x", 1, NULL), 0);
	CHECK_EQ(files_in(folder.path), ARRAY_SIZE(names) + 1);
}

static void test_gzip(void)
{
	_cleanup_(tapes_store_done) struct tapes_store folder;
	char path[128], text[64], expected[64];
	struct output output;
	gzFile file;

	tapes_store_init(&folder);
	snprintf(path, sizeof(path), "%s/answer.gz", folder.path);
	CHECK_EQ(output_open(&output, path, false, NULL), 0);
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
	/* nobody may write to this folder, not even root */
	CHECK(write_text("/proc/perftape", "x", 1, &error) < 0);
	snprintf(path, sizeof(path), "%s/%0*d", folder.path, 40, 7);
	CHECK_EQ(write_text(path, "x", 1, &error), 0);
}

/* If the file has the longest possible name, the hidden name cannot be longer. */
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

/* A file that only its owner could read stays readable only for the owner. */
static void test_rights(void)
{
	_cleanup_(tapes_store_done) struct tapes_store folder;
	char path[128];
	mode_t mask = umask(022);

	tapes_store_init(&folder);
	snprintf(path, sizeof(path), "%s/answer", folder.path);
	CHECK_EQ(write_text(path, "x", 1, NULL), 0);
	CHECK_EQ(mode_of(path), 0600);
	CHECK_EQ(chmod(path, 0400), 0);
	CHECK_EQ(write_text(path, "x", 1, NULL), 0);
	CHECK_EQ(mode_of(path), 0400);
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

/* A symbolic link stays a link, also if its target does not exist. */
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

#define SOMEBODY 65534

/* A file of another user stays, unless it is forced. */
static void test_file_of_another(void)
{
	_cleanup_(tapes_store_done) struct tapes_store folder;
	char path[128], text[256];
	struct output output;
	struct error error;

	tapes_store_init(&folder);
	snprintf(path, sizeof(path), "%s/answer", folder.path);
	CHECK_EQ(file_replace(folder.path, "answer", "theirs", 6), 0);
	/* only root can give files away */
	if (chown(path, SOMEBODY, SOMEBODY) < 0)
		return;
	CHECK_EQ(write_text(path, "x", 1, &error), -EPERM);
	snprintf(text, sizeof(text),
		 "cannot write %s: another user owns it; give another name, or --force", path);
	CHECK_STR(error.text, text);
	CHECK_EQ(output_open(&output, path, true, NULL), 0);
	CHECK_EQ(output_commit(&output, NULL), 0);
	CHECK_EQ(unlink(path), 0);
	/* the same if the other file appears later */
	CHECK_EQ(output_open(&output, path, false, NULL), 0);
	CHECK_EQ(file_replace(folder.path, "answer", "theirs", 6), 0);
	CHECK_EQ(chown(path, SOMEBODY, SOMEBODY), 0);
	CHECK_EQ(output_commit(&output, NULL), -EPERM);
	CHECK_EQ(files_in(folder.path), 1);
	CHECK_EQ(unlink(path), 0);
	/* a named pipe would give the answer to the other user */
	CHECK_EQ(mkfifo(path, 0666), 0);
	CHECK_EQ(chown(path, SOMEBODY, SOMEBODY), 0);
	CHECK_EQ(write_text(path, "x", 1, &error), -EPERM);
}

/*
 * output_open() refuses a link that another user put into a shared folder, wherever the link leads.
 */
static void test_link_of_another(void)
{
	static const char *const targets[] = { "inner/file", "inner/none" };
	_cleanup_(tapes_store_done) struct tapes_store folder;
	char link[128], inner[128], text[512];
	struct error error;

	tapes_store_init(&folder);
	snprintf(inner, sizeof(inner), "%s/inner", folder.path);
	snprintf(link, sizeof(link), "%s/link", folder.path);
	CHECK_EQ(mkdir(inner, 0700), 0);
	CHECK_EQ(file_replace(inner, "file", "ours", 4), 0);
	CHECK_EQ(chmod(folder.path, 01777), 0);
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		CHECK_EQ(symlink(targets[i], link), 0);
		if (lchown(link, SOMEBODY, SOMEBODY) < 0)
			return;
		snprintf(text, sizeof(text), "another user owns the link %s; ", link);
		CHECK_EQ(write_text(link, "x", 1, &error), -EACCES);
		CHECK(strstr(error.text, text));
		CHECK_EQ(files_in(inner), 1);
		CHECK_EQ(lchown(link, geteuid(), -1), 0);
		CHECK_EQ(write_text(link, "x", 1, NULL), 0);
		CHECK(is_link(link));
		CHECK_EQ(unlink(link), 0);
	}
}

/*
 * An answer does not replace a file behind standard output, because the file may already have other
 * contents.
 */
static void test_file_of_standard_output(void)
{
	_cleanup_(tapes_store_done) struct tapes_store folder;
	_cleanup_free_ char *data = NULL;
	int kept = dup(STDOUT_FILENO), fd;
	char path[128];

	tapes_store_init(&folder);
	snprintf(path, sizeof(path), "%s/answer", folder.path);
	CHECK_EQ(file_replace(folder.path, "answer", "more ", 5), 0);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	fflush(stdout);
	dup2(fd, STDOUT_FILENO);
	CHECK_EQ(write_text("/dev/stdout", "x", 1, NULL), 0);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	close(fd);
	CHECK_EQ(file_read(path, 100, &data, NULL), 0);
	CHECK_STR(data, "more x");
}

/* Runs with the descriptor as standard output. Returns what output_commit() returned. */
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

CHECK_MAIN({ "an announced size that does not come", test_expected },
	   { "a file is replaced", test_file },
	   { "a file appears when it is complete", test_not_before_it_is_whole },
	   { "an interrupted process leaves no file", test_interrupted },
	   { "only what is stale and ours is removed", test_hidden_of_others },
	   { "a name with .gz makes gzip", test_gzip },
	   { "errors of writing are reported", test_failures },
	   { "the longest name works", test_longest_name },
	   { "the file keeps its mode", test_rights }, { "symbolic links stay", test_links },
	   { "a file of another user stays", test_file_of_another },
	   { "a link of another user is refused", test_link_of_another },
	   { "a file behind standard output is kept", test_file_of_standard_output },
	   { "standard output works", test_standard_output })
