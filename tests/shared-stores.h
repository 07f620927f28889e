/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Stores of ten hosts with three incidents each, for a study of what the incidents share. The
 * causes, moments and loads depend on a seed. The recordings last twelve days and have short
 * segments: those of the incidents, and three for each day, one of them at night.
 *
 * Usual on each host: a trainer, a kubelet that works in the kernel for a fraction of a second,
 * compressors, an indexer that fills a CPU from two to four at night, and gauges that drift.
 */

#include <math.h>

#include "tests/caused-stores.h"

enum shared {
	/* One cause of all incidents. */
	SHARED_ALL,
	/* One cause of half of them. */
	SHARED_HALF,
	/* One cause of each half. */
	SHARED_TWO,
	SHARED_NONE,
	/* All incidents come at night, when the indexer runs. */
	SHARED_PERIODIC,
	/* Most incidents come while the host is busy. */
	SHARED_LOAD,
	/* Only a gauge shows the cause: it grows for 40 hours before each incident. */
	SHARED_GAUGE,
};
#define SHARED_KINDS 7

static const char *const shared_names[SHARED_KINDS] = {
	"one cause in all",	   "one cause in half",	 "two causes",	    "no cause",
	"a periodic innocent job", "load as confounder", "only in a gauge",
};

#define SHARED_HOSTS 10
#define SHARED_EACH 3
#define SHARED_CASES (SHARED_HOSTS * SHARED_EACH)
#define SHARED_DAYS 12
#define SHARED_PER_DAY 3
#define SHARED_SEGMENT_S 20
#define SHARED_CPUS 8
#define SHARED_STALL_NS (6 * NSEC_PER_SEC)
#define SHARED_GAUGES 12
#define SHARED_HOUR_NS (3600 * NSEC_PER_SEC)
#define SHARED_DAY_NS (24 * SHARED_HOUR_NS)
#define SHARED_GROWTH_NS (40 * SHARED_HOUR_NS)

static const char shared_walk[] = "/main;do_syscall_64;vfs_read;seq_read_iter;memcg_stat_show;"
				  "mem_cgroup_nr_lru_pages";
static const char shared_reclaim[] = "/main;asm_exc_page_fault;handle_mm_fault;"
				     "__alloc_pages_slowpath;try_to_free_pages;shrink_lruvec";

struct shared_incident {
	unsigned int host;
	/* The end of its stall, after the begin of the recording. */
	uint64_t at_ns;
	/* 0: without a cause; 1: kubelet; 2: java. */
	int cause;
};

/* All stores of one seed. */
struct shared_stores {
	enum shared kind;
	/* Where the stores are made; NULL: in temporary folders. */
	const char *folder;
	struct tapes_store stores[SHARED_HOSTS];
	struct shared_incident incidents[SHARED_CASES];
	/* The begin of each busy day. */
	bool busy_days[SHARED_HOSTS][SHARED_DAYS];
};

/* The begin of a segment, and the incident in it. */
struct shared_segment {
	uint64_t from_ns;
	const struct shared_incident *incident;
};

static inline bool shared_is_night(uint64_t at_ns)
{
	uint64_t hour = (TAPES_REALTIME + at_ns) / SHARED_HOUR_NS % 24;

	return hour >= 2 && hour < 4;
}

/* Returns a moment of a day, of the night or not. */
static inline uint64_t shared_moment(unsigned int day, bool night)
{
	for (;;) {
		uint64_t at_ns = day * SHARED_DAY_NS + random_u64() % SHARED_DAY_NS;

		if (!night || shared_is_night(at_ns))
			return at_ns;
	}
}

static inline bool shared_is_busy(const struct shared_stores *shared, unsigned int host,
				  uint64_t at_ns)
{
	return shared->busy_days[host][at_ns / SHARED_DAY_NS % SHARED_DAYS];
}

/* Draws a day of an incident. A gauge needs time to grow before each. */
static inline unsigned int shared_day(const struct shared_stores *shared, unsigned int number)
{
	return shared->kind == SHARED_GAUGE ? 4 * number + 2 + random_below(2)
					    : random_below(SHARED_DAYS);
}

/* Returns whether another incident of the host is within an hour. */
static inline bool shared_is_taken(const struct shared_stores *shared, unsigned int host,
				   unsigned int before, uint64_t at_ns)
{
	for (unsigned int i = 0; i < before; i++) {
		uint64_t other_ns = shared->incidents[host * SHARED_EACH + i].at_ns;

		if (at_ns < other_ns + SHARED_HOUR_NS && other_ns < at_ns + SHARED_HOUR_NS)
			return true;
	}
	return false;
}

/* Chooses the incidents of a host. */
static inline void shared_choose(struct shared_stores *shared, unsigned int host)
{
	bool night = shared->kind == SHARED_PERIODIC;

	for (unsigned int i = 0; i < SHARED_EACH; i++) {
		unsigned int number = host * SHARED_EACH + i, tries = 0;
		struct shared_incident *incident = &shared->incidents[number];

		incident->host = host;
		do
			incident->at_ns =
				shared_moment(shared_day(shared, i), night) + 60 * NSEC_PER_SEC;
		while (shared_is_taken(shared, host, i, incident->at_ns) ||
		       (shared->kind == SHARED_LOAD && random_below(10) && tries++ < 40 &&
			!shared_is_busy(shared, host, incident->at_ns)));
		incident->cause = shared->kind != SHARED_NONE && shared->kind != SHARED_GAUGE;
		if (shared->kind == SHARED_HALF)
			incident->cause = number % 2;
		if (shared->kind == SHARED_TWO)
			incident->cause = 1 + number % 2;
	}
}

static inline void shared_init(struct shared_stores *shared, enum shared kind, uint64_t seed)
{
	*shared = (struct shared_stores){ .kind = kind };
	random_state = 88172645463325252ull ^ (seed * SHARED_KINDS + kind) * 0x9e3779b97f4a7c15ull;
	for (int i = 0; i < 20; i++)
		random_u64();
	for (unsigned int host = 0; host < SHARED_HOSTS; host++) {
		for (unsigned int day = 0; day < SHARED_DAYS; day++)
			shared->busy_days[host][day] = random_below(100) < 35;
		shared_choose(shared, host);
	}
}

/* Adds what is usual in a segment. */
static inline void shared_usual(struct caused_host *host, const struct shared_stores *shared,
				unsigned int number, uint64_t from_ns)
{
	uint64_t end_ns = from_ns + SHARED_SEGMENT_S * NSEC_PER_SEC;

	caused_add(host, from_ns, end_ns - from_ns, number % SHARED_CPUS, 30 + random_below(40),
		   4000, "ray::train", "/main;/step;/matmul");
	for (uint64_t at = from_ns; at < end_ns; at += caused_between(4000, 12000))
		caused_add(host, at, caused_between(100, 400), random_below(SHARED_CPUS), 100, 1262,
			   "kubelet", "/main;do_syscall_64;vfs_read;seq_read_iter;proc_stat_show");
	for (uint64_t at = from_ns + caused_between(0, 20000); at < end_ns;
	     at += caused_between(10000, 30000))
		caused_add(host, at, caused_between(500, 6000), random_below(SHARED_CPUS), 100,
			   7000 + random_below(500), "gzip", "/main;/deflate;/longest_match");
	if (shared_is_night(from_ns))
		caused_add(host, from_ns, end_ns - from_ns, 1, 100, 8000, "updatedb",
			   "/main;do_syscall_64;iterate_dir;ext4_readdir;ext4_map_blocks");
	for (unsigned int i = 0; shared_is_busy(shared, number, from_ns) && i < 3; i++)
		caused_add(host, from_ns, end_ns - from_ns, random_below(SHARED_CPUS),
			   50 + random_below(51), 9000 + (int)i, "cc1plus", "/main;/parse;/expand");
}

static inline void shared_plant(struct caused_host *host, const struct shared_incident *incident)
{
	uint64_t from_ns = incident->at_ns - SHARED_STALL_NS;
	uint32_t cpu = random_below(SHARED_CPUS);

	if (incident->cause == 1)
		caused_add(host, from_ns, SHARED_STALL_NS, cpu, 100, 1262, "kubelet", shared_walk);
	if (incident->cause == 2)
		caused_add(host, from_ns, SHARED_STALL_NS, cpu, 100, 2262, "java", shared_reclaim);
}

/* Returns the value of the gauge that grows before each incident of a host. */
static inline int64_t shared_grown(const struct shared_stores *shared, unsigned int host,
				   uint64_t at_ns)
{
	for (unsigned int i = 0; i < SHARED_CASES; i++) {
		const struct shared_incident *incident = &shared->incidents[i];
		uint64_t end_ns = incident->at_ns + 60 * NSEC_PER_SEC;

		if (incident->host == host && at_ns < end_ns && at_ns + SHARED_GROWTH_NS >= end_ns)
			return 20000 + 48000 * (double)(at_ns + SHARED_GROWTH_NS - end_ns) /
					       SHARED_GROWTH_NS;
	}
	return 240 + random_below(200);
}

static inline void shared_gauges(struct tape *tape, const struct shared_stores *shared,
				 unsigned int host, uint64_t from_ns)
{
	uint32_t gauge;
	char name[64];

	CHECK_EQ(tape_add_gauge(tape, "memory_cgroups/dying", &gauge), 0);
	for (unsigned int at = 0; at < SHARED_SEGMENT_S; at += 10)
		CHECK_EQ(tape_add_point(tape, gauge, tape->begin_ns + at * NSEC_PER_SEC,
					shared->kind == SHARED_GAUGE
						? shared_grown(shared, host, from_ns)
						: 240 + random_below(200)),
			 0);
	for (unsigned int i = 0; i < SHARED_GAUGES; i++) {
		/* a few counters, and levels with a wave of some days */
		double wave = sin((double)from_ns / SHARED_DAY_NS / (1 + i) + host);
		int64_t value = 1000 * i;

		snprintf(name, sizeof(name), i % 2 ? "vmstat/event%u" : "memory_cgroups/level%u",
			 i);
		CHECK_EQ(tape_add_gauge(tape, name, &gauge), 0);
		for (unsigned int at = 0; at < SHARED_SEGMENT_S; at++) {
			value = i % 2 ? value + random_below(20) + (wave > 0.5 ? 20 : 0)
				      : 2000 + 1000 * wave + random_below(100);
			CHECK_EQ(tape_add_point(tape, gauge, tape->begin_ns + at * NSEC_PER_SEC,
						value),
				 0);
		}
	}
}

/* Adds the line of the kernel's log. */
static inline void shared_line(struct tape *tape, const struct shared_incident *incident, int id)
{
	uint64_t ns = TAPES_PERF + incident->at_ns / 1000 * 1000;
	struct tape_fields fields = { tape->fields.count, 2 };
	char digits[16];

	snprintf(digits, sizeof(digits), "%d", id);
	CHECK_EQ(array_push(&tape->fields, (struct tape_fact){ tapes_string(tape, TAPE_INCIDENT_ID),
							       tapes_string(tape, digits) }),
		 0);
	snprintf(digits, sizeof(digits), "%u", random_below(8));
	CHECK_EQ(array_push(&tape->fields, (struct tape_fact){ tapes_string(tape, "qid"),
							       tapes_string(tape, digits) }),
		 0);
	CHECK_EQ(array_push(&tape->incidents,
			    (struct tape_incident){ .time_ns = ns,
						    .stall_ns = ns - SHARED_STALL_NS,
						    .kind = tapes_string(tape, "ena.tx_stall"),
						    .severity = 4,
						    .text = tapes_string(tape, "TX q is paused"),
						    .source = tapes_string(tape, "kmsg"),
						    .fields = fields }),
		 0);
}

static inline void shared_put(struct store_writer *writer, const struct shared_stores *shared,
			      unsigned int number, const struct shared_segment *segment, int id)
{
	static uint64_t sequence;
	uint64_t begin_ns = TAPES_PERF + segment->from_ns;
	struct tape *tape = tapes_bare(begin_ns, begin_ns + SHARED_SEGMENT_S * NSEC_PER_SEC);
	struct caused_host host = { .cpus = SHARED_CPUS };
	struct error error = { 0 };
	char name[16];

	snprintf(name, sizeof(name), "host-%u", number);
	tapes_anchor(tape, TAPES_PERF, TAPES_REALTIME);
	tape->sequence = sequence++;
	CHECK_EQ(tape_set_fact(tape, "host", name), 0);
	CHECK_EQ(tape_add_fact(tape, "cpus", "8"), 0);
	shared_usual(&host, shared, number, segment->from_ns);
	if (segment->incident)
		shared_plant(&host, segment->incident);
	/* add the work that was planted last first: it hides what the CPU did otherwise */
	for (size_t i = host.work.count; i-- > 0;)
		caused_sample(tape, &host.work.items[i]);
	CHECK_EQ(tape_sort_samples(tape), 0);
	caused_thin(tape, host.cpus);
	shared_gauges(tape, shared, number, segment->from_ns);
	if (segment->incident)
		shared_line(tape, segment->incident, id);
	if (store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, &error) < 0)
		CHECK_FAIL("%s", error.text);
	tape_free(tape);
	array_done(&host.work);
}

static inline int shared_compare(const void *a, const void *b)
{
	const struct shared_segment *left = a, *right = b;

	return (left->from_ns > right->from_ns) - (left->from_ns < right->from_ns);
}

static inline void shared_make_store(struct shared_stores *shared, unsigned int host)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	struct shared_segment segments[SHARED_DAYS * SHARED_PER_DAY + SHARED_EACH];
	size_t count = 0;
	struct error error = { 0 };
	uint64_t free_ns = 0;
	int id = 0;

	for (unsigned int i = 0; i < SHARED_EACH; i++) {
		const struct shared_incident *of = &shared->incidents[host * SHARED_EACH + i];

		/* the stall lies anywhere in its segment */
		segments[count++] = (struct shared_segment){
			of->at_ns - SHARED_STALL_NS - caused_between(500, 13000), of
		};
	}
	for (unsigned int day = 0; day < SHARED_DAYS; day++)
		for (unsigned int i = 0; i < SHARED_PER_DAY; i++)
			segments[count++] =
				(struct shared_segment){ shared_moment(day, i == 0), NULL };
	qsort(segments, count, sizeof(*segments), shared_compare);
	if (shared->folder)
		snprintf(shared->stores[host].path, sizeof(shared->stores[host].path), "%s/host-%u",
			 shared->folder, host);
	else
		tapes_store_init(&shared->stores[host]);
	if (store_writer_open(shared->stores[host].path, &writer, &error) < 0)
		CHECK_FAIL("%s", error.text);
	for (size_t i = 0; i < count; i++) {
		if (segments[i].from_ns < free_ns && !segments[i].incident)
			continue;
		free_ns = segments[i].from_ns + SHARED_SEGMENT_S * NSEC_PER_SEC;
		if (!segments[i].incident && i + 1 < count && segments[i + 1].incident &&
		    segments[i + 1].from_ns < free_ns)
			continue;
		shared_put(writer, shared, host, &segments[i], segments[i].incident ? ++id : 0);
	}
}

static inline void shared_make(struct shared_stores *shared)
{
	for (unsigned int host = 0; host < SHARED_HOSTS; host++)
		shared_make_store(shared, host);
}

static inline void shared_done(struct shared_stores *shared)
{
	for (unsigned int host = 0; host < SHARED_HOSTS; host++)
		tapes_store_done(&shared->stores[host]);
}
