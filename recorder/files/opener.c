// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/files/opener.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "process/helper.h"
#include "recorder/files/dead-files.h"
#include "recorder/files/fd-cache.h"
#include "recorder/files/fd-queue.h"
#include "recorder/files/mount-watch.h"
#include "recorder/files/open-helper.h"

/*
 * Invariants:
 * (1) late_lock guards `late`, `question` and `mounts` belong to the draining thread, and the lock
 *     guards the rest. A thread takes late_lock before the lock, never after it;
 * (2) a FD_CACHE_UNOWNED file is in `unowned` once, a FD_CACHE_WAITING file in `waiting`, and a
 *     FD_CACHE_ASKED file in `asked`. Only other files may be removed;
 * (3) a helper answers in the order of `asked`.
 */

/*
 * Opening a file takes microseconds. A helper that does not answer for ANSWER_NS hangs, unless it
 * waits for a CPU. After STARVED_NS, the file counts as failed in any case.
 */
#define ANSWER_NS (2 * NSEC_PER_SEC)
#define STARVED_NS (10 * NSEC_PER_SEC)
/* How often to look whether an answer is overdue. */
#define LOOK_MS 100
/* Time to wait for a new helper. The keeper starts it as soon as the keeper gets a CPU. */
#define READY_MS 2000
/* Least time before a failed file is tried again; it doubles with each try. */
#define RETRY_NS (100 * NSEC_PER_MSEC)
#define RETRIES_MAX 8
/* The greatest number of open questions; a socket has room for more, in both directions. */
#define ASKED_MAX 64

/* How long to wait for the record of a fork that says who pays for a process. */
#define UNOWNED_TURNS 2

/* The greatest number of descriptors, until opener_begin() sets it. */
#define FILES_MAX 1024

struct opener {
	struct open_helper early;
	struct open_helper late;
	struct open_helper_question question;
	/* belongs to the draining thread */
	struct mount_watch mounts;
	uint64_t hold_ns;

	/* Threads that may wait for an answer take this lock, one at a time. */
	pthread_mutex_t late_lock;
	pthread_mutex_t lock;
	struct fd_cache cache;
	struct fd_queue unowned;
	struct fd_queue waiting;
	struct fd_queue asked;
	/* time of the last answer, or of the first question when none was open */
	uint64_t progress_ns;
	uint64_t swept_ns;
	struct dead_files dead;
	struct opener_counts counts;
};

int opener_new(uint64_t hold_ns, struct opener **ret_opener, struct error *error)
{
	struct opener *opener = calloc(1, sizeof(*opener));
	int r;

	if (!opener)
		return -ENOMEM;
	opener->hold_ns = hold_ns;
	opener->cache.files_max = FILES_MAX;
	r = open_helper_start(&opener->early);
	if (r == 0)
		r = open_helper_start(&opener->late);
	if (r < 0) {
		open_helper_stop(&opener->early);
		free(opener);
		return helper_explain(r, error);
	}
	pthread_mutex_init(&opener->lock, NULL);
	pthread_mutex_init(&opener->late_lock, NULL);
	mount_watch_init(&opener->mounts);
	*ret_opener = opener;
	return 0;
}

struct opener *opener_free(struct opener *opener)
{
	if (!opener)
		return NULL;
	open_helper_stop(&opener->early);
	open_helper_stop(&opener->late);
	fd_cache_done(&opener->cache);
	mount_watch_done(&opener->mounts);
	pthread_mutex_destroy(&opener->lock);
	pthread_mutex_destroy(&opener->late_lock);
	free(opener);
	return NULL;
}

static void opener_enqueue(struct opener *opener, struct fd_cache_file *file)
{
	bool unowned =
		file->asker.payer == TRACKER_OWNER_UNKNOWN && file->unowned_turns < UNOWNED_TURNS;

	file->state = unowned ? FD_CACHE_UNOWNED : FD_CACHE_WAITING;
	fd_queue_put(unowned ? &opener->unowned : &opener->waiting,
		     file - opener->cache.list.items);
}

/* Tries again for another process. */
static void opener_change_asker(struct opener *opener, struct fd_cache_file *file,
				struct fd_cache_asker asker)
{
	file->asker = asker;
	file->next_asker = (struct fd_cache_asker){ 0 };
	file->unowned_turns = 0;
	opener_enqueue(opener, file);
}

/* A payer who has used up its share must not keep the file from the others, who map it, too. */
static void opener_fail(struct opener *opener, struct fd_cache_file *file, int result)
{
	if (result == -EDQUOT && file->next_asker.pid) {
		opener_change_asker(opener, file, file->next_asker);
		return;
	}
	file->state = FD_CACHE_FAILED;
	file->result = result;
	opener->counts.failed++;
}

/* Replaces the helper, and returns all unanswered questions to `waiting`, in the same order. */
static void replace_early(struct opener *opener)
{
	while (opener->asked.count) {
		uint32_t at = fd_queue_take_last(&opener->asked);

		opener->cache.list.items[at].state = FD_CACHE_WAITING;
		fd_queue_return(&opener->waiting, at);
	}
	open_helper_replace(&opener->early);
	opener->counts.unanswered++;
}

static struct dead_file cached_as_dead(const struct fd_cache_file *file)
{
	return (struct dead_file){ file->module.device, file->module.inode, file->asker.payer, 0 };
}

static void give_up_first(struct opener *opener, int result, uint64_t now)
{
	struct fd_cache_file *file = &opener->cache.list.items[fd_queue_take(&opener->asked)];
	const struct dead_file dead = cached_as_dead(file);

	opener_fail(opener, file, result);
	if (result == -ETIMEDOUT)
		dead_files_add(&opener->dead, &dead, now);
	replace_early(opener);
}

static void take_answer(struct opener *opener, const struct open_helper_answer *answer,
			const struct finder_files *files)
{
	struct fd_cache_file *file = &opener->cache.list.items[fd_queue_take(&opener->asked)];

	assert(file->state == FD_CACHE_ASKED);
	if (answer->result < 0) {
		opener_fail(opener, file, answer->result);
		return;
	}
	fd_cache_open(&opener->cache, file, &answer->module, &answer->about, files);
	opener->counts.opened++;
}

static void receive_early(struct opener *opener, uint64_t now)
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
		/* the helper died, because of the file that it was opening */
		give_up_first(opener, -EBADMSG, now);
		return;
	}
	if (!opener->asked.count || now - opener->progress_ns < ANSWER_NS)
		return;
	if (now - opener->progress_ns >= STARVED_NS || !open_helper_waits_for_cpu(&opener->early))
		give_up_first(opener, -ETIMEDOUT, now);
}

/*
 * Asks the helper to open a file. Returns 1; 0 when the file failed without a question; -EAGAIN
 * when the helper has too many questions; another negative errno when the helper is gone.
 */
static int send_one(struct opener *opener, struct fd_cache_file *file, uint64_t now)
{
	const struct finder finder = { .live = true };
	/* the process began before it mapped the file, and so before until_ns */
	const struct finder_request request = { .kind = file->kind,
						.pid = file->asker.pid,
						.until_ns = file->asker.until_ns,
						.module = file->module,
						.path = file->path,
						.since_ns = file->asker.until_ns,
						.owner = file->asker.payer };
	const struct dead_file dead = cached_as_dead(file);
	int r = open_helper_question(&finder, &request, &opener->question);

	file->tried_ns = now;
	if (r == 0 && dead_files_contain(&opener->dead, &dead, now))
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
		uint32_t at = fd_queue_take(&opener->waiting);

		assert(opener->cache.list.items[at].state == FD_CACHE_WAITING);
		r = send_one(opener, &opener->cache.list.items[at], now);
		if (r < 0)
			fd_queue_return(&opener->waiting, at);
		if (r != 1)
			continue;
		if (!opener->asked.count)
			opener->progress_ns = now;
		opener->cache.list.items[at].state = FD_CACHE_ASKED;
		fd_queue_put(&opener->asked, at);
	}
	if (r < 0 && r != -EAGAIN)
		replace_early(opener);
}

/* Retries less and less often: most processes that generate code do not write a perf map. */
static bool is_due(const struct fd_cache_file *file, uint64_t now)
{
	return file->state == FD_CACHE_FAILED && file->tries < RETRIES_MAX &&
	       now - file->tried_ns >= RETRY_NS << file->tries;
}

static void try_again(struct opener *opener, struct fd_cache_file *file)
{
	/* an error of the payer's share says nothing about the file */
	file->tries += file->result != -EDQUOT;
	opener_enqueue(opener, file);
}

/* Notes who else maps a file that is not open, and tries a failed file again if that is due. */
static void opener_see_asker(struct opener *opener, struct fd_cache_file *file,
			     const struct fd_cache_asker *asker, uint64_t now)
{
	bool other = asker->payer != file->asker.payer;

	if (file->state == FD_CACHE_FAILED && other && file->result == -EDQUOT) {
		opener_change_asker(opener, file, *asker);
	} else if (is_due(file, now)) {
		file->asker = *asker;
		try_again(opener, file);
	} else if (other && file->state != FD_CACHE_OPEN && file->state != FD_CACHE_FAILED) {
		file->next_asker = *asker;
	}
}

static void opener_see_request(struct opener *opener, const struct finder_request *request)
{
	const struct fd_cache_asker asker = { request->pid, request->owner, request->until_ns };
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct fd_cache_file *file = fd_cache_find(&opener->cache, request);

	if (file && file->ended) {
		fd_cache_remove(&opener->cache, file);
		file = NULL;
	}
	if (!file) {
		file = fd_cache_add(&opener->cache, request);
		if (!file)
			return;
		opener_enqueue(opener, file);
	} else {
		opener_see_asker(opener, file, &asker, now);
	}
	fd_cache_touch(&opener->cache, file, now);
	send_waiting(opener, now);
}

/* Adds a mapped file, or the perf map of a process that generates code. */
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
	opener_see_request(opener, request);
	pthread_mutex_unlock(&opener->lock);
}

void opener_see(struct opener *opener, const struct perf_record *record, uint64_t owner)
{
	struct finder_request request = { .kind = FINDER_FILE, .owner = owner };
	char name[MODULES_NAME_MAX];

	if ((record->type != PERF_TYPE_MMAP && record->type != PERF_TYPE_MMAP2) ||
	    (record->misc & PERF_MODE_MASK) != PERF_MODE_USER)
		return;
	request.pid = record->mmap.pid;
	request.until_ns = clock_ns(CLOCK_REALTIME);
	request.path = modules_describe_mapping(record, &request.module, name);
	see_mapped(opener, &request);
}

void opener_begin(struct opener *opener, const struct tracker *tracker, size_t files)
{
	const struct modules *modules = &tracker->modules;
	struct finder_request request = { .until_ns = clock_ns(CLOCK_REALTIME) };

	pthread_mutex_lock(&opener->lock);
	opener->cache.files_max = files;
	pthread_mutex_unlock(&opener->lock);
	for (size_t i = 0; i < tracker->processes.count; i++) {
		const struct tracker_process *process = &tracker->processes.items[i];

		const struct mapping *mapping;
		size_t at = 0;

		while (process->used && (mapping = maps_next(process->maps, &at))) {
			request.kind = FINDER_FILE;
			request.pid = process->pid;
			request.module = modules->list.items[mapping->module];
			request.path = strings_at(&modules->paths, request.module.path);
			see_mapped(opener, &request);
		}
	}
}

/* Keeps the perf map of a running process: it grows, and must be open when the process ends. */
static void keep_jit(struct opener *opener, struct fd_cache_file *file, uint64_t now)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d", file->asker.pid);
	file->ended = file->ended || access(path, F_OK) < 0;
	if (file->ended)
		return;
	fd_cache_touch(&opener->cache, file, now);
	if (is_due(file, now))
		try_again(opener, file);
}

static bool opener_is_queued(const struct fd_cache_file *file)
{
	return file->state == FD_CACHE_UNOWNED || file->state == FD_CACHE_WAITING;
}

/* Returns whether the open file keeps the device of an unmounted file system busy. */
static bool is_unmounted(const struct opener *opener, const struct fd_cache_file *file)
{
	return file->state == FD_CACHE_OPEN && file->files.fd >= 0 &&
	       mount_watch_is_gone(&opener->mounts, file->about.st_dev);
}

static void opener_sweep(struct opener *opener, uint64_t now)
{
	opener->swept_ns = now;
	mount_watch_update(&opener->mounts);
	for (size_t i = 0; i < opener->cache.list.count; i++) {
		struct fd_cache_file *file = &opener->cache.list.items[i];

		if (file->state != FD_CACHE_OPEN && file->state != FD_CACHE_FAILED)
			continue;
		if (file->kind == FINDER_JIT)
			keep_jit(opener, file, now);
		if (is_unmounted(opener, file) ||
		    (!opener_is_queued(file) && now - file->seen_ns >= opener->hold_ns))
			fd_cache_remove(&opener->cache, file);
	}
}

/* By now the record of the process's fork may have come, from the ring of another CPU. */
static void opener_find_payers(struct opener *opener, struct tracker *tracker)
{
	for (size_t n = opener->unowned.count; n; n--) {
		uint32_t at = fd_queue_take(&opener->unowned);
		struct fd_cache_file *file = &opener->cache.list.items[at];

		assert(file->state == FD_CACHE_UNOWNED);
		file->asker.payer =
			tracker ? tracker_owner(tracker, file->asker.pid) : TRACKER_OWNER_UNKNOWN;
		file->unowned_turns++;
		opener_enqueue(opener, file);
	}
}

void opener_turn(struct opener *opener, struct tracker *tracker)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	pthread_mutex_lock(&opener->lock);
	opener_find_payers(opener, tracker);
	receive_early(opener, now);
	if (now - opener->swept_ns >= NSEC_PER_SEC)
		opener_sweep(opener, now);
	send_waiting(opener, now);
	pthread_mutex_unlock(&opener->lock);
}

/* Takes only the build-id of an answer; the rest could describe another module. */
static void take_build_id(struct tape_module *module, const struct tape_module *found)
{
	module->build_id_size = found->build_id_size;
	memcpy(module->build_id, found->build_id, TAPE_BUILD_ID_MAX);
}

/*
 * Finds a file that is already open. Calls fstat() without the lock: it may wait for a file system.
 */
static int find_cached(struct opener *opener, struct finder_request *request,
		       struct finder_files *ret_files)
{
	const struct fd_cache_file *file;
	struct tape_module found = { 0 };
	struct stat about = { 0 };
	int r;

	pthread_mutex_lock(&opener->lock);
	file = fd_cache_find(&opener->cache, request);
	r = file ? fd_cache_copy(file, ret_files) : -ENOENT;
	if (r == 0) {
		found = file->found;
		about = file->about;
	}
	pthread_mutex_unlock(&opener->lock);
	/* only a file of a module must be unchanged, because a perf map grows */
	if (r < 0 || request->kind != FINDER_FILE)
		return r;
	if (!fd_cache_is_unchanged(ret_files->fd, &about)) {
		finder_files_close(ret_files);
		return -ESTALE;
	}
	take_build_id(&request->module, &found);
	return 0;
}

/* The namer does not know who mapped a file, but the cache may. The caller holds the lock. */
static struct dead_file requested_as_dead(const struct opener *opener,
					  const struct finder_request *request)
{
	const struct fd_cache_file *file = fd_cache_find(&opener->cache, request);

	return (struct dead_file){ request->module.device, request->module.inode,
				   file ? file->asker.payer : request->owner, 0 };
}

/* Replaces the late helper. `request` is the one that it was answering; NULL: none. */
static int lose_late(struct opener *opener, const struct finder_request *request, int result)
{
	struct dead_file dead;

	open_helper_replace(&opener->late);
	pthread_mutex_lock(&opener->lock);
	opener->counts.unanswered++;
	if (request && result == -ETIMEDOUT) {
		dead = requested_as_dead(opener, request);
		dead_files_add(&opener->dead, &dead, clock_ns(CLOCK_MONOTONIC));
	}
	pthread_mutex_unlock(&opener->lock);
	return result;
}

static bool is_dead_file(struct opener *opener, const struct finder_request *request)
{
	struct dead_file dead;
	bool r;

	pthread_mutex_lock(&opener->lock);
	dead = requested_as_dead(opener, request);
	r = dead_files_contain(&opener->dead, &dead, clock_ns(CLOCK_MONOTONIC));
	pthread_mutex_unlock(&opener->lock);
	return r;
}

/* Waits for a late helper. Meanwhile, the sealer can remove segments. */
static bool await_late(struct opener *opener, const struct finder *finder)
{
	for (int waited_ms = 0; waited_ms < READY_MS; waited_ms += LOOK_MS) {
		if (open_helper_ready(&opener->late, LOOK_MS))
			return true;
		name_helper_waits(finder->helper);
	}
	return false;
}

/* Tries twice, because a helper may have died earlier, while it was idle. */
static int ask_ready(struct opener *opener, const struct finder *finder,
		     const struct open_helper_question *question)
{
	for (int i = 0; i < 2; i++) {
		if (!await_late(opener, finder))
			return -ETIMEDOUT;
		if (open_helper_ask(&opener->late, question) == 0)
			return 0;
		lose_late(opener, NULL, -EPIPE);
	}
	return -ETIMEDOUT;
}

static bool is_overdue(const struct opener *opener, uint64_t waited_ns)
{
	return waited_ns >= STARVED_NS ||
	       (waited_ns >= ANSWER_NS && !open_helper_waits_for_cpu(&opener->late));
}

/* Asks the helper for a file, and waits for the answer. */
static int ask_late(struct opener *opener, const struct finder *finder,
		    struct finder_request *request, struct finder_files *ret_files)
{
	uint64_t begin = clock_ns(CLOCK_MONOTONIC);
	struct open_helper_question question;
	struct open_helper_answer answer;
	int r = open_helper_question(finder, request, &question);

	if (r < 0)
		return r;
	if (is_dead_file(opener, request))
		return -ETIMEDOUT;
	r = ask_ready(opener, finder, &question);
	if (r < 0)
		return r;
	while ((r = open_helper_listen(&opener->late, LOOK_MS, &answer, ret_files)) == 0 &&
	       !is_overdue(opener, clock_ns(CLOCK_MONOTONIC) - begin))
		name_helper_waits(finder->helper);
	if (r <= 0)
		return lose_late(opener, request, r == 0 ? -ETIMEDOUT : -EBADMSG);
	take_build_id(&request->module, &answer.module);
	return answer.result;
}

int opener_find(void *context, const struct finder *finder, struct finder_request *request,
		struct finder_files *ret_files)
{
	struct opener *opener = context;
	int cached = -ENOENT, r;

	if (finder->live && request->kind == FINDER_FILE)
		cached = find_cached(opener, request, ret_files);
	/* -ESTALE: the right file was cached, but has changed, so do not ask again */
	if (cached == 0 || cached == -ESTALE)
		return cached;
	pthread_mutex_lock(&opener->late_lock);
	r = ask_late(opener, finder, request, ret_files);
	pthread_mutex_unlock(&opener->late_lock);
	/*
	 * a newer perf map is better than the cached one; -ESTALE: another process has this pid
	 * now, and the cached files may belong to either process
	 */
	if (r < 0 && r != -ESTALE && finder->live && request->kind == FINDER_JIT)
		cached = find_cached(opener, request, ret_files);
	return r == 0 || cached == -ENOENT ? r : cached;
}

void opener_counts(struct opener *opener, struct opener_counts *ret_counts)
{
	pthread_mutex_lock(&opener->lock);
	*ret_counts = opener->counts;
	ret_counts->descriptors = opener->cache.files;
	pthread_mutex_unlock(&opener->lock);
}
