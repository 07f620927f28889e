// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/files/table-maker.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/worker.h"
#include "namer/name-unwind.h"
#include "recorder/files/work-share.h"

/*
 * Invariants:
 * (1) the lock guards `requests`, `answers`, `turn` and `stopped`; the rest belongs to the thread
 *     that makes tables;
 * (2) both arrays have room for TABLE_REQUESTS_MAX items, and requests and answers together are not
 *     more. So no thread allocates memory under the lock.
 */

struct table_maker {
	struct finder finder;
	struct name_helper *helper;
	struct work_share share;
	/* The number of requests that the thread has taken. */
	uint64_t turn;
	uint64_t until_ns;
	bool wait;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stopped;
	array_of(struct table_request) requests;
	array_of(struct table_answer) answers;
};

void table_answer_done(struct table_answer *answer)
{
	if (answer->memory)
		munmap(answer->memory, answer->size);
	answer->memory = NULL;
	answer->size = 0;
}

/*
 * Microseconds of CPU time that the owner of files may use for their tables. A table takes some
 * thousand: compilers and the 300 libraries of an office program take 0.2 s each.
 */
static const struct account_bucket table_share = { .burst = 500000, .rate = 10000 };

/* ---- one table ---- */

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static int map_table(int memory, size_t size, struct table_answer *answer)
{
	void *mapped = mmap(NULL, size, PROT_READ, MAP_SHARED, memory, 0);
	int r;

	if (mapped == MAP_FAILED)
		return -errno;
	r = unwind_table_open(mapped, size, &answer->table);
	if (r < 0) {
		munmap(mapped, size);
		return r;
	}
	answer->memory = mapped;
	answer->size = size;
	return 0;
}

static int make_from_file(struct table_maker *maker, const struct table_request *request, int fd,
			  struct table_answer *answer)
{
	_cleanup_close_ int memory = -1;
	size_t size;
	int r;

	if (fstat(fd, &answer->about) < 0)
		return -errno;
	if (request->check && is_same_file(&answer->about, &request->about))
		return 1;
	r = name_helper_unwind(maker->helper, fd, &memory, &size);
	return r < 0 ? r : map_table(memory, size, answer);
}

static int find_and_make(struct table_maker *maker, const struct table_request *request,
			 struct table_answer *answer)
{
	struct finder_request wanted = {
		.kind = FINDER_FILE,
		.pid = request->pid,
		.until_ns = maker->until_ns,
		.module = request->module,
		.path = request->path,
		.owner = request->owner,
	};
	struct finder_files files = { -1, -1 };
	int r;

	if (!wanted.until_ns && maker->finder.live)
		wanted.until_ns = clock_ns(CLOCK_REALTIME);
	r = finder_find(&maker->finder, &wanted, &files);

	if (r == 0)
		r = make_from_file(maker, request, files.fd, answer);
	finder_files_close(&files);
	return r;
}

void table_maker_make(struct table_maker *maker, struct table_request *request,
		      struct table_answer *ret_answer)
{
	struct table_answer answer = {
		.ticket = request->ticket,
		.owner = request->owner,
		.asked_ns = request->asked_ns,
	};
	uint64_t begun_ns = name_helper_spent_ns(maker->helper);

	answer.result = -EDQUOT;
	if (work_share_admits(&maker->share, request->owner, clock_ns(CLOCK_MONOTONIC))) {
		answer.result = find_and_make(maker, request, &answer);
		work_share_spend(&maker->share, request->owner,
				 name_helper_spent_ns(maker->helper) - begun_ns);
	}
	answer.made_ns = clock_ns(CLOCK_MONOTONIC);
	free(take_ptr(request->path));
	*ret_answer = answer;
}

/* ---- the thread ---- */

static bool table_request_is_before(const struct table_request *a, const struct table_request *b)
{
	return a->turn < b->turn || (a->turn == b->turn && a->urgent && !b->urgent);
}

/*
 * Takes a request of the owner that waits for the longest time since its last turn, so that an
 * owner with many slow files delays the others by one file at a time. Takes its first urgent
 * request; if none is urgent, the first one.
 */
static struct table_request next_request(struct table_maker *maker)
{
	struct table_request *items = maker->requests.items, request;
	size_t best = 0;

	for (size_t i = 1; i < maker->requests.count; i++)
		if (table_request_is_before(&items[i], &items[best]))
			best = i;
	request = items[best];
	maker->requests.count--;
	memmove(&items[best], &items[best + 1], (maker->requests.count - best) * sizeof(request));
	maker->turn++;
	for (size_t i = 0; i < maker->requests.count; i++)
		if (items[i].owner == request.owner)
			items[i].turn = maker->turn;
	return request;
}

/*
 * Waits for a request. Ends the helper when no request came for a second, because the helper keeps
 * tens of megabytes of memory after a large file.
 */
static void await_request(struct table_maker *maker)
{
	bool rested = false;

	while (!maker->requests.count && !maker->stopped) {
		struct timespec until = worker_second_from_now();

		if (rested)
			pthread_cond_wait(&maker->changed, &maker->lock);
		else if (pthread_cond_timedwait(&maker->changed, &maker->lock, &until) != 0 &&
			 !maker->requests.count && !maker->stopped) {
			pthread_mutex_unlock(&maker->lock);
			name_helper_rest(maker->helper);
			pthread_mutex_lock(&maker->lock);
			rested = true;
		}
	}
}

static void *table_maker_run(void *context)
{
	struct table_maker *maker = context;

	prctl(PR_SET_NAME, "perftape-tables");
	pthread_mutex_lock(&maker->lock);
	for (;;) {
		struct table_request request;
		struct table_answer answer;

		await_request(maker);
		if (maker->stopped)
			break;
		request = next_request(maker);
		pthread_mutex_unlock(&maker->lock);
		table_maker_make(maker, &request, &answer);
		pthread_mutex_lock(&maker->lock);
		/* there is room: invariant (2) */
		maker->answers.items[maker->answers.count++] = answer;
	}
	pthread_mutex_unlock(&maker->lock);
	return NULL;
}

int table_maker_new(const struct finder *finder, uint64_t until_ns, bool wait,
		    struct table_maker **ret_maker)
{
	static const struct name_helper_patience patience = NAME_HELPER_PATIENCE;
	struct table_maker *maker = calloc(1, sizeof(*maker));
	int r;

	if (!maker)
		return -ENOMEM;
	maker->finder = *finder;
	maker->until_ns = until_ns;
	maker->wait = true;
	work_share_init(&maker->share, table_share);
	worker_lock_init(&maker->lock, &maker->changed);
	r = name_helper_new(&patience, &maker->helper);
	if (r == 0 && (array_reserve(&maker->requests, TABLE_REQUESTS_MAX) < 0 ||
		       array_reserve(&maker->answers, TABLE_REQUESTS_MAX) < 0))
		r = -ENOMEM;
	maker->finder.helper = maker->helper;
	if (r == 0 && !wait) {
		r = worker_start(&maker->thread, table_maker_run, maker);
		/* without a thread, table_maker_free() must not join one */
		maker->wait = r < 0;
	}
	if (r < 0) {
		table_maker_free(maker);
		return r;
	}
	*ret_maker = maker;
	return 0;
}

/*
 * Ends the thread after its present request. The deadlines of the helper bound the time for that
 * request.
 */
static void table_maker_stop(struct table_maker *maker)
{
	pthread_mutex_lock(&maker->lock);
	maker->stopped = true;
	pthread_cond_signal(&maker->changed);
	pthread_mutex_unlock(&maker->lock);
	pthread_join(maker->thread, NULL);
}

struct table_maker *table_maker_free(struct table_maker *maker)
{
	if (!maker)
		return NULL;
	if (!maker->wait)
		table_maker_stop(maker);
	for (size_t i = 0; i < maker->requests.count; i++)
		free(maker->requests.items[i].path);
	for (size_t i = 0; i < maker->answers.count; i++)
		table_answer_done(&maker->answers.items[i]);
	array_done(&maker->requests);
	array_done(&maker->answers);
	name_helper_free(maker->helper);
	work_share_done(&maker->share);
	worker_lock_done(&maker->lock, &maker->changed);
	free(maker);
	return NULL;
}

/* ---- the draining thread's side ---- */

/*
 * Adds a request behind those that wait. Returns false if all places are taken, or those of the
 * request's owner. Half of these are for urgent requests only, because an owner may map ever new
 * files that are never sampled. An answer keeps the place of its request until the draining thread
 * takes it, because requests that fail at once could fill all places with answers.
 */
static bool table_maker_add(struct table_maker *maker, const struct table_request *request)
{
	size_t own_max = request->urgent ? TABLE_REQUESTS_OWN : TABLE_REQUESTS_OWN / 2, own = 0;
	uint64_t turn = maker->turn;

	if (maker->requests.count + maker->answers.count + 1 >= TABLE_REQUESTS_MAX)
		return false;
	for (size_t i = 0; i < maker->requests.count; i++) {
		if (maker->requests.items[i].owner != request->owner)
			continue;
		turn = maker->requests.items[i].turn;
		own++;
	}
	for (size_t i = 0; i < maker->answers.count; i++)
		own += maker->answers.items[i].owner == request->owner;
	if (own >= own_max)
		return false;
	maker->requests.items[maker->requests.count] = *request;
	maker->requests.items[maker->requests.count++].turn = turn;
	return true;
}

bool table_maker_ask(struct table_maker *maker, const struct table_request *request)
{
	bool taken;

	if (pthread_mutex_trylock(&maker->lock) != 0)
		return false;
	taken = table_maker_add(maker, request);
	if (taken)
		pthread_cond_signal(&maker->changed);
	pthread_mutex_unlock(&maker->lock);
	return taken;
}

bool table_maker_take(struct table_maker *maker, struct table_answer *ret_answer)
{
	bool there;

	if (pthread_mutex_trylock(&maker->lock) != 0)
		return false;
	there = maker->answers.count > 0;
	if (there) {
		*ret_answer = maker->answers.items[0];
		maker->answers.count--;
		memmove(maker->answers.items, maker->answers.items + 1,
			maker->answers.count * sizeof(*maker->answers.items));
	}
	pthread_mutex_unlock(&maker->lock);
	return there;
}
