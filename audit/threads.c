// SPDX-License-Identifier: GPL-2.0-only
#include "audit/threads.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define THREADS_MAX 20000
/*
 * Limits the CPU time of the pass, not its real time: when our thread waits long for a CPU, the
 * pass takes longer and must still be complete.
 */
#define TIME_MAX_NS (NSEC_PER_SEC / 2)
#define WAIT_NS NSEC_PER_SEC
/* A thread with a smaller share does not explain a busy CPU. */
#define PERCENT_MIN 10

struct thread {
	int pid, tid;
	char comm[32];
	char state;
	/* CPU time in ticks */
	int64_t user, kernel;
	/* the CPU on which it ran last */
	int64_t cpu;
	uint64_t read_ns;
};

struct threads {
	const struct host *host;
	const struct thread_share *shares;
	size_t count;
	array_of(struct thread) list;
	size_t seen;
	uint64_t until_ns;
};

/*
 * Parses "PID (comm) S ppid ...", where comm may contain any bytes. utime and stime are fields 14
 * and 15, and the processor is field 39.
 */
static bool parse_stat(const char *text, size_t size, struct thread *thread)
{
	const char *open = memchr(text, '(', size), *close = memrchr(text, ')', size);
	struct words line, word;

	if (!open || !close || close < open)
		return false;
	snprintf(thread->comm, sizeof(thread->comm), "%.*s", (int)(close - open - 1), open + 1);
	line = (struct words){ close + 1, text + size };
	for (int field = 3; field <= 39; field++) {
		int64_t *to = field == 14   ? &thread->user
			      : field == 15 ? &thread->kernel
			      : field == 39 ? &thread->cpu
					    : NULL;

		if (!words_next(&line, &word))
			return false;
		if (field == 3)
			thread->state = *word.at;
		if (to && !words_number(&word, to))
			return false;
	}
	return true;
}

static bool read_thread(const struct host *host, struct thread *thread)
{
	const struct audit_options *options = host->options;
	char path[PATH_MAX], text[1024];
	_cleanup_close_ int fd = -1;
	ssize_t size;

	if (snprintf(path, sizeof(path), "%s/proc/%d/task/%d/stat", host->root, thread->pid,
		     thread->tid) >= (int)sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? -1 : pread(fd, text, sizeof(text), 0);
	thread->read_ns = options->now_ns(options->context);
	return size > 0 && parse_stat(text, size, thread);
}

static bool is_candidate(const struct threads *threads, const struct thread *thread)
{
	if (thread->state == 'R')
		return true;
	for (size_t i = 0; i < threads->count; i++)
		if (thread->cpu == threads->shares[i].cpu)
			return true;
	return false;
}

static int see_thread(struct threads *threads, int pid, int tid)
{
	struct thread thread = { .pid = pid, .tid = tid };

	threads->seen++;
	if (!read_thread(threads->host, &thread) || !is_candidate(threads, &thread))
		return 0;
	return array_push(&threads->list, thread);
}

static bool is_enough(const struct threads *threads)
{
	return threads->seen > THREADS_MAX || clock_ns(CLOCK_THREAD_CPUTIME_ID) > threads->until_ns;
}

/* Visits all folders whose names are numbers: processes, or the threads of one process. */
static int each_number(struct threads *threads, int pid)
{
	const struct dirent *entry;
	char path[PATH_MAX];
	int r = 0;
	DIR *dir;

	if (pid)
		snprintf(path, sizeof(path), "%s/proc/%d/task", threads->host->root, pid);
	else
		snprintf(path, sizeof(path), "%s/proc", threads->host->root);
	dir = opendir(path);
	while (dir && r == 0 && !is_enough(threads) && (entry = readdir(dir)))
		if (isdigit((unsigned char)*entry->d_name))
			r = pid ? see_thread(threads, pid, atoi(entry->d_name))
				: each_number(threads, atoi(entry->d_name));
	if (dir)
		closedir(dir);
	return r;
}

/*
 * Returns the share of a CPU in per cent. Uses the times of this thread's two readings, because a
 * pass over many threads takes time.
 */
static double percent_of(int64_t ticks, const struct thread *before, const struct thread *now)
{
	uint64_t over_ns = now->read_ns - MIN(before->read_ns, now->read_ns);

	return 100.0 * ticks * NSEC_PER_SEC / sysconf(_SC_CLK_TCK) / MAX(over_ns, 1);
}

static void find_busiest(struct threads *threads, struct thread_share *share)
{
	int64_t most = 0;

	for (size_t i = 0; i < threads->list.count; i++) {
		const struct thread *before = &threads->list.items[i];
		struct thread now = *before;
		int64_t user, kernel;

		if (!read_thread(threads->host, &now))
			continue;
		user = now.user - before->user;
		kernel = now.kernel - before->kernel;
		if ((now.cpu != share->cpu && before->cpu != share->cpu) || user + kernel <= most)
			continue;
		most = user + kernel;
		share->pid = now.pid;
		share->tid = now.tid;
		memcpy(share->comm, now.comm, sizeof(share->comm));
		share->percent = percent_of(most, before, &now);
		share->kernel = 100.0 * kernel / most;
	}
	if (share->percent < PERCENT_MIN)
		share->pid = share->tid = 0;
}

int threads_find(const struct host *host, struct thread_share *shares, size_t count)
{
	const struct audit_options *options = host->options;
	struct threads threads = { .host = host,
				   .shares = shares,
				   .count = count,
				   .until_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + TIME_MAX_NS };
	int r = each_number(&threads, 0);

	if (r == 0) {
		options->wait(options->context, WAIT_NS);
		for (size_t i = 0; i < count; i++)
			find_busiest(&threads, &shares[i]);
	}
	array_done(&threads.list);
	return r;
}
