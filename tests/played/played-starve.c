// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs the program again and again, and each time another allocation fails. An allocation is
 * identified by the calls that lead to it, so that each place in the program fails once for each
 * way that leads there.
 *
 * The environment variable PERFTAPE_STARVE names a report, and PERFTAPE_STARVE_RESET a shell
 * command that runs before each run. Each run is a separate process, forked before main(). A run is
 * right if it gives the same output and exit code as without a failure. It is also right if a
 * message says that memory ran out, and the exit code is 1 or as without a failure. The report has
 * a paragraph for each other run, and at its end the number of runs. PERFTAPE_STARVE_EVERY and
 * PERFTAPE_STARVE_FIRST leave most places out.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "tests/played/played.h"

#define PLACES_MAX 65536
#define DEPTH_MAX 24
#define OUTPUT_MAX (64u << 20)
/* A run that takes longer hangs. */
#define LIMIT_S 120

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
int __wrap_asprintf(char **ret_text, const char *format, ...);

/* The begin and the end of the program's code. */
extern const char __executable_start, etext;

struct starve_place {
	uint64_t hash;
	uint32_t calls[DEPTH_MAX];
	uint32_t depth;
};

/* All runs share this. */
struct starve_shared {
	_Atomic uint32_t count;
	struct starve_place places[PLACES_MAX];
};

struct starve_result {
	int status;
	char *out, *err;
	size_t out_size;
};

static struct {
	struct starve_shared *shared;
	enum { STARVE_OFF, STARVE_LIST, STARVE_FAIL } mode;
	uint64_t hash;
	_Atomic bool failed;
	/* number of calls that identify an allocation */
	uint32_t depth;
	/* in shared memory, so that a run does not count the memory of these results as leaked */
	struct starve_result right, result;
} starve;

/* The thread runs code that is not the program's, so its allocations do not fail. */
static _Thread_local bool starve_busy = true;

/* Follows the frame pointers as long as they lead through the program's own code. */
static void starve_find(struct starve_place *place)
{
	const uintptr_t *frame = __builtin_frame_address(0);
	uintptr_t begin = (uintptr_t)&__executable_start, end = (uintptr_t)&etext;

	place->hash = 14695981039346656037ull;
	place->depth = 0;
	/* skips the return addresses of this file's frames except the last */
	while (frame && !((uintptr_t)frame & 7) && place->depth < starve.depth) {
		uintptr_t call = frame[1], above = frame[0];

		if (call < begin || call >= end)
			return;
		place->calls[place->depth++] = call - begin;
		place->hash = (place->hash ^ (call - begin)) * 1099511628211ull;
		if (above <= (uintptr_t)frame || above - (uintptr_t)frame > 1 << 20)
			return;
		frame = (const uintptr_t *)above;
	}
}

bool played_starve(bool on)
{
	bool before = !starve_busy;

	starve_busy = !on;
	return before;
}

static void starve_list(const struct starve_place *place)
{
	struct starve_shared *shared = starve.shared;
	uint32_t count = shared->count;

	for (uint32_t i = 0; i < count && i < PLACES_MAX; i++)
		if (shared->places[i].hash == place->hash)
			return;
	count = shared->count++;
	if (count < PLACES_MAX)
		shared->places[count] = *place;
}

static bool starve_strikes(void)
{
	struct starve_place place;
	bool strikes;

	if (starve.mode == STARVE_OFF || starve_busy)
		return false;
	starve_busy = true;
	starve_find(&place);
	if (starve.mode == STARVE_LIST)
		starve_list(&place);
	strikes = starve.mode == STARVE_FAIL && place.hash == starve.hash && !starve.failed;
	if (strikes) {
		starve.failed = true;
		errno = ENOMEM;
	}
	starve_busy = false;
	return strikes;
}

void *__wrap_malloc(size_t size)
{
	return starve_strikes() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return starve_strikes() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return starve_strikes() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
	return starve_strikes() ? NULL : __real_strdup(text);
}

int __wrap_asprintf(char **ret_text, const char *format, ...)
{
	va_list args;
	int r;

	if (starve_strikes())
		return -1;
	va_start(args, format);
	r = vasprintf(ret_text, format, args);
	va_end(args);
	return r;
}

/* ---- runs ---- */

/* Starts a run. Returns only in the child, which goes on to main(). */
static pid_t starve_fork(int out, int err)
{
	const char *reset = getenv("PERFTAPE_STARVE_RESET");
	pid_t pid;

	if (reset && system(reset) != 0)
		played_fail("PERFTAPE_STARVE_RESET failed");
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		played_fail("fork: %s", strerror(errno));
	if (pid)
		return pid;
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(out);
	close(err);
	alarm(LIMIT_S);
	return 0;
}

static int starve_file(void)
{
	int fd = memfd_create("starve", MFD_CLOEXEC);

	if (fd < 0)
		played_fail("memfd_create: %s", strerror(errno));
	return fd;
}

/* Returns false in the process of a run. */
static bool starve_run(struct starve_result *ret_result)
{
	_cleanup_close_ int out = starve_file(), err = starve_file();
	pid_t pid = starve_fork(out, err);

	if (!pid) {
		/* the run has closed its outputs */
		(void)take_fd(out);
		(void)take_fd(err);
		return false;
	}
	if (waitpid(pid, &ret_result->status, 0) != pid ||
	    file_read_fd(out, OUTPUT_MAX, &ret_result->out, &ret_result->out_size) < 0 ||
	    file_read_fd(err, OUTPUT_MAX, &ret_result->err, NULL) < 0)
		played_fail("a run gives no result");
	return true;
}

static void starve_result_done(struct starve_result *result)
{
	free(result->out);
	free(result->err);
	*result = (struct starve_result){ 0 };
}

/*
 * Moves to the next byte of a message. Skips the sizes of what was written, because how well bytes
 * pack may differ.
 */
static char starve_next(const char **at)
{
	size_t digits = strspn(*at, "0123456789.");

	if (digits &&
	    (strncmp(*at + digits, " kB", 3) == 0 || strncmp(*at + digits, " MB", 3) == 0))
		*at += digits;
	return *(*at)++;
}

static bool starve_is_same_text(const char *one, const char *other)
{
	char left, right;

	do {
		left = starve_next(&one);
		right = starve_next(&other);
	} while (left && left == right);
	return left == right;
}

static bool starve_is_same(const struct starve_result *one, const struct starve_result *other)
{
	return one->status == other->status && one->out_size == other->out_size &&
	       memcmp(one->out, other->out, one->out_size) == 0 &&
	       starve_is_same_text(one->err, other->err);
}

/*
 * Returns whether a message says that memory ran out. A recorder goes on nevertheless, so its exit
 * code may be as usual.
 */
static bool starve_is_told(const struct starve_result *result, const struct starve_result *right)
{
	static const char *const ways[] = { "out of memory", "Cannot allocate memory",
					    "no memory" };

	if (!WIFEXITED(result->status) ||
	    (WEXITSTATUS(result->status) != 1 && result->status != right->status))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		if (strstr(result->err, ways[i]))
			return true;
	return false;
}

static bool starve_is_broken(const struct starve_result *result)
{
	return strstr(result->err, "Sanitizer") || strstr(result->err, "runtime error");
}

static void starve_report(FILE *report, uint32_t at, const struct starve_result *result,
			  const struct starve_result *right)
{
	const struct starve_place *place = &starve.shared->places[at];

	fprintf(report, "place");
	for (uint32_t i = 0; i < place->depth; i++)
		fprintf(report, " %#x", place->calls[i]);
	fprintf(report, "\nended %#x instead of %#x, %s output\n", result->status, right->status,
		starve_is_same(result, right) ? "the same" : "another");
	for (char *rest = result->err, *line; (line = strsep(&rest, "\n"));)
		if (*line)
			fprintf(report, "said %s\n", line);
	fprintf(report, "\n");
}

static unsigned int starve_number(const char *name, unsigned int usual)
{
	return getenv(name) ? strtoul(getenv(name), NULL, 10) : usual;
}

/* Runs before all other constructors, because each run sets up its own machine. */
__attribute__((constructor(1000))) static void starve_init(void)
{
	const char *path = getenv("PERFTAPE_STARVE");
	unsigned int every = starve_number("PERFTAPE_STARVE_EVERY", 1);
	unsigned int first = starve_number("PERFTAPE_STARVE_FIRST", 0);
	unsigned int runs = 0;
	FILE *report;

	if (!path)
		return;
	unsetenv("PERFTAPE_STARVE");
	starve.depth = MIN(starve_number("PERFTAPE_STARVE_DEPTH", 8), DEPTH_MAX);
	starve.shared = mmap(NULL, sizeof(*starve.shared), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	report = fopen(path, "we");
	if (starve.shared == MAP_FAILED || !report)
		played_fail("%s: %s", path, strerror(errno));
	starve.mode = STARVE_LIST;
	if (!starve_run(&starve.right))
		return;
	for (uint32_t i = 0; i < MIN(starve.shared->count, PLACES_MAX); i++) {
		if (i % every != first % every)
			continue;
		starve.mode = STARVE_FAIL;
		starve.hash = starve.shared->places[i].hash;
		if (!starve_run(&starve.result))
			return;
		if (starve_is_broken(&starve.result) ||
		    (!starve_is_same(&starve.result, &starve.right) &&
		     !starve_is_told(&starve.result, &starve.right)))
			starve_report(report, i, &starve.result, &starve.right);
		starve_result_done(&starve.result);
		runs++;
	}
	fprintf(report, "runs %u\n", runs);
	if (starve_is_broken(&starve.right))
		fprintf(report, "said %s\n", starve.right.err);
	if (fclose(report))
		_exit(1);
	_exit(0);
}
