// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/files/opener.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "recorder/files/fd-cache.h"
#include "recorder/files/mount-watch.h"
#include "recorder/files/open-helper.h"

/*
 * Invariants:
 *   (1) the lock guards all but `late`, which belongs to the naming thread, and `question` and
 *       `mounts`, which belong to the draining thread;
 *   (2) a FD_CACHE_WAITING file is in `waiting` once, a FD_CACHE_ASKED file is in `asked` once, and
 *       no other file is in either; only other files are removed;
 *   (3) a helper answers in the order of `asked`.
 */

/*
 * Opening a file takes microseconds. A helper that does not answer for ANSWER_NS hangs, unless it
 * waits for a CPU. After STARVED_NS, the file counts as failed in any case.
 */
#define ANSWER_NS (2 * NSEC_PER_SEC)
#define STARVED_NS (10 * NSEC_PER_SEC)
/* How long to wait for a new helper. The keeper forks it as soon as the keeper gets a CPU. */
#define READY_MS 2000
/*
 * A file that blocks is not opened again for this time. When another file of its file system blocks
 * too, no file of this file system is.
 */
#define DEAD_NS (60 * NSEC_PER_SEC)
#define DEAD_MAX 64
#define DEAD_FILES 2
/*
 * A failed file is tried again when it is mapped again. A missing perf map is tried again after a
 * time that doubles.
 */
#define RETRY_NS (100 * NSEC_PER_MSEC)
#define RETRIES_MAX 8
/* At most this many questions are open. A socket holds more, in both directions. */
#define ASKED_MAX 64

/* At most this many descriptors, until opener_begin() sets the bound. */
#define FILES_MAX 1024

/* Numbers of cached files, in order. */
struct queue {
	uint32_t items[FD_CACHE_MAX];
	size_t head;
	size_t count;
};

struct dead {
	uint64_t device;
	uint64_t inode;
	uint64_t until_ns;
};

struct opener {
	struct open_helper early;
	struct open_helper late;
	struct open_helper_question question;
	/* belongs to the draining thread */
	struct mount_watch mounts;
	uint64_t hold_ns;

	pthread_mutex_t lock;
	struct fd_cache cache;
	struct queue waiting;
	struct queue asked;
	/* time of the last answer, or of the first question after all were answered */
	uint64_t progress_ns;
	uint64_t swept_ns;
	struct dead dead[DEAD_MAX];
	struct opener_counts counts;
};

static void queue_put(struct queue *queue, uint32_t item)
{
	assert(queue->count < FD_CACHE_MAX);
	queue->items[(queue->head + queue->count++) % FD_CACHE_MAX] = item;
}

static uint32_t queue_take(struct queue *queue)
{
	uint32_t item = queue->items[queue->head];

	assert(queue->count);
	queue->head = (queue->head + 1) % FD_CACHE_MAX;
	queue->count--;
	return item;
}

static uint32_t queue_take_last(struct queue *queue)
{
	return queue->items[(queue->head + --queue->count) % FD_CACHE_MAX];
}

/* Puts an item in front of the others. */
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
	opener->cache.files_max = FILES_MAX;
	r = open_helper_start(&opener->early);
	if (r == 0)
		r = open_helper_start(&opener->late);
	if (r < 0) {
		open_helper_stop(&opener->early);
		free(opener);
		return r;
	}
	pthread_mutex_init(&opener->lock, NULL);
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
	free(opener);
	return NULL;
}

/* Returns whether the file blocked, or enough other files of its file system to avoid them all. */
static bool opener_is_dead(const struct opener *opener, const struct tape_module *module,
			   uint64_t now)
{
	unsigned int files = 0;

	for (size_t i = 0; module->device && i < DEAD_MAX; i++) {
		const struct dead *dead = &opener->dead[i];

		if (dead->device != module->device || dead->until_ns <= now)
			continue;
		if (dead->inode == module->inode)
			return true;
		files++;
	}
	return files >= DEAD_FILES;
}

/* The place of the same file if it is listed, else that of the oldest one. */
static void note_dead(struct opener *opener, const struct tape_module *module, uint64_t now)
{
	struct dead *place = opener->dead;

	for (size_t i = 0; i < DEAD_MAX; i++) {
		struct dead *dead = &opener->dead[i];

		if (dead->device == module->device && dead->inode == module->inode) {
			place = dead;
			break;
		}
		if (dead->until_ns < place->until_ns)
			place = dead;
	}
	*place = (struct dead){ module->device, module->inode, now + DEAD_NS };
}

static void opener_fail(struct opener *opener, struct fd_cache_file *file, int result)
{
	file->state = FD_CACHE_FAILED;
	file->result = result;
	opener->counts.failed++;
}

/* Replaces the helper, and asks again, in the same order, for all files without an answer. */
static void replace_early(struct opener *opener)
{
	while (opener->asked.count) {
		uint32_t at = queue_take_last(&opener->asked);

		opener->cache.list.items[at].state = FD_CACHE_WAITING;
		queue_return(&opener->waiting, at);
	}
	open_helper_replace(&opener->early);
	opener->counts.unanswered++;
}

static void give_up_first(struct opener *opener, int result, uint64_t now)
{
	struct fd_cache_file *file = &opener->cache.list.items[queue_take(&opener->asked)];

	opener_fail(opener, file, result);
	if (result == -ETIMEDOUT)
		note_dead(opener, &file->module, now);
	replace_early(opener);
}

static void take_answer(struct opener *opener, const struct open_helper_answer *answer,
			const struct finder_files *files)
{
	struct fd_cache_file *file = &opener->cache.list.items[queue_take(&opener->asked)];

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
		/* the file that the helper was opening has killed it */
		give_up_first(opener, -EBADMSG, now);
		return;
	}
	if (!opener->asked.count || now - opener->progress_ns < ANSWER_NS)
		return;
	if (now - opener->progress_ns >= STARVED_NS || !open_helper_waits_for_cpu(&opener->early))
		give_up_first(opener, -ETIMEDOUT, now);
}

/*
 * Asks the helper to open a file. Returns 1 when the question was sent; 0 when the file cannot be
 * asked for; -EAGAIN when the helper has too many questions; another negative errno when it is
 * gone.
 */
static int send_one(struct opener *opener, struct fd_cache_file *file, uint64_t now)
{
	const struct finder finder = { .live = true };
	/* the process began before its code was mapped, and that was before until_ns */
	const struct finder_request request = { file->kind,   file->pid,  file->until_ns,
						file->module, file->path, file->until_ns };
	int r = open_helper_question(&finder, &request, &opener->question);

	file->tried_ns = now;
	if (r == 0 && opener_is_dead(opener, &file->module, now))
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

		assert(opener->cache.list.items[at].state == FD_CACHE_WAITING);
		r = send_one(opener, &opener->cache.list.items[at], now);
		if (r < 0)
			queue_return(&opener->waiting, at);
		if (r != 1)
			continue;
		if (!opener->asked.count)
			opener->progress_ns = now;
		opener->cache.list.items[at].state = FD_CACHE_ASKED;
		queue_put(&opener->asked, at);
	}
	if (r < 0 && r != -EAGAIN)
		replace_early(opener);
}

/* Tries less and less often: most processes that generate code write no map of it. */
static bool is_due(const struct fd_cache_file *file, uint64_t now)
{
	return file->state == FD_CACHE_FAILED && file->tries < RETRIES_MAX &&
	       now - file->tried_ns >= RETRY_NS << file->tries;
}

static void try_again(struct opener *opener, struct fd_cache_file *file)
{
	file->tries++;
	file->state = FD_CACHE_WAITING;
	queue_put(&opener->waiting, file - opener->cache.list.items);
}

static void opener_see_request(struct opener *opener, const struct finder_request *request)
{
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
		file->until_ns = request->until_ns;
		queue_put(&opener->waiting, file - opener->cache.list.items);
	} else if (is_due(file, now)) {
		file->pid = request->pid;
		file->until_ns = request->until_ns;
		try_again(opener, file);
	}
	fd_cache_touch(&opener->cache, file, now);
	send_waiting(opener, now);
}

/* Adds a mapping: a file, or memory with generated code. */
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

void opener_see(struct opener *opener, const struct perf_record *record)
{
	struct finder_request request = { .kind = FINDER_FILE };
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

/* A perf map grows while its process runs, and must be open when the process ends. */
static void keep_jit(struct opener *opener, struct fd_cache_file *file, uint64_t now)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d", file->pid);
	file->ended = file->ended || access(path, F_OK) < 0;
	if (file->ended)
		return;
	fd_cache_touch(&opener->cache, file, now);
	if (is_due(file, now))
		try_again(opener, file);
}

/* An open file keeps the device of an unmounted file system busy. */
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
		    (file->state != FD_CACHE_WAITING && now - file->seen_ns >= opener->hold_ns))
			fd_cache_remove(&opener->cache, file);
	}
}

void opener_turn(struct opener *opener)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	pthread_mutex_lock(&opener->lock);
	receive_early(opener, now);
	if (now - opener->swept_ns >= NSEC_PER_SEC)
		opener_sweep(opener, now);
	send_waiting(opener, now);
	pthread_mutex_unlock(&opener->lock);
}

/*
 * Returns whether nobody wrote into the file since `was` was read. A rename or a deletion does not
 * change the content.
 */
static bool is_unchanged(int fd, const struct stat *was)
{
	struct stat about;

	return fstat(fd, &about) == 0 && about.st_size == was->st_size &&
	       about.st_mtim.tv_sec == was->st_mtim.tv_sec &&
	       about.st_mtim.tv_nsec == was->st_mtim.tv_nsec;
}

/* All that a helper learns about a module. The rest of its answer could be of any other module. */
static void take_build_id(struct tape_module *module, const struct tape_module *found)
{
	module->build_id_size = found->build_id_size;
	memcpy(module->build_id, found->build_id, TAPE_BUILD_ID_MAX);
}

/*
 * Finds a file that was opened in time. Touches the file without the lock, so that the drain does
 * not wait for it.
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
	/* a perf map grows */
	if (r < 0 || request->kind != FINDER_FILE)
		return r;
	if (!is_unchanged(ret_files->fd, &about)) {
		finder_files_close(ret_files);
		return -ESTALE;
	}
	take_build_id(&request->module, &found);
	return 0;
}

/* `module` is that of the file that the helper was opening; NULL: none. */
static int lose_late(struct opener *opener, const struct tape_module *module, int result)
{
	open_helper_replace(&opener->late);
	pthread_mutex_lock(&opener->lock);
	opener->counts.unanswered++;
	if (module && result == -ETIMEDOUT)
		note_dead(opener, module, clock_ns(CLOCK_MONOTONIC));
	pthread_mutex_unlock(&opener->lock);
	return result;
}

static bool is_dead_file(struct opener *opener, const struct tape_module *module)
{
	bool dead;

	pthread_mutex_lock(&opener->lock);
	dead = opener_is_dead(opener, module, clock_ns(CLOCK_MONOTONIC));
	pthread_mutex_unlock(&opener->lock);
	return dead;
}

/* A helper that died while it was idle does not count against this file. */
static int ask_ready(struct opener *opener, const struct open_helper_question *question)
{
	for (int i = 0; i < 2; i++) {
		if (!open_helper_ready(&opener->late, READY_MS))
			return -ETIMEDOUT;
		if (open_helper_ask(&opener->late, question) == 0)
			return 0;
		lose_late(opener, NULL, -EPIPE);
	}
	return -ETIMEDOUT;
}

/* Asks the helper for a file, and waits for the answer. */
static int ask_late(struct opener *opener, const struct finder *finder,
		    struct finder_request *request, struct finder_files *ret_files)
{
	uint64_t begin = clock_ns(CLOCK_MONOTONIC), waited;
	struct open_helper_question question;
	struct open_helper_answer answer;
	int r = open_helper_question(finder, request, &question);

	if (r < 0)
		return r;
	if (is_dead_file(opener, &request->module))
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
		return lose_late(opener, &request->module, r == 0 ? -ETIMEDOUT : -EBADMSG);
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
	/* a file that changed since was the right one, so asking again does not help */
	if (cached == 0 || cached == -ESTALE)
		return cached;
	r = ask_late(opener, finder, request, ret_files);
	/*
	 * while a process runs, its newest map is better than the cached one; -ESTALE: another
	 * process has its pid now, and the cached files may be of either
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
