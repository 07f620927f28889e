// SPDX-License-Identifier: GPL-2.0-only
/* The groupings of `top --by`: each has its rows, and what is usual for each of them. */
#include "tests/check.h"

#include <math.h>
#include <string.h>

#include "query/read/scan.h"
#include "query/sums/ranking.h"
#include "query/sums/tally-tape.h"
#include "tests/tapes.h"

static const struct filter all;

struct grouped {
	struct tally *tally;
	struct scanned scanned;
	struct baseline baseline;
	struct ranking ranking;
};

static void grouped_done(struct grouped *grouped)
{
	tally_free(grouped->tally);
	scanned_done(&grouped->scanned);
	baseline_done(&grouped->baseline);
	ranking_done(&grouped->ranking);
}

static int add(void *context, unsigned int worker, const struct store_segment *segment,
	       const struct tape *tape, const struct window_filter_times *times)
{
	return tally_add_samples(context, tape, times->kinds,
				 stack_class_sample_ns(tape, segment->samples),
				 TALLY_CPUS | TALLY_NAMES | TALLY_DETAILS);
}

/* from and to are seconds after TAPES_REALTIME. */
static struct grouped group(const struct tapes_store *store, enum tally_by by, unsigned int from,
			    unsigned int to)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct grouped grouped = { 0 };
	const struct question question = {
		.window = { .from_ns = TAPES_REALTIME + from * NSEC_PER_SEC,
			    .to_ns = TAPES_REALTIME + to * NSEC_PER_SEC },
		.filter = &all,
	};
	const struct baseline_options usual = { question, by, 3600 * NSEC_PER_SEC,
						NSEC_PER_SEC * 60, 1 };
	struct scan_options scan = { .question = question, .threads = 1, .add = add };

	CHECK_EQ(tally_new(&grouped.tally), 0);
	grouped.tally->by = by;
	scan.context = grouped.tally;
	CHECK_EQ(store_reader_open(store->path, &reader, NULL), 0);
	CHECK_EQ(scan_run(reader, &scan, &grouped.scanned, NULL), 0);
	CHECK_EQ(baseline_make(reader, &usual, &grouped.baseline, NULL), 0);
	CHECK_EQ(ranking_make(grouped.tally, grouped.scanned.coverage.covered_ns, &grouped.baseline,
			      &grouped.ranking),
		 0);
	return grouped;
}

static bool is_near(double a, double b)
{
	return fabs(a - b) < 0.015;
}

static const struct ranking_group *group_row(const struct ranking *ranking, const char *name)
{
	for (size_t i = 0; i < ranking->groups.count; i++)
		if (!strcmp(ranking->groups.items[i].name, name))
			return &ranking->groups.items[i];
	CHECK_FAIL("no group %s", name);
	return NULL;
}

/* Two threads of one name in two pods, of which one is busy in the window only. */
static struct tape *tape_of_pods(void)
{
	static const char *const cgroups[] = {
		"/kubepods/burstable/pod8d7c2f1e-0b3a-4c5d-9e8f-001122334455/x",
		"/kubepods/burstable/pod00000000-0b3a-4c5d-9e8f-001122334455/x",
	};
	struct tape *tape = tapes_new(0, 60);
	uint32_t threads[3], stack = tapes_kernel(tape, "vfs_read;a;b"), id;

	for (unsigned int i = 0; i < 3; i++) {
		threads[i] = tapes_thread(tape, 10 + i, 10 + i, i < 2 ? "app" : "sshd");
		if (i == 2)
			continue;
		CHECK_EQ(strings_add(&tape->strings, cgroups[i], strlen(cgroups[i]), &id), 0);
		tape->threads.items[threads[i]].cgroup = id;
	}
	for (uint64_t i = 0; i < 97 * 60; i++) {
		uint64_t ns = tape->begin_ns + i * NSEC_PER_SEC / 97 / 1000 * 1000;

		tapes_sample(tape, ns, 0, threads[i % 2 ? 0 : 2], stack);
		if (i >= 97 * 40)
			tapes_sample(tape, ns, 1, threads[1], stack);
	}
	return tape;
}

/* Each grouping has its rows, and marks only the row that is busier than usual. */
static void test_by(void)
{
	static const struct {
		enum tally_by by;
		const char *newly, *always;
	} rows[] = {
		{ TALLY_BY_THREAD, "app 11/11", "app 10/10" },
		{ TALLY_BY_CGROUP, "/kubepods/burstable/pod00000000-0b3a-4c5d-9e8f-001122334455/x",
		  "/kubepods/burstable/pod8d7c2f1e-0b3a-4c5d-9e8f-001122334455/x" },
		{ TALLY_BY_POD, "00000000-0b3a-4c5d-9e8f-001122334455", "[no pod]" },
	};
	_cleanup_(tapes_store_done) struct tapes_store store;

	tapes_store_init(&store);
	tapes_store_put(&store, tape_of_pods());
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(grouped_done) struct grouped grouped = group(&store, rows[i].by, 40, 60);
		const struct ranking_group *newly = group_row(&grouped.ranking, rows[i].newly);
		const struct ranking_group *always = group_row(&grouped.ranking, rows[i].always);

		CHECK(newly->stands_out && is_near(newly->now.kernel, 1));
		CHECK(!always->stands_out && is_near(always->now.all, 0.5));
		CHECK(is_near(always->usual.all, 0.5) && newly->usual.all == 0);
	}
}

/* A call path is a separate group. Without a baseline, `top` does not mark rows. */
static void test_by_path(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(grouped_done) struct grouped grouped = { 0 };
	const struct ranking_group *path;

	tapes_store_init(&store);
	tapes_store_put(&store, tape_of_pods());
	grouped = group(&store, TALLY_BY_PATH, 0, 60);
	CHECK_EQ(grouped.ranking.groups.count, 1);
	path = group_row(&grouped.ranking, "vfs_read;a;b");
	CHECK_EQ(path->threads, 3);
	CHECK(!grouped.ranking.compared && !path->stands_out);
	ranking_match(&grouped.ranking, "VFS");
	CHECK_EQ(grouped.ranking.groups.count, 1);
	ranking_match(&grouped.ranking, "ext4");
	CHECK_EQ(grouped.ranking.groups.count, 0);
}

CHECK_MAIN({ "threads, cgroups and pods are groups", test_by },
	   { "call paths are groups", test_by_path })
