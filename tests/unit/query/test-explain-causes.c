// SPDX-License-Identifier: GPL-2.0-only
/*
 * Plants twelve causes in the store of a host, and explains each. Without arguments, a small host
 * and one seed; bench/explain runs `test-explain-causes FIRST LAST` with 96 CPUs and prints how
 * many verdicts were right, and how many quiet windows were accused.
 */
#include <stdlib.h>

#include "query/explain/explain.h"
#include "tests/caused-stores.h"

#define QUIET 12
#define WINDOW_NS (35 * NSEC_PER_SEC)

static const struct filter everything;
static bool is_verbose;

/* The results of many stores. */
struct score {
	unsigned int right[CAUSED_KINDS], wrong[CAUSED_KINDS];
	unsigned int accused, quiet;
};

static void explain_at(struct store_reader *reader, const struct caused_host *host, int cause,
		       uint64_t from_ns, uint64_t to_ns, struct explain *explain)
{
	const struct explain_options options = {
		.question = { .filter = &everything },
		.around_ns = 12 * 3600 * NSEC_PER_SEC,
		.limit_ns = 60 * NSEC_PER_SEC,
		.threads = 1,
	};
	struct evidence *evidence = &explain->evidence;
	struct error error = { 0 };

	*explain = (struct explain){ 0 };
	evidence->incident.napi_scheduled = -1;
	if (cause >= 0) {
		evidence->incident.napi_scheduled = cause != CAUSED_DEVICE;
		snprintf(evidence->incident.kind, sizeof(evidence->incident.kind), "ena.tx_stall");
	}
	evidence->stall_from_ns = TAPES_REALTIME + from_ns;
	evidence->stall_to_ns = TAPES_REALTIME + to_ns;
	if (explain_run(reader, &options, explain, &error) < 0)
		CHECK_FAIL("%s", error.text);
}

static void report(const struct explain *explain, const char *what)
{
	const struct evidence *evidence = &explain->evidence;

	for (size_t i = 0; is_verbose && i < evidence->core_count; i++) {
		const struct evidence_core *core = &evidence->cores[i];

		printf("# CPU %u: full %d, %s, rows %u/%u, thread %u/%u, stretches %u/%u, p %.3f\n",
		       core->cpu, core->full, evidence_name(evidence, core->threads[0].comm),
		       core->leaf_row.chance.as_much, core->leaf_row.chance.windows,
		       core->threads[0].row.chance.as_much, core->threads[0].row.chance.windows,
		       core->full_chance.as_much, core->full_chance.windows,
		       core_standing(evidence, core).p);
	}
	for (size_t i = 0; i < explain->verdicts.count; i++) {
		const struct verdict *verdict = &explain->verdicts.list[i];

		printf("# %s: %s, %s: %s\n", what, verdict->kind,
		       confidence_name(verdict->confidence), verdict->evidence);
	}
}

static void score_cause(struct store_reader *reader, const struct caused_host *host, int cause,
			struct score *score)
{
	uint64_t to_ns = host->slots[cause].to_ns;
	struct explain explain;
	const struct verdict *first;
	bool right;

	explain_at(reader, host, cause, to_ns - 5900 * NSEC_PER_MSEC, to_ns, &explain);
	CHECK(explain.verdicts.count);
	first = &explain.verdicts.list[0];
	right = strcmp(first->kind, caused_names[cause]) == 0;
	if (first->core >= 0)
		right = right && explain.evidence.cores[first->core].cpu == host->slots[cause].cpu;
	score->right[cause] += right;
	score->wrong[cause] += !right;
	if (!right || is_verbose)
		report(&explain, caused_names[cause]);
	explain_done(&explain);
}

static bool is_quiet(const struct caused_host *host, uint64_t from_ns)
{
	uint64_t margin_ns = 15 * NSEC_PER_SEC;

	for (int cause = 0; cause < CAUSED_KINDS; cause++)
		if (from_ns < host->slots[cause].to_ns + margin_ns &&
		    from_ns + WINDOW_NS + margin_ns > host->slots[cause].from_ns)
			return false;
	/* from then on a unit crashes again and again */
	return from_ns + WINDOW_NS < host->slots[CAUSED_CRASH_LOOP].from_ns - 60 * NSEC_PER_SEC;
}

static void score_quiet(struct store_reader *reader, const struct caused_host *host,
			struct score *score)
{
	for (int i = 0; i < QUIET; i++) {
		uint64_t from_ns;
		struct explain explain;

		do
			from_ns = caused_between(20000, (CAUSED_LENGTH_S - 60) * 1000);
		while (!is_quiet(host, from_ns));
		explain_at(reader, host, -1, from_ns, from_ns + WINDOW_NS, &explain);
		score->quiet++;
		score->accused += explain.verdicts.list[0].accuses;
		if (explain.verdicts.list[0].accuses)
			report(&explain, "quiet window");
		explain_done(&explain);
	}
}

static void score_seed(uint64_t seed, uint32_t cpus, struct score *score)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct caused_host host;
	struct tapes_store store;
	struct error error = { 0 };

	caused_host_init(&host, seed, cpus);
	caused_store_make(&store, &host);
	CHECK_EQ(store_reader_open(store.path, &reader, &error), 0);
	for (int cause = 0; cause < CAUSED_KINDS; cause++)
		score_cause(reader, &host, cause, score);
	score_quiet(reader, &host, score);
	tapes_store_done(&store);
	caused_host_done(&host);
}

static void test_causes_are_found(void)
{
	struct score score = { 0 };
	unsigned int right = 0;

	score_seed(7, 16, &score);
	for (int cause = 0; cause < CAUSED_KINDS; cause++)
		right += score.right[cause];
	printf("# %u of %d verdicts are right, %u of %u quiet windows are accused\n", right,
	       CAUSED_KINDS, score.accused, score.quiet);
	CHECK_EQ(right, CAUSED_KINDS);
	CHECK(score.accused <= 1);
}

/*
 * Another program fills the CPU until the stall begins, and does so elsewhere, too. The answer
 * describes the stall, and says nothing of these other times.
 */
static void test_stall_alone(void)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	const struct evidence_core *core;
	struct caused_host host;
	struct tapes_store store;
	struct explain explain;
	uint64_t from_ns, to_ns;

	caused_host_init(&host, 7, 16);
	from_ns = host.slots[CAUSED_KERNEL_LOOP].from_ns;
	to_ns = host.slots[CAUSED_KERNEL_LOOP].to_ns;
	for (uint64_t times = 0; times < 4; times++)
		caused_add(&host, from_ns - (20 + 40 * times) * NSEC_PER_SEC, 20 * NSEC_PER_SEC,
			   host.slots[CAUSED_KERNEL_LOOP].cpu, 100, 6334, "fuzz", "/main;/mutate");
	caused_store_make(&store, &host);
	CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
	explain_at(reader, &host, CAUSED_KERNEL_LOOP, from_ns, to_ns, &explain);
	core = &explain.evidence.cores[0];
	CHECK_EQ(core->cpu, host.slots[CAUSED_KERNEL_LOOP].cpu);
	CHECK_STR(evidence_name(&explain.evidence, core->threads[0].comm), "nv-hostd");
	CHECK(core->threads[0].share > 0.9);
	CHECK(core->from_ns < TAPES_REALTIME + from_ns - NSEC_PER_SEC);
	CHECK_EQ(core->recurs, 0);
	explain_done(&explain);
	tapes_store_done(&store);
	caused_host_done(&host);
}

/* A program takes a part of the CPU from the sixth segment on; later it fills the CPU. */
static void test_since(void)
{
	uint64_t from_ns = 5 * CAUSED_SEGMENT_S * NSEC_PER_SEC,
		 end_ns = CAUSED_LENGTH_S * NSEC_PER_SEC;
	uint64_t stall_ns = end_ns - 30 * NSEC_PER_SEC;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	static const char stack[] = "/main;do_syscall_64;walk_leaks";
	const struct evidence_since *since;
	struct caused_host host;
	struct tapes_store store;
	struct explain explain;

	caused_host_init(&host, 7, 16);
	caused_add(&host, from_ns, end_ns - from_ns, 6, 40, 9000, "walker", stack);
	caused_add(&host, stall_ns, 8 * NSEC_PER_SEC, 6, 100, 9000, "walker", stack);
	caused_store_make(&store, &host);
	CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
	explain_at(reader, &host, -1, stall_ns, stall_ns + 7 * NSEC_PER_SEC, &explain);
	since = &explain.evidence.since;
	CHECK_EQ(explain.evidence.cores[0].cpu, 6);
	CHECK_STR(evidence_name(&explain.evidence, since->function), "walk_leaks");
	CHECK(since->changed);
	CHECK_EQ(since->from_ns, TAPES_REALTIME + from_ns);
	CHECK_EQ(since->at_ns, TAPES_REALTIME + from_ns);
	CHECK(since->before < 0.01);
	CHECK(since->after > 0.35 && since->after < 0.45);
	explain_done(&explain);
	tapes_store_done(&store);
	caused_host_done(&host);
}

/* The causes that concern CPUs are found on a host of 448 CPUs. */
static void test_many_cpus(void)
{
	static const enum caused causes[] = { CAUSED_ZOMBIES, CAUSED_KERNEL_LOOP, CAUSED_ALL_BUSY,
					      CAUSED_STEAL };
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct score score = { 0 };
	struct caused_host host;
	struct tapes_store store;

	caused_host_init(&host, 3, 448);
	caused_store_make(&store, &host);
	CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(causes); i++) {
		score_cause(reader, &host, causes[i], &score);
		CHECK_EQ(score.right[causes[i]], 1);
	}
	tapes_store_done(&store);
	caused_host_done(&host);
}

/*
 * On a host of one CPU, other programs fill that CPU all the time. The answer about a loop in the
 * kernel still names the CPU and the thread.
 */
static void test_one_cpu(void)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	const struct evidence *evidence;
	const struct evidence_core *core;
	struct caused_host host;
	struct tapes_store store;
	struct explain explain;

	caused_host_init(&host, 5, 1);
	caused_store_make(&store, &host);
	CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
	explain_at(reader, &host, CAUSED_KERNEL_LOOP, host.slots[CAUSED_KERNEL_LOOP].from_ns,
		   host.slots[CAUSED_KERNEL_LOOP].to_ns, &explain);
	evidence = &explain.evidence;
	core = &evidence->cores[0];
	CHECK_EQ(evidence->cpus, 1);
	CHECK_EQ(evidence->core_count, 1);
	CHECK_EQ(core->cpu, 0);
	CHECK(core->full);
	CHECK_STR(evidence_name(evidence, core->threads[0].comm), "nv-hostd");
	CHECK_STR(explain.verdicts.list[0].kind, "kernel_loop");
	explain_done(&explain);
	tapes_store_done(&store);
	caused_host_done(&host);
}

/* Prints the score of many seeds. */
static void bench(uint64_t first, uint64_t last)
{
	unsigned int right = 0, all = 0;
	struct score score = { 0 };

	for (uint64_t seed = first; seed <= last; seed++)
		score_seed(seed, 96, &score);
	for (int cause = 0; cause < CAUSED_KINDS; cause++) {
		unsigned int of = score.right[cause] + score.wrong[cause];

		printf("%-24s %u of %u\n", caused_names[cause], score.right[cause], of);
		right += score.right[cause];
		all += of;
	}
	printf("%-24s %u of %u (%.1f %%)\n", "right verdict first", right, all,
	       100.0 * right / all);
	printf("%-24s %u of %u (%.1f %%)\n", "quiet windows accused", score.accused, score.quiet,
	       100.0 * score.accused / score.quiet);
}

static const struct check_test tests[] = { { "twelve planted causes", test_causes_are_found },
					   { "the stall alone", test_stall_alone },
					   { "since when a function takes its time", test_since },
					   { "448 CPUs", test_many_cpus },
					   { "one CPU", test_one_cpu } };

int main(int argc, char **argv)
{
	is_verbose = getenv("VERBOSE");
	if (argc == 3) {
		if (setjmp(check_failed))
			return 1;
		bench(strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10));
		return 0;
	}
	return check_run(tests, ARRAY_SIZE(tests));
}
