// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/worker.h"

/*
 * To apply a record takes about a microsecond, and more if the opener must open the mapped file. So
 * an account counts records, and a record with a long path counts as several. A process that starts
 * makes some dozen records, a busy build 10,000 per second.
 */
static const struct account_limits sideband_limits = {
	.own = { .burst = 16384, .rate = 2048 },
	.sure = { .burst = 512, .rate = 16 },
	.all = { .burst = 32768, .rate = 16384 },
};

/* The bytes of a usual record. */
#define USUAL_BYTES 256

/*
 * One process can make 100 MB of records per second, which fill a ring of a megabyte in 10 ms. If a
 * ring was filled to more than 1/FULL_SHARE when the thread emptied it, the thread empties all
 * rings more often.
 */
#define FULL_SHARE 32
#define APART_NS (2 * NSEC_PER_MSEC)
#define APART_FULL_NS NSEC_PER_MSEC
#define SLICE_NS (100 * NSEC_PER_USEC)
/* A usual turn needs less memory than this; free a larger buffer after the turn. */
#define KEPT_BYTES (1u << 20)

/*
 * The kernel's struct sched_attr: glibc does not define it before 2.41, and differently since then.
 */
struct sideband_sched_attr {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns;
	uint64_t deadline_ns;
	uint64_t period_ns;
};

void sideband_init(struct sideband *sideband)
{
	*sideband = (struct sideband){ .ring_cpu = UINT32_MAX };
	accounts_init(&sideband->accounts, &sideband_limits);
	worker_lock_init(&sideband->lock, &sideband->changed);
}

void sideband_done(struct sideband *sideband)
{
	sideband_stop(sideband);
	buffer_done(&sideband->taken);
	buffer_done(&sideband->handed);
	accounts_done(&sideband->accounts);
	worker_lock_done(&sideband->lock, &sideband->changed);
}

/* Returns false if the process of this record made too many records. */
static bool sideband_admit(struct sideband *sideband, const uint8_t *bytes, size_t size)
{
	int32_t pid = perf_record_actor(bytes, size);

	return !pid || accounts_take(&sideband->accounts, pid, 1 + size / USUAL_BYTES);
}

static void sideband_count(struct sideband *sideband, const uint8_t *bytes, size_t size)
{
	const struct perf_layout *layout = perf_events_layout(sideband->events, PERF_RING_SIDEBAND);
	uint32_t cpu = perf_record_place(layout, bytes, size).cpu;

	if (cpu != sideband->ring_cpu)
		sideband->ring_bytes = 0;
	sideband->ring_cpu = cpu;
	sideband->ring_bytes += size;
	sideband->fullest_bytes = MAX(sideband->fullest_bytes, sideband->ring_bytes);
	sideband->peak_bytes = MAX(sideband->peak_bytes, sideband->ring_bytes);
}

/* The header of each record has its size, so the buffer does not need separators. */
static int sideband_keep(void *context, enum perf_ring ring, const uint8_t *bytes, size_t size)
{
	struct sideband *sideband = context;

	(void)ring;
	sideband_count(sideband, bytes, size);
	if (!sideband_admit(sideband, bytes, size))
		return 0;
	buffer_bytes(&sideband->taken, bytes, size);
	return buffer_failed(&sideband->taken) ? -ENOMEM : 0;
}

static int sideband_empty_rings(struct sideband *sideband)
{
	sideband->ring_cpu = UINT32_MAX;
	sideband->ring_bytes = sideband->fullest_bytes = 0;
	return perf_events_drain(sideband->events, 1u << PERF_RING_SIDEBAND, sideband_keep,
				 sideband);
}

/*
 * Returns whether a ring was so full that the thread must empty it also while the draining thread
 * sleeps.
 */
static bool sideband_fills(const struct sideband *sideband)
{
	return sideband->fullest_bytes > sideband->full_bytes;
}

/*
 * Asks the scheduler for short time slices, because a thread with short slices gets a CPU sooner.
 * While the thread waits for a CPU, other processes fill the ring. Works since Linux 6.12, without
 * any right.
 */
static void sideband_ask_for_short_slices(void)
{
	struct sideband_sched_attr attr = { .size = sizeof(attr),
					    .nice = getpriority(PRIO_PROCESS, 0),
					    .runtime_ns = SLICE_NS };

	syscall(SYS_sched_setattr, 0, &attr, 0);
}

static void *sideband_main(void *context)
{
	struct sideband *sideband = context;

	prctl(PR_SET_NAME, "perftape-side");
	sideband_ask_for_short_slices();
	pthread_mutex_lock(&sideband->lock);
	while (!sideband->ending) {
		sideband->asleep = !sideband->working && !sideband_fills(sideband);
		if (sideband->asleep) {
			pthread_cond_wait(&sideband->changed, &sideband->lock);
			continue;
		}
		worker_await(&sideband->lock, &sideband->changed, &sideband->ending,
			     sideband_fills(sideband) ? APART_FULL_NS : APART_NS);
		/*
		 * The kernel also wakes the draining thread for these records. If memory was short,
		 * that thread finds the failed buffer and returns the error.
		 */
		if (!sideband->ending && !buffer_failed(&sideband->taken) &&
		    sideband->taken.size < SIDEBAND_BYTES_MAX)
			(void)!sideband_empty_rings(sideband);
	}
	pthread_mutex_unlock(&sideband->lock);
	return NULL;
}

int sideband_start(struct sideband *sideband, struct perf_events *events)
{
	uint64_t all;
	int r;

	sideband->events = events;
	/* Read here, because the draining thread changes the rings of stack dumps later. */
	sideband->full_bytes = perf_events_ring_bytes(events, &all) / FULL_SHARE;
	sideband->working = true;
	r = worker_start(&sideband->thread, sideband_main, sideband);
	sideband->started = r == 0;
	return r;
}

void sideband_stop(struct sideband *sideband)
{
	if (!sideband->started)
		return;
	pthread_mutex_lock(&sideband->lock);
	sideband->ending = true;
	pthread_cond_broadcast(&sideband->changed);
	pthread_mutex_unlock(&sideband->lock);
	pthread_join(sideband->thread, NULL);
	sideband->started = false;
}

void sideband_work(struct sideband *sideband)
{
	pthread_mutex_lock(&sideband->lock);
	sideband->working = true;
	if (sideband->asleep)
		pthread_cond_broadcast(&sideband->changed);
	sideband->asleep = false;
	pthread_mutex_unlock(&sideband->lock);
}

bool sideband_rest(struct sideband *sideband)
{
	bool waiting;

	pthread_mutex_lock(&sideband->lock);
	sideband->working = false;
	waiting = sideband->taken.size;
	pthread_mutex_unlock(&sideband->lock);
	return waiting;
}

/* Takes all records out of the rings and the buffer, and leaves an empty buffer to the thread. */
static int sideband_take(struct sideband *sideband, bool all)
{
	struct buffer empty = sideband->handed;
	int r;

	empty.size = 0;
	pthread_mutex_lock(&sideband->lock);
	r = buffer_failed(&sideband->taken) ? -ENOMEM : sideband_empty_rings(sideband);
	sideband->handed = sideband->taken;
	sideband->taken = empty;
	if (r == 0 && all)
		r = perf_events_close_offline(sideband->events);
	pthread_mutex_unlock(&sideband->lock);
	return r;
}

int sideband_drain(struct sideband *sideband, bool all,
		   int (*handle)(void *context, const uint8_t *record, size_t size), void *context)
{
	int r = sideband_take(sideband, all);
	const uint8_t *at = sideband->handed.data;
	const uint8_t *end = at + sideband->handed.size;

	while (r >= 0 && at < end) {
		struct perf_event_header header;

		memcpy(&header, at, sizeof(header));
		r = handle(context, at, header.size);
		at += header.size;
	}
	if (sideband->handed.capacity > KEPT_BYTES)
		buffer_done(&sideband->handed);
	return MIN(r, 0);
}

int sideband_renew(struct sideband *sideband, struct tracker *tracker, uint64_t *ret_peak_bytes)
{
	struct account *account;
	int r = 0;

	pthread_mutex_lock(&sideband->lock);
	account = sideband->accounts.list.items;
	for (size_t i = 0; r == 0 && i < sideband->accounts.list.count; i++, account++) {
		if (!account->refused)
			continue;
		r = tracker_refuse(tracker, account->key, account->refused);
		account->refused = 0;
	}
	accounts_begin(&sideband->accounts, 1);
	*ret_peak_bytes = sideband->peak_bytes;
	pthread_mutex_unlock(&sideband->lock);
	return r;
}

int sideband_refresh(struct sideband *sideband, uint64_t now_ns,
		     void (*changed)(void *context, uint32_t cpu, bool online, uint64_t time_ns),
		     void *context, struct error *error)
{
	int r;

	pthread_mutex_lock(&sideband->lock);
	r = perf_events_refresh(sideband->events, now_ns, changed, context, error);
	pthread_mutex_unlock(&sideband->lock);
	return r;
}
