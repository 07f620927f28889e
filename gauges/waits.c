// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads how long single threads waited for a CPU although they could run, from
 * /proc/PID/schedstat: ksoftirqd/N and the kernel's napi threads, which serve the network, and
 * threads that an incident names.
 *
 * The kernel adds a wait when it ends: while the thread waits, the figure does not change. So a
 * growth of 6 s within one second is a wait that began 6 s before.
 *
 *   (1) A descriptor stays open, so that a reading costs one system call for each thread.
 *   (2) Only children of kthreadd count as threads of the kernel: any process may have the name.
 *   (3) A scan reads the names of new children alone, because a large host has thousands.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/intern.h"
#include "gauges/source.h"

/* 100,000 threads of the kernel. */
#define LIMIT (1 << 20)
/* Enough for ksoftirqd of 1,024 CPUs and as many napi threads. */
#define THREADS_MAX 2048
/* The most recent threads that incidents named. */
#define NAMED_MAX 16
/* Readings after which the kernel's threads are looked for again, and a named thread ends. */
#define SCAN_PERIOD 60
#define NAMED_PERIOD 600
/* Beyond this number of names, begins anew: those of named threads would accumulate. */
#define NAMES_MAX 4096
#define COMM_SIZE 64

struct waits_thread {
	uint32_t tid;
	int fd;
	/* The thread's number in `names`. */
	uint32_t name;
	/* The last reading of the thread; UINT64_MAX: none. */
	uint64_t until;
};

struct waits {
	const char *root;
	/* The children of kthreadd. */
	struct source_file children;
	/* Those of the last scan, in ascending order. */
	array_of(uint32_t) seen;
	array_of(uint32_t) current;
	array_of(struct waits_thread) threads;
	/* "ksoftirqd/3", or "COMM:TID" for a named thread. */
	struct strings names;
	/* Two for each name. */
	struct source_ids ids;
	/* The number of readings so far, and of named threads. */
	uint64_t readings;
	size_t named;
};

static void *waits_make(const char *root)
{
	struct waits *waits = calloc(1, sizeof(*waits));

	if (!waits)
		return NULL;
	waits->root = root;
	source_file_init(&waits->children, root, "/proc/2/task/2/children");
	return waits;
}

/* Removes a thread by its place. The last thread takes the place. */
static void waits_drop(struct waits *waits, size_t place)
{
	struct waits_thread *thread = &waits->threads.items[place];

	close(thread->fd);
	waits->named -= thread->until != UINT64_MAX;
	*thread = waits->threads.items[--waits->threads.count];
}

static void waits_forget(struct waits *waits)
{
	while (waits->threads.count)
		waits_drop(waits, 0);
	waits->seen.count = 0;
	waits->readings = 0;
	strings_done(&waits->names);
	source_ids_done(&waits->ids);
}

static void waits_done(void *state)
{
	struct waits *waits = state;

	waits_forget(waits);
	source_file_done(&waits->children);
	array_done(&waits->seen);
	array_done(&waits->current);
	array_done(&waits->threads);
	free(waits);
}

static int waits_open(const struct waits *waits, uint32_t tid, const char *file)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/proc/%u/%s", waits->root, tid, file) >=
	    (int)sizeof(path))
		return -1;
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Reads a thread's name. Returns false if the thread is gone. */
static bool waits_read_comm(const struct waits *waits, uint32_t tid, char comm[COMM_SIZE])
{
	_cleanup_close_ int fd = waits_open(waits, tid, "comm");
	ssize_t size = fd < 0 ? -1 : pread(fd, comm, COMM_SIZE - 1, 0);

	if (size <= 0)
		return false;
	comm[size] = 0;
	comm[strcspn(comm, "\n")] = 0;
	return *comm != 0;
}

/* Adds a thread; one whose file cannot be opened does not count. Returns 0 or -ENOMEM. */
static int waits_add(struct waits *waits, uint32_t tid, const char *name, uint64_t until)
{
	struct waits_thread thread = { .tid = tid, .until = until };
	int r;

	if (waits->threads.count >= THREADS_MAX)
		return 0;
	r = strings_add(&waits->names, name, strlen(name), &thread.name);
	if (r < 0)
		return r;
	r = array_reserve(&waits->threads, waits->threads.count + 1);
	if (r < 0)
		return r;
	thread.fd = waits_open(waits, tid, "schedstat");
	if (thread.fd < 0)
		return 0;
	waits->named += until != UINT64_MAX;
	return array_push(&waits->threads, thread);
}

/* Adds a child of kthreadd if it serves softirqs or the network. */
static int waits_see_child(struct waits *waits, uint32_t tid)
{
	char comm[COMM_SIZE];

	if (!waits_read_comm(waits, tid, comm) ||
	    (strncmp(comm, "ksoftirqd/", strlen("ksoftirqd/")) != 0 &&
	     strncmp(comm, "napi/", strlen("napi/")) != 0))
		return 0;
	return waits_add(waits, tid, comm, UINT64_MAX);
}

static int waits_compare(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

static bool waits_has_seen(const struct waits *waits, uint32_t tid)
{
	return waits->seen.count && bsearch(&tid, waits->seen.items, waits->seen.count,
					    sizeof(*waits->seen.items), waits_compare);
}

/* Looks at a child; the name of one that the last scan saw is known. Returns 0 or -ENOMEM. */
static int waits_scan_child(struct waits *waits, uint32_t tid)
{
	int r = array_push(&waits->current, tid);

	return r < 0 || waits_has_seen(waits, tid) ? r : waits_see_child(waits, tid);
}

/* Keeps the children of this scan for the next one, in ascending order. */
static int waits_keep_seen(struct waits *waits)
{
	if (array_reserve(&waits->seen, waits->current.count) < 0)
		return -ENOMEM;
	waits->seen.count = waits->current.count;
	if (!waits->seen.count)
		return 0;
	memcpy(waits->seen.items, waits->current.items,
	       waits->seen.count * sizeof(*waits->seen.items));
	qsort(waits->seen.items, waits->seen.count, sizeof(*waits->seen.items), waits_compare);
	return 0;
}

/* Looks for new threads of the kernel. Returns 0, -ENOMEM, or the error of the list. */
static int waits_scan(struct waits *waits)
{
	int r = source_file_read(&waits->children, LIMIT);
	struct words text, word;
	int64_t tid;

	if (r < 0)
		return r;
	waits->current.count = 0;
	text = (struct words){ waits->children.text, waits->children.text + waits->children.size };
	while (r == 0 && words_next(&text, &word))
		if (words_number(&word, &tid) && tid > 0 && tid <= INT32_MAX)
			r = waits_scan_child(waits, tid);
	if (r < 0)
		return r;
	return waits_keep_seen(waits);
}

/*
 * Parses "run_ns wait_ns times". A kernel that does not keep the figures writes zeros; a thread
 * that never ran has them, too.
 */
static bool waits_parse(const char *text, size_t size, int64_t *ret_wait_us, int64_t *ret_runs)
{
	struct words line = { text, text + size }, word;
	int64_t run_ns, wait_ns, runs;

	if (!words_next(&line, &word) || !words_number(&word, &run_ns) ||
	    !words_next(&line, &word) || !words_number(&word, &wait_ns) ||
	    !words_next(&line, &word) || !words_number(&word, &runs) || !runs)
		return false;
	*ret_wait_us = wait_ns / 1000;
	*ret_runs = runs;
	return true;
}

/* Returns 1 if the thread is gone, 0, or the error of the sink. */
static int waits_put(struct waits *waits, const struct waits_thread *thread,
		     const struct gauges_sink *sink)
{
	const char *name = strings_at(&waits->names, thread->name);
	int64_t wait_us, runs;
	char text[96];
	ssize_t size = pread(thread->fd, text, sizeof(text), 0);
	int r;

	if (size <= 0)
		return 1;
	if (!waits_parse(text, size, &wait_us, &runs))
		return 0;
	r = source_put(&waits->ids, 2 * thread->name, sink, wait_us, "thread/%s/wait_us", name);
	return r < 0 ? r
		     : source_put(&waits->ids, 2 * thread->name + 1, sink, runs, "thread/%s/runs",
				  name);
}

static int waits_put_all(struct waits *waits, const struct gauges_sink *sink)
{
	size_t place = 0;
	int r = 0;

	while (r >= 0 && place < waits->threads.count) {
		const struct waits_thread *thread = &waits->threads.items[place];

		r = waits->readings > thread->until ? 1 : waits_put(waits, thread, sink);
		if (r == 1)
			waits_drop(waits, place);
		else
			place++;
	}
	return MIN(r, 0);
}

static int waits_read(void *state, const struct gauges_sink *sink)
{
	struct waits *waits = state;
	int scanned = 0, r;

	if (strings_count(&waits->names) > NAMES_MAX)
		waits_forget(waits);
	if (waits->readings % SCAN_PERIOD == 0)
		scanned = waits_scan(waits);
	if (scanned == -ENOMEM)
		return scanned;
	waits->readings++;
	r = waits_put_all(waits, sink);
	/* without the kernel's threads and a named thread, nothing is left to read */
	return r == 0 && !waits->threads.count ? scanned : r;
}

/* Forgets the named thread that ends first. */
static void waits_make_room(struct waits *waits)
{
	size_t first = 0;

	for (size_t i = 0; i < waits->threads.count; i++)
		if (waits->threads.items[i].until < waits->threads.items[first].until)
			first = i;
	waits_drop(waits, first);
}

static int waits_watch(void *state, uint32_t tid)
{
	struct waits *waits = state;
	char comm[COMM_SIZE], name[COMM_SIZE + 16];

	for (size_t i = 0; i < waits->threads.count; i++)
		if (waits->threads.items[i].tid == tid) {
			if (waits->threads.items[i].until != UINT64_MAX)
				waits->threads.items[i].until = waits->readings + NAMED_PERIOD;
			return 0;
		}
	if (!waits_read_comm(waits, tid, comm))
		return 0;
	if (waits->named >= NAMED_MAX)
		waits_make_room(waits);
	snprintf(name, sizeof(name), "%s:%u", comm, tid);
	return waits_add(waits, tid, name, waits->readings + NAMED_PERIOD);
}

const struct source_kind source_waits = { "waits",    1,	  waits_make,
					  waits_read, waits_done, waits_watch };
