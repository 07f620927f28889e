// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <linux/perf_event.h>

#include "recorder/build/tape-builder.h"
#include "tests/random.h"

/* A tape, and a process whose mappings and cgroup are known. */
struct filling {
	struct tracker tracker;
	struct tape *tape;
	struct tape_builder builder;
};

static void fill_init(struct filling *filling)
{
	CHECK_EQ(tracker_init(&filling->tracker), 0);
	CHECK_EQ(tape_new(&filling->tape), 0);
	CHECK_EQ(tape_builder_init(&filling->builder, &filling->tracker), 0);
	tape_builder_start(&filling->builder, filling->tape);
}

static void fill_done(struct filling *filling)
{
	tape_builder_done(&filling->builder);
	tracker_done(&filling->tracker);
	tape_free(filling->tape);
}

static void apply_comm(struct filling *filling, const char *comm, bool exec)
{
	struct perf_record record = { .type = PERF_TYPE_COMM };

	record.comm.pid = record.comm.tid = 10;
	record.comm.comm = comm;
	record.comm.exec = exec;
	CHECK_EQ(tracker_apply(&filling->tracker, &record), 0);
}

/* Maps a page of code at the address. */
static void apply_mmap(struct filling *filling, uint64_t start, const char *path)
{
	struct perf_record record = { .type = PERF_TYPE_MMAP2, .misc = PERF_MODE_USER };

	record.mmap.pid = record.mmap.tid = 10;
	record.mmap.start = start;
	record.mmap.size = 0x1000;
	record.mmap.path = path;
	CHECK_EQ(tracker_apply(&filling->tracker, &record), 0);
}

static int add_sample(struct filling *filling, uint64_t ip, const uint64_t *chain, size_t count)
{
	struct perf_record record = {
		.type = PERF_TYPE_SAMPLE, .misc = PERF_MODE_USER, .pid = 10, .tid = 10
	};

	record.sample.ip = ip;
	record.sample.chain = (const uint8_t *)chain;
	record.sample.chain_count = count;
	return tape_builder_add(&filling->builder, &record, NULL);
}

static const char *module_path(const struct filling *filling, uint32_t frame)
{
	uint32_t module = filling->tape->frames.items[frame].module;

	return tape_string(filling->tape, filling->tape->modules.items[module].path);
}

static const struct tape_sample *sample_at(const struct filling *filling, size_t i)
{
	return &filling->tape->samples.items[i];
}

static uint64_t leaf_address(const struct filling *filling, size_t sample)
{
	return filling->tape->frames.items[sample_at(filling, sample)->frame].address;
}

static void test_samples(void)
{
	const uint64_t chain[] = { (uint64_t)-512, 0x1010, 0x9999, 0x1020, (uint64_t)-128, 0x1010 };
	const uint64_t cut[] = { 0x1010, (uint64_t)-1, 0x1020 };
	const struct tape_stack *caller;
	struct filling filling;
	struct tape *tape;

	fill_init(&filling);
	tape = filling.tape;
	apply_comm(&filling, "app", false);
	apply_mmap(&filling, 0x1000, "/bin/app");
	CHECK_EQ(add_sample(&filling, 0, chain, ARRAY_SIZE(chain)), 0);
	CHECK_EQ(add_sample(&filling, 0, chain, ARRAY_SIZE(chain)), 0);
	CHECK_EQ(tape->samples.count, 2);
	CHECK_EQ(sample_at(&filling, 0)->stack, sample_at(&filling, 1)->stack);
	CHECK_EQ(tape->stacks.count, 4);
	CHECK_EQ(leaf_address(&filling, 0), 0x10);
	/* 0x9999 is outside of all mappings, so the tape keeps the frame without its address */
	caller = &tape->stacks.items[sample_at(&filling, 0)->stack];
	CHECK_EQ(caller->frame, 0);
	caller = &tape->stacks.items[caller->parent];
	CHECK_EQ(tape->frames.items[caller->frame].address, 0x20);
	CHECK_STR(tape_string(tape, tape->threads.items[0].comm), "app");
	CHECK_EQ(tape->pids.items[1], 10);
	/* an unknown mark ends the chain, and the sample counts as truncated */
	CHECK_EQ(add_sample(&filling, 0, cut, 3), 1);
	CHECK_EQ(add_sample(&filling, 0, cut, 3), 1);
	/* a sample without a callchain has its own address */
	CHECK_EQ(add_sample(&filling, 0x1020, NULL, 0), 0);
	CHECK_EQ(sample_at(&filling, 4)->stack, 0);
	CHECK_EQ(leaf_address(&filling, 4), 0x20);
	/* a sample without an address */
	CHECK_EQ(add_sample(&filling, 0, NULL, 0), 0);
	CHECK(tape_is_no_stack(tape, sample_at(&filling, 5)->frame));
	CHECK(!tape_is_no_stack(tape, 0) && !tape_is_no_stack(tape, sample_at(&filling, 4)->frame));
	fill_done(&filling);
}

/*
 * If the mappings change after a prefetch, the builder looks up again, so that each record gets the
 * mappings of its own time.
 */
static void test_expected(void)
{
	const uint64_t addresses[] = { (uint64_t)-512, 0x1010, 0x1020, 0x1030 };
	struct perf_record record = {
		.type = PERF_TYPE_SAMPLE,
		.misc = PERF_MODE_USER,
		.pid = 10,
		.tid = 10,
		.sample = { .chain = (const uint8_t *)addresses, .chain_count = 4 },
	};
	struct filling filling;
	struct chain chain;

	fill_init(&filling);
	apply_comm(&filling, "app", false);
	apply_mmap(&filling, 0x1000, "/bin/app");
	tape_builder_prefetch(&filling.builder, &record, &chain);
	CHECK_EQ(chain.depth, 2);
	CHECK_EQ(tape_builder_add(&filling.builder, &record, &chain), 0);
	CHECK_STR(module_path(&filling, sample_at(&filling, 0)->frame), "/bin/app");
	tape_builder_prefetch(&filling.builder, &record, &chain);
	apply_comm(&filling, "other", true);
	apply_mmap(&filling, 0x1000, "/bin/other");
	CHECK_EQ(tape_builder_add(&filling.builder, &record, &chain), 0);
	CHECK_STR(module_path(&filling, sample_at(&filling, 1)->frame), "/bin/other");
	CHECK(sample_at(&filling, 0)->stack != sample_at(&filling, 1)->stack);
	/* a process that was unknown at that time */
	record.pid = record.tid = 11;
	tape_builder_prefetch(&filling.builder, &record, &chain);
	record.pid = record.tid = 10;
	CHECK_EQ(tape_builder_add(&filling.builder, &record, &chain), 0);
	CHECK_EQ(sample_at(&filling, 2)->stack, sample_at(&filling, 1)->stack);
	CHECK_EQ(sample_at(&filling, 2)->frame, sample_at(&filling, 1)->frame);
	fill_done(&filling);
}

/*
 * A prefetch hashes four callers at a time, the first look-up one by one. Both must have the same
 * result.
 */
static void test_hashes(void)
{
	uint64_t addresses[12] = { (uint64_t)-512, 0x1001 };
	struct perf_record record = {
		.type = PERF_TYPE_SAMPLE,
		.misc = PERF_MODE_USER,
		.pid = 10,
		.tid = 10,
		.sample = { .chain = (const uint8_t *)addresses },
	};
	struct filling filling;
	struct chain chain;

	fill_init(&filling);
	apply_comm(&filling, "app", false);
	apply_mmap(&filling, 0x1000, "/bin/app");
	for (size_t depth = 1; depth <= 10; depth++) {
		struct lru_cache_key key;

		addresses[1 + depth] = 0x1000 + 37 * depth;
		record.sample.chain_count = 2 + depth;
		tape_builder_prefetch(&filling.builder, &record, &chain);
		CHECK_EQ(chain.depth, depth);
		CHECK_EQ(tape_builder_add(&filling.builder, &record, &chain), 0);
		key = (struct lru_cache_key){ chain.hash, depth, hash_numbers(chain.hash, depth) };
		CHECK_EQ(lru_cache_find(&filling.builder.callchains.known, key),
			 sample_at(&filling, depth - 1)->stack);
	}
	fill_done(&filling);
}

/*
 * The leaf and its callers are looked up separately. Tests each combination, with marks between and
 * before them.
 */
static void test_leaves(void)
{
	const uint64_t kernel = -128, user = -512, unknown = -1;
	const struct {
		uint64_t chain[5];
		uint64_t leaf;
		int expected;
		/* the number of the row that has the same callers */
		int as;
	} rows[] = {
		{ { user, 0x1010, 0x1100, 0x1200, 0x1300 }, 0x10, 0, 0 },
		{ { user, 0x1020, 0x1100, 0x1200, 0x1300 }, 0x20, 0, 0 },
		{ { user, 0x1010, 0x1100, 0x1200, 0x1310 }, 0x10, 0, 2 },
		{ { kernel, 0xfff0, user, 0x1200, 0x1300 }, 0xfff0, 0, 3 },
		{ { user, 0x1030, user, 0x1200, 0x1300 }, 0x30, 0, 3 },
		{ { user, 0x1030, kernel, 0x1200, 0x1300 }, 0x30, 0, 5 },
		{ { user, 0x1010, 0x1100, unknown, 0x1300 }, 0x10, 1, 6 },
		{ { user, 0x1020, 0x1100, unknown, 0x1400 }, 0x20, 1, 6 },
		{ { user, unknown, 0x1010, 0x1100, 0x1200 }, 0x800, 1, 8 },
		{ { user, user, user, user, user }, 0x800, 0, 8 },
		{ { user, user, user, user, 0x1010 }, 0x10, 0, 8 },
	};
	struct mapping text = { .start = 0, .end = UINT64_MAX };
	struct filling filling;
	struct tracker *tracker = &filling.tracker;

	fill_init(&filling);
	apply_mmap(&filling, 0x1000, "/bin/app");
	CHECK_EQ(maps_insert(&tracker->kernel, &text), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int as = rows[i].as;

		CHECK_EQ(add_sample(&filling, 0x1800, rows[i].chain, ARRAY_SIZE(rows[i].chain)),
			 rows[i].expected);
		CHECK_EQ(leaf_address(&filling, i), rows[i].leaf);
		CHECK_EQ(sample_at(&filling, i)->stack, sample_at(&filling, as)->stack);
		for (int other = 0; other < as; other++)
			CHECK(sample_at(&filling, i)->stack != sample_at(&filling, other)->stack);
	}
	fill_done(&filling);
}

/* For each length and each split, the stack is the same, whatever callers preceded it. */
static void test_deep_callers(void)
{
	enum { DEPTH = 40 };
	uint64_t chain[DEPTH + 1];
	uint32_t stacks[DEPTH + 1];
	struct filling filling;

	fill_init(&filling);
	apply_mmap(&filling, 0x1000, "/bin/app");
	for (int i = 0; i <= DEPTH; i++)
		chain[i] = 0x1000 + 8 * (uint64_t)i;
	chain[3] = (uint64_t)-512;
	for (int first = 0; first < DEPTH; first++) {
		CHECK_EQ(add_sample(&filling, 0, chain + first, DEPTH - first), 0);
		stacks[first] = sample_at(&filling, first)->stack;
	}
	/* compare frame by frame; 38 of them are callers */
	CHECK_EQ(filling.tape->stacks.count, DEPTH - 1);
	for (int first = 0; first + 2 < DEPTH; first++)
		CHECK_EQ(filling.tape->stacks.items[stacks[first]].parent,
			 stacks[first + (first == 3 ? 2 : 1)]);
	CHECK_EQ(stacks[DEPTH - 1], 0);
	chain[20] = (uint64_t)-1;
	for (int first = 0; first < DEPTH; first++)
		CHECK_EQ(add_sample(&filling, 0, chain + first, DEPTH - first), first <= 20);
	fill_done(&filling);
}

/*
 * There are many more paths than the cache holds, in random order: each stack equals its callchain.
 */
static void test_many_callers(void)
{
	enum { DEPTH = 24, PATHS = 300000, SAMPLES = 150000 };
	struct filling filling;
	const struct tape *tape;

	fill_init(&filling);
	tape = filling.tape;
	apply_mmap(&filling, 0x1000, "/bin/app");
	for (uint32_t i = 0; i < SAMPLES; i++) {
		uint64_t chain[DEPTH], path = random_below(PATHS), first = random_below(4);
		uint32_t stack;

		/* many paths share the outer callers */
		for (uint32_t depth = 0; depth < DEPTH; depth++)
			chain[depth] =
				0x1000 + (hash_u64((path >> depth / 2) * DEPTH + depth) & 0xff8);
		CHECK_EQ(add_sample(&filling, 0, chain + first, DEPTH - first), 0);
		stack = sample_at(&filling, i)->stack;
		for (uint64_t depth = first + 1; depth < DEPTH; depth++) {
			const struct tape_stack *caller = &tape->stacks.items[stack];

			CHECK_EQ(tape->frames.items[caller->frame].address, chain[depth] - 0x1000);
			stack = caller->parent;
		}
		CHECK_EQ(stack, 0);
	}
	CHECK(tape->stacks.count > 262144);
	fill_done(&filling);
}

/* A look-up before a mapping was removed is not valid after it. */
static void test_remapped(void)
{
	static const char *const paths[] = { "/bin/app", "/lib/other", "/bin/app" };
	const uint64_t chain[] = { (uint64_t)-512, 0x1010, 0x1100 };
	struct filling filling;

	fill_init(&filling);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		uint32_t stack;

		apply_mmap(&filling, 0x1000, paths[i]);
		CHECK_EQ(add_sample(&filling, 0, chain, ARRAY_SIZE(chain)), 0);
		stack = sample_at(&filling, i)->stack;
		CHECK_STR(module_path(&filling, sample_at(&filling, i)->frame), paths[i]);
		CHECK_STR(module_path(&filling, filling.tape->stacks.items[stack].frame), paths[i]);
	}
	CHECK_EQ(sample_at(&filling, 2)->stack, sample_at(&filling, 0)->stack);
	fill_done(&filling);
}

/*
 * Two processes with the same mappings. Their version numbers differ in the same bits as their
 * callers.
 */
static void test_near_versions(void)
{
	uint64_t chain[] = { (uint64_t)-512, 0x1010, 0x1100, 0x1200, 0x1300, 0x1400 }, version;
	struct filling filling;

	fill_init(&filling);
	apply_mmap(&filling, 0x1000, "/bin/app");
	version = filling.tracker.processes.items[0].maps->version + 1;
	CHECK_EQ(add_sample(&filling, 0, chain, ARRAY_SIZE(chain)), 0);
	for (int i = 1; i <= 16; i++) {
		apply_mmap(&filling, 0x1000, "/bin/app");
		chain[3] =
			0x1200 ^ version ^ (filling.tracker.processes.items[0].maps->version + 1);
		CHECK_EQ(add_sample(&filling, 0, chain, ARRAY_SIZE(chain)), 0);
		CHECK(sample_at(&filling, i)->stack != sample_at(&filling, 0)->stack);
	}
	fill_done(&filling);
}

/*
 * During an exec, the stack is still that of the old program. After the exec, these addresses lack
 * a mapping.
 */
static void test_exec_under_way(void)
{
	static const char *const paths[] = { "/bin/sh", "/bin/ls", "" };
	const uint64_t old[] = { (uint64_t)-512, 0x1010 }, fresh[] = { (uint64_t)-512, 0x5010 };
	struct filling filling;

	fill_init(&filling);
	apply_mmap(&filling, 0x1000, "/bin/sh");
	apply_comm(&filling, "ls", true);
	apply_mmap(&filling, 0x5000, "/bin/ls");
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(add_sample(&filling, 0, i == 1 ? fresh : old, 2), 0);
		CHECK_STR(module_path(&filling, sample_at(&filling, i)->frame), paths[i]);
	}
	fill_done(&filling);
}

/* Each sample has callers that earlier samples lack. */
static void test_forged_callers(void)
{
	static uint64_t chain[2 + 126];
	struct filling filling;
	size_t stacks, whole = 0;
	int r = 0;

	fill_init(&filling);
	apply_comm(&filling, "app", false);
	apply_mmap(&filling, 0x1000, "/bin/app");
	tape_builder_limit(&filling.builder, 100, 1);
	tape_builder_start(&filling.builder, filling.tape);
	chain[0] = (uint64_t)PERF_CONTEXT_USER;
	for (uint64_t i = 0; i < 4000; i++) {
		for (size_t k = 1; k < ARRAY_SIZE(chain); k++)
			chain[k] = 0x1000 + (hash_u64(i * 128 + k) & 0xfff);
		r = add_sample(&filling, chain[1], chain, ARRAY_SIZE(chain));
		CHECK(r == 0 || r == 1);
		whole += r == 0;
	}
	CHECK_EQ(r, 1);
	CHECK(whole > 100 && whole < 2000);
	CHECK_EQ(filling.tape->samples.count, 4000);
	stacks = filling.tape->stacks.count;
	CHECK(stacks < 140000);
	CHECK_STR(module_path(&filling,
			      filling.tape->stacks.items[sample_at(&filling, 3999)->stack].frame),
		  TAPE_CUT);
	CHECK_EQ(filling.builder.cut.total, 4000 - whole);
	CHECK_EQ(cgroup_counts_move_to_tape(&filling.builder.cut, filling.tape, TAPE_TRUNCATED), 0);
	CHECK(atoi(tape_fact(filling.tape, TAPE_TRUNCATED " ")) > 2000);
	/* known stacks stay whole, and each second allows some new ones */
	for (size_t k = 1; k < ARRAY_SIZE(chain); k++)
		chain[k] = 0x1000 + (hash_u64(k) & 0xfff);
	CHECK_EQ(add_sample(&filling, chain[1], chain, ARRAY_SIZE(chain)), 0);
	CHECK_EQ(filling.tape->stacks.count, stacks);
	chain[2] = 0x1fff;
	CHECK_EQ(add_sample(&filling, chain[1], chain, ARRAY_SIZE(chain)), 1);
	tape_builder_limit(&filling.builder, 100, 1);
	CHECK_EQ(add_sample(&filling, chain[1], chain, ARRAY_SIZE(chain)), 0);
	fill_done(&filling);
}

/* Adds samples whose callers are all new. Returns how many are whole. */
static int add_forged(struct filling *filling, int count, uint64_t *state)
{
	static uint64_t chain[2 + 126] = { (uint64_t)PERF_CONTEXT_USER };
	int whole = 0;

	for (int i = 0; i < count; i++) {
		for (size_t k = 1; k < ARRAY_SIZE(chain); k++)
			chain[k] = 0x1000 + (hash_u64(++*state) & 0xfff);
		whole += add_sample(filling, chain[1], chain, ARRAY_SIZE(chain)) == 0;
	}
	return whole;
}

/* The next tape begins. */
static void next_tape(struct filling *filling)
{
	tape_free(filling->tape);
	filling->tape = NULL;
	CHECK_EQ(tape_new(&filling->tape), 0);
	tape_builder_start(&filling->builder, filling->tape);
}

/* Short tapes do not multiply what a cgroup may add. */
static void test_forged_in_short_tapes(void)
{
	struct filling filling;
	uint64_t state = 0;
	size_t rows = 0;

	fill_init(&filling);
	apply_comm(&filling, "app", false);
	apply_mmap(&filling, 0x1000, "/bin/app");
	for (int second = 0; second < 60; second++) {
		tape_builder_limit(&filling.builder, 100, 1);
		add_forged(&filling, 100, &state);
		if (second % 5 < 4)
			continue;
		rows += filling.tape->stacks.count + filling.tape->frames.count;
		next_tape(&filling);
	}
	/*
	 * rows that are allowed at once, and per second; the last sample of a second may exceed
	 * that by its own rows
	 */
	CHECK(rows <= 131072 + 60 * (131072 / 60 + 100 * 8 + 252));
	CHECK(rows >= 131072 + 59 * (131072 / 60 + 100 * 8));
	CHECK(filling.builder.cut.total > 3000);
	/* it comes back with time, also if the recorder is late */
	tape_builder_limit(&filling.builder, 100, 60);
	CHECK_EQ(add_forged(&filling, 400, &state), 400);
	fill_done(&filling);
}

/* Moves the process to a cgroup. */
static void set_cgroup(struct filling *filling, const char *cgroup)
{
	struct tracker_process *process = tracker_process(&filling->tracker, 10);

	free(process->cgroup);
	process->cgroup = strdup(cgroup);
	process->cgroup_row = 0;
	CHECK(process->cgroup);
}

/* A user who makes ever new cgroups still has one share, and another user has his own. */
static void test_forged_in_many_cgroups(void)
{
	struct filling filling;
	uint64_t state = 0;
	char cgroup[128];
	int whole = 0;

	fill_init(&filling);
	apply_comm(&filling, "app", false);
	apply_mmap(&filling, 0x1000, "/bin/app");
	tape_builder_limit(&filling.builder, 100, 1);
	for (int i = 0; i < 200; i++) {
		snprintf(cgroup, sizeof(cgroup),
			 "/user.slice/user-1000.slice/user@1000.service/%d.scope", i);
		set_cgroup(&filling, cgroup);
		whole += add_forged(&filling, 10, &state);
	}
	CHECK(whole < 1200);
	CHECK_EQ(add_forged(&filling, 1, &state), 0);
	CHECK_EQ(filling.builder.cut.total, 2000 - whole + 1);
	set_cgroup(&filling, "/user.slice/user-1001.slice/user@1001.service/a.scope");
	CHECK_EQ(add_forged(&filling, 10, &state), 10);
	fill_done(&filling);
}

/* A program with many stacks stays whole in short tapes, beside another cgroup's forged ones. */
static void test_many_stacks_in_short_tapes(void)
{
	static uint64_t chain[64] = { (uint64_t)PERF_CONTEXT_USER };
	struct filling filling;

	fill_init(&filling);
	apply_comm(&filling, "app", false);
	apply_mmap(&filling, 0x1000, "/bin/app");
	for (uint64_t second = 0; second < 120; second++) {
		tape_builder_limit(&filling.builder, 100, 1);
		for (uint64_t i = 0; i < 100; i++) {
			/* all samples share the 40 outer callers; 10 inner ones are new in a tape
			 */
			for (size_t k = 1; k < ARRAY_SIZE(chain); k++)
				chain[k] = 0x1000 + (hash_u64(k < 11 ? i * 64 + k : k) & 0xfff);
			CHECK_EQ(add_sample(&filling, chain[1], chain, ARRAY_SIZE(chain)), 0);
		}
		if (second % 5 == 4)
			next_tape(&filling);
	}
	CHECK_EQ(filling.builder.cut.total, 0);
	fill_done(&filling);
}

/* Adds a sample whose callers come from frame pointers. */
static void add_by_frame_pointer(struct filling *filling, const uint64_t *chain, size_t count)
{
	struct perf_record record = {
		.type = PERF_TYPE_SAMPLE, .misc = PERF_MODE_USER, .pid = 10, .tid = 10
	};

	record.sample.chain = (const uint8_t *)chain;
	record.sample.chain_count = count;
	record.sample.user_end = PERF_USER_FRAME_POINTERS;
	CHECK_EQ(tape_builder_add(&filling->builder, &record, NULL), 0);
}

/* Checks the paths of the modules of a sample's callers, the innermost first. */
static void check_callers(const struct filling *filling, size_t sample, const char *const *paths)
{
	const struct tape *tape = filling->tape;
	uint32_t stack = sample_at(filling, sample)->stack;

	for (; *paths; paths++) {
		CHECK(stack != 0);
		CHECK_STR(module_path(filling, tape->stacks.items[stack].frame), *paths);
		stack = tape->stacks.items[stack].parent;
	}
	CHECK_EQ(stack, 0);
}

static void test_unmapped(void)
{
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_USER, 0x1010, 0x9999, 0x1020 };
	const uint64_t other[] = { (uint64_t)PERF_CONTEXT_USER, 0x1010, 0x9998, 0x1020 };
	const uint64_t alone[] = { (uint64_t)PERF_CONTEXT_USER, 0x1010 };
	struct filling filling;

	fill_init(&filling);
	apply_comm(&filling, "app", false);
	apply_mmap(&filling, 0x1000, "/bin/app");
	add_by_frame_pointer(&filling, chain, ARRAY_SIZE(chain));
	check_callers(&filling, 0, (const char *[]){ "/bin/app", TAPE_FRAME_POINTERS, NULL });
	CHECK_EQ(filling.builder.callchains.unmapped, 0);
	filling.tracker.unsure = true;
	add_by_frame_pointer(&filling, other, ARRAY_SIZE(other));
	check_callers(&filling, 1,
		      (const char *[]){ TAPE_UNMAPPED, "/bin/app", TAPE_FRAME_POINTERS, NULL });
	CHECK_EQ(filling.builder.callchains.unmapped, 1);
	/* a leaf without callers gets the mark as its caller, too */
	add_by_frame_pointer(&filling, alone, ARRAY_SIZE(alone));
	check_callers(&filling, 2, (const char *[]){ TAPE_FRAME_POINTERS, NULL });
	fill_done(&filling);
}

CHECK_MAIN({ "forged callers are bounded", test_forged_callers },
	   { "short tapes do not multiply forged callers", test_forged_in_short_tapes },
	   { "many cgroups do not multiply forged callers", test_forged_in_many_cgroups },
	   { "many stacks stay whole in short tapes", test_many_stacks_in_short_tapes },
	   { "samples become rows of a tape", test_samples },
	   { "a prefetch never changes the result", test_expected },
	   { "both ways to hash callers agree", test_hashes },
	   { "leaves and callers combine", test_leaves },
	   { "deep callers give the same stack", test_deep_callers },
	   { "many callers give their own stacks", test_many_callers },
	   { "a new mapping replaces the old names", test_remapped },
	   { "processes with similar versions stay apart", test_near_versions },
	   { "samples during an exec", test_exec_under_way },
	   { "callers outside of all mappings", test_unmapped })
