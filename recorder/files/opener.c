// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/files/opener.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "recorder/files/fd-cache.h"
#include "recorder/files/open-helper.h"

/*
 * Invariants:
 * (1) the lock guards all but `late`, which is the thread's that names, and `question`, which is
 * the one's that drains; (2) a file that is HELD_WAITING is in `waiting` once, one that is
 * HELD_ASKED in `asked`, and no other is in either; only others are removed; (3) a helper answers
 * in the order of `asked`.
 */

/* Files are known from /proc in microseconds. Who takes this long hangs, unless it just gets no
 * CPU. */
#define ANSWER_NS (2 * NSEC_PER_SEC)
#define STARVED_NS (10 * NSEC_PER_SEC)
/* A helper comes as soon as the keeper gets a CPU. */
#define READY_MS 2000
/* Where a file did not answer, others of the same file system are not asked for. */
#define DEAD_NS (60 * NSEC_PER_SEC)
#define DEAD_MAX 16
/* One that could not be had is sent for again when it is seen again, and a perf map that is not
 * there yet some time later. */
#define RETRY_NS (100 * NSEC_PER_MSEC)
#define RETRIES_MAX 8
/* What fits into a socket, both ways, is more. */
#define ASKED_MAX 64

/* Descriptors that are held, until it is said how many there may be. */
#define FILES_MAX 1024

/* Numbers of held files, in order. */
struct queue {
	uint32_t items[FD_CACHE_MAX];
	size_t head;
	size_t count;
};

struct dead {
	uint64_t device;
	uint64_t until_ns;
};

struct opener {
	struct open_helper early;
	struct open_helper late;
	struct open_helper_question question;
	uint64_t hold_ns;

	pthread_mutex_t lock;
	struct fd_cache held;
	struct queue waiting;
	struct queue asked;
	/* when it was last sent to or heard of */
	uint64_t progress_ns;
	uint64_t swept_ns;
	struct dead dead[DEAD_MAX];
	struct opener_counts counts;
};

static void queue_put(struct queue *queue, uint32_t item)
{
	queue->items[(queue->head + queue->count++) % FD_CACHE_MAX] = item;
}

static uint32_t queue_take(struct queue *queue)
{
	uint32_t item = queue->items[queue->head];

	queue->head = (queue->head + 1) % FD_CACHE_MAX;
	queue->count--;
	return item;
}

static uint32_t queue_take_last(struct queue *queue)
{
	return queue->items[(queue->head + --queue->count) % FD_CACHE_MAX];
}

/* In front of the others. */
static void queue_return(struct queue *queue, uint32_t item)
{
	queue->head = (queue->head + FD_CACHE_MAX - 1) % FD_CACHE_MAX;
	queue->items[queue->head] = item;
	queue->count++;
}

int opener_new(uint64_t hold_ns, struct opener **ret_opener)
{
	struct opener *opener = calloc(1, sizeof(*opener));
	int r;

	if (!opener)
		return -ENOMEM;
	opener->hold_ns = hold_ns;
	opener->held.files_max = FILES_MAX;
	r = open_helper_start(&opener->early);
	if (r == 0)
		r = open_helper_start(&opener->late);
	if (r < 0) {
		open_helper_stop(&opener->early);
		free(opener);
		return r;
	}
	pthread_mutex_init(&opener->lock, NULL);
	*ret_opener = opener;
	return 0;
}

struct opener *opener_free(struct opener *opener)
{
	if (!opener)
		return NULL;
	open_helper_stop(&opener->early);
	open_helper_stop(&opener->late);
	fd_cache_done(&opener->held);
	pthread_mutex_destroy(&opener->lock);
	free(opener);
	return NULL;
}

static bool opener_is_dead(const struct opener *opener, uint64_t device, uint64_t now)
{
	for (size_t i = 0; i < DEAD_MAX; i++)
		if (device && opener->dead[i].device == device && opener->dead[i].until_ns > now)
			return true;
	return false;
}

static void note_dead(struct opener *opener, uint64_t device, uint64_t now)
{
	struct dead *oldest = opener->dead;

	for (size_t i = 0; i < DEAD_MAX; i++)
		if (opener->dead[i].until_ns < oldest->until_ns)
			oldest = &opener->dead[i];
	*oldest = (struct dead){ device, now + DEAD_NS };
}

static void opener_fail(struct opener *opener, struct fd_cache_file *file, int result)
{
	file->state = FD_CACHE_FAILED;
	file->result = result;
	opener->counts.failed++;
}

/* What was asked for and not answered is asked for again, in the same order. */
static void replace_early(struct opener *opener)
{
	while (opener->asked.count) {
		uint32_t at = queue_take_last(&opener->asked);

		opener->held.list.items[at].state = FD_CACHE_WAITING;
		queue_return(&opener->waiting, at);
	}
	open_helper_replace(&opener->early);
	opener->counts.unanswered++;
}

static void give_up_first(struct opener *opener, int result, uint64_t now)
{
	struct fd_cache_file *file = &opener->held.list.items[queue_take(&opener->asked)];

	opener_fail(opener, file, result);
	if (result == -ETIMEDOUT)
		note_dead(opener, file->module.device, now);
	replace_early(opener);
}

static void take_answer(struct opener *opener, const struct open_helper_answer *answer,
			const struct finder_files *files)
{
	struct fd_cache_file *file = &opener->held.list.items[queue_take(&opener->asked)];

	if (answer->result < 0) {
		opener_fail(opener, file, answer->result);
		return;
	}
	fd_cache_open(&opener->held, file, &answer->module, &answer->about, files);
	opener->counts.opened++;
}

static void listen_early(struct opener *opener, uint64_t now)
{
	struct open_helper_answer answer;
	struct finder_files files;
	int r = 1;

	while (opener->asked.count && r == 1) {
		r = open_helper_listen(&opener->early, 0, &answer, &files);
		if (r == 1) {
			take_answer(opener, &answer, &files);
			opener->progress_ns = now;
		}
	}
	if (r < 0) {
		/* what it looked at has killed it */
		give_up_first(opener, -EBADMSG, now);
		return;
	}
	if (!opener->asked.count || now - opener->progress_ns < ANSWER_NS)
		return;
	if (now - opener->progress_ns >= STARVED_NS || !open_helper_waits_for_cpu(&opener->early))
		give_up_first(opener, -ETIMEDOUT, now);
}

/* 1 when it was sent for; 0 when there is no use in that; -EAGAIN, or another negative errno when
 * the helper is gone. */
static int send_one(struct opener *opener, struct fd_cache_file *file, uint64_t now)
{
	const struct finder finder = { .live = true };
	const struct finder_request request = { file->kind, file->pid, file->until_ns, file->module,
						file->path };
	int r = open_helper_question(&finder, &request, &opener->question);

	file->tried_ns = now;
	if (r == 0 && opener_is_dead(opener, file->module.device, now))
		r = -ETIMEDOUT;
	if (r < 0) {
		opener_fail(opener, file, r);
		return 0;
	}
	r = open_helper_ask(&opener->early, &opener->question);
	return r < 0 ? r : 1;
}

static void send_waiting(struct opener *opener, uint64_t now)
{
	int r = 0;

	while (r >= 0 && opener->waiting.count && opener->asked.count < ASKED_MAX &&
	       open_helper_ready(&opener->early, 0)) {
		uint32_t at = queue_take(&opener->waiting);

		r = send_one(opener, &opener->held.list.items[at], now);
		if (r < 0)
			queue_return(&opener->waiting, at);
		if (r != 1)
			continue;
		if (!opener->asked.count)
			opener->progress_ns = now;
		opener->held.list.items[at].state = FD_CACHE_ASKED;
		queue_put(&opener->asked, at);
	}
	if (r < 0 && r != -EAGAIN)
		replace_early(opener);
}

/* More and more seldom: most processes that make code do not tell of it. */
static bool is_due(const struct fd_cache_file *file, uint64_t now)
{
	return file->state == FD_CACHE_FAILED && file->tries < RETRIES_MAX &&
	       now - file->tried_ns >= RETRY_NS << file->tries;
}

static void try_again(struct opener *opener, struct fd_cache_file *file)
{
	file->tries++;
	file->state = FD_CACHE_WAITING;
	queue_put(&opener->waiting, file - opener->held.list.items);
}

static void opener_see_here(struct opener *opener, const struct finder_request *request)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct fd_cache_file *file = fd_cache_find(&opener->held, request);

	if (file && file->ended) {
		fd_cache_remove(&opener->held, file);
		file = NULL;
	}
	if (!file) {
		file = fd_cache_add(&opener->held, request);
		if (!file)
			return;
		file->until_ns = request->until_ns;
		queue_put(&opener->waiting, file - opener->held.list.items);
	} else if (is_due(file, now)) {
		file->pid = request->pid;
		file->until_ns = request->until_ns;
		try_again(opener, file);
	}
	fd_cache_touch(&opener->held, file, now);
	send_waiting(opener, now);
}

/* A file, or memory in which code is made. */
static void see_mapped(struct opener *opener, struct finder_request *request)
{
	if (request->module.kind == TAPE_MODULE_JIT) {
		if (strncmp(request->path, "/tmp/perf-", 10) != 0)
			return;
		request->kind = FINDER_JIT;
		request->module = (struct tape_module){ 0 };
	} else if (request->module.kind != TAPE_MODULE_ELF || request->path[0] != '/') {
		return;
	}
	pthread_mutex_lock(&opener->lock);
	opener_see_here(opener, request);
	pthread_mutex_unlock(&opener->lock);
}

void opener_see(struct opener *opener, const struct perf_record *record)
{
	struct finder_request request = { .kind = FINDER_FILE };
	char name[MODULES_NAME_MAX];

	if ((record->type != PERF_TYPE_MMAP && record->type != PERF_TYPE_MMAP2) ||
	    (record->misc & PERF_MODE_MASK) != PERF_MODE_USER)
		return;
	request.pid = record->mmap.pid;
	request.until_ns = clock_ns(CLOCK_REALTIME);
	request.path = modules_mapped(record, &request.module, name);
	see_mapped(opener, &request);
}

void opener_begin(struct opener *opener, const struct tracker *tracker, size_t files)
{
	const struct modules *modules = &tracker->modules;
	struct finder_request request = { .until_ns = clock_ns(CLOCK_REALTIME) };

	pthread_mutex_lock(&opener->lock);
	opener->held.files_max = files;
	pthread_mutex_unlock(&opener->lock);
	for (size_t i = 0; i < tracker->processes.count; i++) {
		const struct tracker_process *process = &tracker->processes.items[i];

		for (size_t k = 0; process->used && k < process->maps->list.count; k++) {
			request.kind = FINDER_FILE;
			request.pid = process->pid;
			request.module = modules->list.items[process->maps->list.items[k].module];
			request.path = strings_at(&modules->paths, request.module.path);
			see_mapped(opener, &request);
		}
	}
}

/* What a process tells of its code is of use as long as it runs, and must be there when it does no
 * more. */
static void keep_jit(struct opener *opener, struct fd_cache_file *file, uint64_t now)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d", file->pid);
	file->ended = file->ended || access(path, F_OK) < 0;
	if (file->ended)
		return;
	fd_cache_touch(&opener->held, file, now);
	if (is_due(file, now))
		try_again(opener, file);
}

static void opener_sweep(struct opener *opener, uint64_t now)
{
	opener->swept_ns = now;
	for (size_t i = 0; i < opener->held.list.count; i++) {
		struct fd_cache_file *file = &opener->held.list.items[i];

		if (file->state != FD_CACHE_OPEN && file->state != FD_CACHE_FAILED)
			continue;
		if (file->kind == FINDER_JIT)
			keep_jit(opener, file, now);
		if (file->state != FD_CACHE_WAITING && now - file->seen_ns >= opener->hold_ns)
			fd_cache_remove(&opener->held, file);
	}
}

void opener_turn(struct opener *opener)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	pthread_mutex_lock(&opener->lock);
	listen_early(opener, now);
	if (now - opener->swept_ns >= NSEC_PER_SEC)
		opener_sweep(opener, now);
	send_waiting(opener, now);
	pthread_mutex_unlock(&opener->lock);
}

/* Has somebody written into it since? Being renamed or deleted changes nothing in it. */
static bool is_as_it_was(int fd, const struct stat *was)
{
	struct stat about;

	return fstat(fd, &about) == 0 && about.st_size == was->st_size &&
	       about.st_mtim.tv_sec == was->st_mtim.tv_sec &&
	       about.st_mtim.tv_nsec == was->st_mtim.tv_nsec;
}

/* What was opened in time. The file is touched without the lock: who drains does not wait for it.
 */
static int find_held(struct opener *opener, struct finder_request *request,
		     struct finder_files *ret_files)
{
	const struct fd_cache_file *file;
	struct tape_module found = { 0 };
	struct stat about = { 0 };
	int r;

	pthread_mutex_lock(&opener->lock);
	file = fd_cache_find(&opener->held, request);
	r = file ? fd_cache_copy(file, ret_files) : -ENOENT;
	if (r == 0) {
		found = file->found;
		about = file->about;
	}
	pthread_mutex_unlock(&opener->lock);
	/* a map of code that is made grows */
	if (r < 0 || request->kind != FINDER_FILE)
		return r;
	if (!is_as_it_was(ret_files->fd, &about)) {
		finder_files_close(ret_files);
		return -ESTALE;
	}
	request->module.build_id_size = found.build_id_size;
	memcpy(request->module.build_id, found.build_id, TAPE_BUILD_ID_MAX);
	return 0;
}

static int lose_late(struct opener *opener, uint64_t device, int result)
{
	open_helper_replace(&opener->late);
	pthread_mutex_lock(&opener->lock);
	opener->counts.unanswered++;
	if (result == -ETIMEDOUT)
		note_dead(opener, device, clock_ns(CLOCK_MONOTONIC));
	pthread_mutex_unlock(&opener->lock);
	return result;
}

static bool is_dead_now(struct opener *opener, uint64_t device)
{
	bool dead;

	pthread_mutex_lock(&opener->lock);
	dead = opener_is_dead(opener, device, clock_ns(CLOCK_MONOTONIC));
	pthread_mutex_unlock(&opener->lock);
	return dead;
}

/* One that died while it had nothing to do is not this file's fault. */
static int ask_ready(struct opener *opener, const struct open_helper_question *question)
{
	for (int i = 0; i < 2; i++) {
		if (!open_helper_ready(&opener->late, READY_MS))
			return -ETIMEDOUT;
		if (open_helper_ask(&opener->late, question) == 0)
			return 0;
		lose_late(opener, 0, -EPIPE);
	}
	return -ETIMEDOUT;
}

/* Sends for it and waits. */
static int ask_late(struct opener *opener, const struct finder *finder,
		    struct finder_request *request, struct finder_files *ret_files)
{
	uint64_t device = request->module.device, begin = clock_ns(CLOCK_MONOTONIC), waited;
	struct open_helper_question question;
	struct open_helper_answer answer;
	int r = open_helper_question(finder, request, &question);

	if (r < 0)
		return r;
	if (is_dead_now(opener, device))
		return -ETIMEDOUT;
	r = ask_ready(opener, &question);
	if (r < 0)
		return r;
	do {
		r = open_helper_listen(&opener->late, ANSWER_NS / NSEC_PER_MSEC, &answer,
				       ret_files);
		waited = clock_ns(CLOCK_MONOTONIC) - begin;
	} while (r == 0 && waited < STARVED_NS &&
		 (waited < ANSWER_NS || open_helper_waits_for_cpu(&opener->late)));
	if (r <= 0)
		return lose_late(opener, device, r == 0 ? -ETIMEDOUT : -EBADMSG);
	request->module = answer.module;
	return answer.result;
}

int opener_find(void *context, const struct finder *finder, struct finder_request *request,
		struct finder_files *ret_files)
{
	struct opener *opener = context;
	int held = -ENOENT, r;

	if (finder->live && request->kind == FINDER_FILE)
		held = find_held(opener, request, ret_files);
	/* what has changed since was the one, and is not to be asked */
	if (held == 0 || held == -ESTALE)
		return held;
	r = ask_late(opener, finder, request, ret_files);
	/* of a process that runs there is a newer map than the one that is held */
	if (r < 0 && finder->live && request->kind == FINDER_JIT)
		held = find_held(opener, request, ret_files);
	return r == 0 || held == -ENOENT ? r : held;
}

void opener_counts(struct opener *opener, struct opener_counts *ret_counts)
{
	pthread_mutex_lock(&opener->lock);
	*ret_counts = opener->counts;
	ret_counts->held = opener->held.files;
	pthread_mutex_unlock(&opener->lock);
}
