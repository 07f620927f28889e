// SPDX-License-Identifier: GPL-2.0-only
/*
 * Callers from copies of stacks: of generated code, which keeps frame pointers, in a process whose
 * mappings are known. Each frame has two words: the caller's frame pointer and the return address.
 */
#define HELPERS_OPEN
#include "tests/check.h"

#include <linux/perf_event.h>
#include <stdlib.h>

#include "recorder/dumps/dump-walk.h"
#include "tests/helpers.h"

#define PID 77
#define CODE 0x10000000ull
#define CODE_END 0x10010000ull
#define STACK 0x7ffc00001000ull
#define FRAMES 24
#define WORDS (2 * FRAMES)
#define KERNEL_ADDRESS 0xffffffff81000010ull
/* Registers of perf: bp, sp and ip. */
#define REGISTERS (1u << 6 | 1u << 7 | 1u << 8)

struct host {
	struct tracker tracker;
	struct unwind_tables *tables;
	struct dump_walk walk;
	struct rule_cache *rules;
};

static void host_done(struct host *host)
{
	unwind_tables_free(host->tables);
	tracker_done(&host->tracker);
	free(host->rules);
}

static void host_map(struct host *host, uint64_t start, uint64_t end)
{
	struct perf_record record = { .type = PERF_TYPE_MMAP2, .misc = PERF_MODE_USER };

	record.mmap.pid = record.mmap.tid = PID;
	record.mmap.start = start;
	record.mmap.size = end - start;
	record.mmap.path = "//anon";
	CHECK_EQ(tracker_apply(&host->tracker, &record), 0);
}

static void host_init(struct host *host)
{
	const struct unwind_tables_options options = { .wait = true };

	memset(host, 0, sizeof(*host));
	host->rules = calloc(1, sizeof(*host->rules));
	CHECK(host->rules);
	CHECK_EQ(tracker_init(&host->tracker), 0);
	CHECK_EQ(unwind_tables_new(&options, &host->tables), 0);
	dump_walk_init(&host->walk, &host->tracker, host->tables);
	host->walk.machine = UNWIND_X86_64;
	host->walk.rules = host->rules;
	host_map(host, CODE, CODE_END);
}

/* A sample whose frames return to `CODE + 0x10 * (frame + 1)`. Frame FRAMES - 1 is the outermost.
 */
struct scene {
	uint64_t words[WORDS];
	uint64_t registers[3];
	uint64_t chain[FRAMES + 8];
	struct perf_record record;
	struct dump_chain result;
	struct dump_job job;
};

static void scene_done(struct scene *scene)
{
	array_done(&scene->result.entries);
}

static uint64_t caller(unsigned int frame)
{
	return CODE + 0x10 * (frame + 1);
}

/* The copy has the words of `copied` frames; the kernel followed all of them, but skips the first.
 */
static void scene_init(struct scene *scene, unsigned int copied)
{
	size_t count = 0;

	memset(scene, 0, sizeof(*scene));
	for (unsigned int i = 0; i < FRAMES; i++) {
		scene->words[2 * i] = i + 1 < FRAMES ? STACK + 16 * (i + 1) : 0;
		scene->words[2 * i + 1] = caller(i);
	}
	scene->registers[0] = scene->registers[1] = STACK;
	scene->registers[2] = CODE;
	scene->chain[count++] = (uint64_t)PERF_CONTEXT_KERNEL;
	scene->chain[count++] = KERNEL_ADDRESS;
	scene->chain[count++] = (uint64_t)PERF_CONTEXT_USER;
	scene->chain[count++] = CODE;
	for (unsigned int i = 0; i < FRAMES; i++)
		scene->chain[count++] = caller(i);
	scene->record.type = PERF_TYPE_SAMPLE;
	scene->record.pid = scene->record.tid = PID;
	scene->record.sample.ip = KERNEL_ADDRESS;
	scene->record.sample.chain = (const uint8_t *)scene->chain;
	scene->record.sample.chain_count = count;
	scene->record.sample.user = (struct perf_user){
		.abi = PERF_SAMPLE_REGS_ABI_64,
		.regs_mask = REGISTERS,
		.regs = (const uint8_t *)scene->registers,
		.stack = (const uint8_t *)scene->words,
		.stack_size = (size_t)copied * 16,
	};
}

static void walk(struct host *host, struct scene *scene)
{
	CHECK_EQ(dump_walk_begin(&host->walk, &scene->record, &scene->result, &scene->job), 0);
	dump_walk_end(&host->walk, &scene->record, &scene->result, &scene->job);
}

static void check_end(const struct scene *scene, enum perf_user_end end)
{
	CHECK_EQ((int)scene->record.sample.user_end, (int)end);
}

/* The kernel's part, the leaf, then the callers from frame 0 on. */
static void check_callers(const struct scene *scene, size_t callers)
{
	const struct perf_record *record = &scene->record;

	CHECK_EQ(record->sample.chain_count, 4 + callers);
	CHECK_EQ(perf_chain_at(record, 1), KERNEL_ADDRESS);
	CHECK_EQ(perf_chain_at(record, 3), CODE);
	for (size_t i = 0; i < callers; i++)
		CHECK_EQ(perf_chain_at(record, 4 + i), caller(i));
}

static void test_whole(void)
{
	_cleanup_(host_done) struct host host;
	_cleanup_(scene_done) struct scene scene;

	host_init(&host);
	scene_init(&scene, FRAMES);
	/* a broken callchain of the kernel does not matter */
	scene.chain[6] = 0x1234;
	walk(&host, &scene);
	check_end(&scene, PERF_USER_WHOLE);
	check_callers(&scene, FRAMES);
	CHECK_EQ(host.walk.spliced, 0);
}

/* The kernel's callers complete a walk whose copy ends, at the same frame pointer. */
static void test_splice(void)
{
	for (unsigned int copied = 1; copied < FRAMES; copied++) {
		_cleanup_(host_done) struct host host;
		_cleanup_(scene_done) struct scene scene;

		host_init(&host);
		scene_init(&scene, copied);
		walk(&host, &scene);
		check_end(&scene, PERF_USER_WHOLE);
		check_callers(&scene, FRAMES);
		CHECK_EQ(host.walk.spliced, 1);
	}
}

/* All callers of a recursion have the same address; the frame pointer still tells which is which.
 */
static void test_recursion(void)
{
	_cleanup_(host_done) struct host host;
	_cleanup_(scene_done) struct scene scene;

	host_init(&host);
	scene_init(&scene, 9);
	for (unsigned int i = 0; i < FRAMES; i++)
		scene.words[2 * i + 1] = scene.chain[4 + i] = caller(0);
	walk(&host, &scene);
	check_end(&scene, PERF_USER_WHOLE);
	CHECK_EQ(scene.record.sample.chain_count, 4 + FRAMES);
}

/* The kernel's callers that may end at the kernel's limit do not make a stack whole. */
static void test_limit(void)
{
	_cleanup_(host_done) struct host host;
	_cleanup_(scene_done) struct scene scene;

	host_init(&host);
	host.walk.chain_max = FRAMES;
	scene_init(&scene, 4);
	walk(&host, &scene);
	check_end(&scene, PERF_USER_CUT);
	check_callers(&scene, FRAMES);
}

/* The kernel followed another frame pointer, so its callers do not belong to this stack. */
static void test_other_frame(void)
{
	_cleanup_(host_done) struct host host;
	_cleanup_(scene_done) struct scene scene;

	host_init(&host);
	scene_init(&scene, 4);
	scene.record.sample.chain_count = 5;
	walk(&host, &scene);
	check_end(&scene, PERF_USER_CUT);
	check_callers(&scene, 4);
	CHECK_EQ(host.walk.spliced, 0);
}

/* Data of the stack is not taken for a caller. */
static void test_unmapped(void)
{
	_cleanup_(host_done) struct host host;
	_cleanup_(scene_done) struct scene scene;

	host_init(&host);
	scene_init(&scene, FRAMES);
	scene.words[2 * 3 + 1] = 0x6b6579;
	scene.record.sample.chain_count = 5;
	walk(&host, &scene);
	check_end(&scene, PERF_USER_CUT);
	check_callers(&scene, 3);
}

/* Steps of several walks take turns; meanwhile a mapping comes, so that mappings move in memory. */
static void test_turns(void)
{
	static struct scene scenes[3];
	_cleanup_(host_done) struct host host;

	host_init(&host);
	for (unsigned int i = 0; i < 3; i++) {
		scene_init(&scenes[i], FRAMES - 9 * i);
		CHECK_EQ(dump_walk_begin(&host.walk, &scenes[i].record, &scenes[i].result,
					 &scenes[i].job),
			 0);
	}
	for (unsigned int step = 0; step < 2 * FRAMES; step++) {
		host_map(&host, CODE_END + 0x1000 * step, CODE_END + 0x1000 * (step + 1));
		dump_walk_step(&scenes[step % 3].job);
	}
	for (unsigned int i = 0; i < 3; i++) {
		dump_walk_end(&host.walk, &scenes[i].record, &scenes[i].result, &scenes[i].job);
		check_end(&scenes[i], PERF_USER_WHOLE);
		check_callers(&scenes[i], FRAMES);
		scene_done(&scenes[i]);
	}
}

/*
 * A sample keeps the callers that the kernel found if its process has no known mappings, or if it
 * comes from 32-bit code.
 */
static void test_without(void)
{
	_cleanup_(host_done) struct host host;
	_cleanup_(scene_done) struct scene scene;

	host_init(&host);
	scene_init(&scene, FRAMES);
	scene.record.pid = PID + 1;
	walk(&host, &scene);
	check_end(&scene, PERF_USER_FRAME_POINTERS);
	check_callers(&scene, FRAMES);
	scene.record.pid = PID;
	scene.record.sample.user.abi = PERF_SAMPLE_REGS_ABI_32;
	walk(&host, &scene);
	check_end(&scene, PERF_USER_FRAME_POINTERS);
}

CHECK_MAIN({ "a whole stack", test_whole },
	   { "the kernel's callers complete a stack", test_splice },
	   { "a recursion is completed at the right frame", test_recursion },
	   { "a stack that the kernel cut is cut", test_limit },
	   { "callers of another frame are not appended", test_other_frame },
	   { "data of the stack is no caller", test_unmapped }, { "walks take turns", test_turns },
	   { "samples that cannot be walked", test_without })
