// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include "recorder/pipeline/reorder.h"
#include "recorder/procs/tracker.h"

static uint64_t random_state = 1;

static uint32_t pick(uint32_t below)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (random_state >> 33) % below;
}

static void apply_comm(struct tracker *tracker, int pid, int tid, const char *comm, bool exec)
{
	struct perf_record record = { .type = PERF_TYPE_COMM };

	record.comm.pid = pid;
	record.comm.tid = tid;
	record.comm.comm = comm;
	record.comm.exec = exec;
	CHECK_EQ(tracker_apply(tracker, &record), 0);
}

static void apply_task(struct tracker *tracker, uint32_t type, uint64_t time, int pid, int tid,
		       int parent_pid, int parent_tid)
{
	struct perf_record record = { .type = type, .time_ns = time };

	record.task.pid = pid;
	record.task.tid = tid;
	record.task.parent_pid = parent_pid;
	record.task.parent_tid = parent_tid;
	CHECK_EQ(tracker_apply(tracker, &record), 0);
}

static void apply_mmap(struct tracker *tracker, int pid, uint64_t start, uint64_t end,
		       const char *path)
{
	struct perf_record record = { .type = PERF_TYPE_MMAP2, .misc = PERF_MODE_USER };

	record.mmap.pid = record.mmap.tid = pid;
	record.mmap.start = start;
	record.mmap.size = end - start;
	record.mmap.path = path;
	CHECK_EQ(tracker_apply(tracker, &record), 0);
}

static const char *path_at(struct tracker *tracker, int pid, uint64_t address)
{
	const struct mapping *mapping = tracker_find(tracker, pid, false, address);

	return mapping ? strings_at(&tracker->modules.paths,
				    tracker->modules.list.items[mapping->module].path)
		       : "-";
}

static void test_fork_inherits_exec_clears(void)
{
	_cleanup_(tracker_done) struct tracker tracker;

	CHECK_EQ(tracker_init(&tracker), 0);
	apply_comm(&tracker, 10, 10, "sh", false);
	apply_mmap(&tracker, 10, 0x1000, 0x2000, "/bin/sh");
	apply_task(&tracker, PERF_TYPE_FORK, 5, 20, 20, 10, 10);
	CHECK_STR(tracker_comm(&tracker, 20, 20), "sh");
	CHECK_STR(path_at(&tracker, 20, 0x1800), "/bin/sh");
	apply_comm(&tracker, 20, 20, "ls", true);
	CHECK_STR(path_at(&tracker, 20, 0x1800), "-");
	CHECK_STR(path_at(&tracker, 10, 0x1800), "/bin/sh");
	apply_mmap(&tracker, 20, 0x1000, 0x2000, "/bin/ls");
	CHECK_STR(path_at(&tracker, 20, 0x1800), "/bin/ls");
	CHECK_STR(tracker_comm(&tracker, 20, 20), "ls");
	CHECK_STR(tracker_comm(&tracker, 10, 10), "sh");
}

static void test_fork_shares_nothing_later(void)
{
	_cleanup_(tracker_done) struct tracker tracker;

	CHECK_EQ(tracker_init(&tracker), 0);
	apply_mmap(&tracker, 10, 0x1000, 0x2000, "/lib/a");
	apply_task(&tracker, PERF_TYPE_FORK, 5, 20, 20, 10, 10);
	apply_mmap(&tracker, 20, 0x1000, 0x2000, "/lib/b");
	apply_mmap(&tracker, 10, 0x3000, 0x4000, "/lib/c");
	CHECK_STR(path_at(&tracker, 10, 0x1000), "/lib/a");
	CHECK_STR(path_at(&tracker, 20, 0x1000), "/lib/b");
	CHECK_STR(path_at(&tracker, 20, 0x3000), "-");
}

static void test_threads(void)
{
	_cleanup_(tracker_done) struct tracker tracker;

	CHECK_EQ(tracker_init(&tracker), 0);
	apply_comm(&tracker, 10, 10, "java", false);
	apply_task(&tracker, PERF_TYPE_FORK, 5, 10, 11, 10, 10);
	CHECK_STR(tracker_comm(&tracker, 10, 11), "java");
	apply_comm(&tracker, 10, 11, "GC worker", false);
	CHECK_STR(tracker_comm(&tracker, 10, 11), "GC worker");
	CHECK_STR(tracker_comm(&tracker, 10, 10), "java");
	CHECK_STR(tracker_comm(&tracker, 10, 12), "java");
	CHECK_STR(tracker_comm(&tracker, 99, 99), ":99");
	CHECK_STR(tracker_comm(&tracker, 0, 0), "swapper");
}

/* The leader ends, but its threads go on, so their mappings stay. */
static void test_threads_of_a_dead_leader(void)
{
	_cleanup_(tracker_done) struct tracker tracker;

	CHECK_EQ(tracker_init(&tracker), 0);
	apply_comm(&tracker, 10, 10, "app", false);
	apply_mmap(&tracker, 10, 0x1000, 0x2000, "/bin/app");
	apply_task(&tracker, PERF_TYPE_FORK, 5, 10, 11, 10, 10);
	apply_task(&tracker, PERF_TYPE_EXIT, 6, 10, 10, 1, 1);
	tracker_sweep(&tracker, 1000);
	tracker_sweep(&tracker, 2000);
	CHECK_STR(path_at(&tracker, 10, 0x1000), "/bin/app");
	CHECK_STR(tracker_comm(&tracker, 10, 11), "app");
	apply_task(&tracker, PERF_TYPE_EXIT, 2500, 10, 11, 1, 1);
	tracker_sweep(&tracker, 2400);
	CHECK_STR(tracker_comm(&tracker, 10, 11), "app");
	tracker_sweep(&tracker, 3000);
	tracker_sweep(&tracker, 4000);
	CHECK_STR(path_at(&tracker, 10, 0x1000), "-");
	CHECK_STR(tracker_comm(&tracker, 10, 11), ":11");
}

static void test_pid_reuse(void)
{
	_cleanup_(tracker_done) struct tracker tracker;

	CHECK_EQ(tracker_init(&tracker), 0);
	apply_comm(&tracker, 1, 1, "init", false);
	apply_comm(&tracker, 10, 10, "old", false);
	apply_mmap(&tracker, 10, 0x1000, 0x2000, "/bin/old");
	apply_task(&tracker, PERF_TYPE_EXIT, 5, 10, 10, 1, 1);
	CHECK_STR(tracker_comm(&tracker, 10, 10), "old");
	apply_task(&tracker, PERF_TYPE_FORK, 6, 10, 10, 1, 1);
	CHECK_STR(tracker_comm(&tracker, 10, 10), "init");
	CHECK_STR(path_at(&tracker, 10, 0x1000), "-");
	/* a process whose number now belongs to a thread of another process */
	apply_task(&tracker, PERF_TYPE_FORK, 7, 1, 10, 1, 1);
	CHECK_STR(tracker_comm(&tracker, 1, 10), "init");
}

static void test_code_made_at_run_time(void)
{
	_cleanup_(tracker_done) struct tracker tracker;

	CHECK_EQ(tracker_init(&tracker), 0);
	apply_mmap(&tracker, 7, 0x1000, 0x2000, "//anon");
	apply_mmap(&tracker, 7, 0x3000, 0x4000, "[vdso]");
	CHECK_STR(path_at(&tracker, 7, 0x1000), "/tmp/perf-7.map");
	CHECK_EQ(tracker_find(&tracker, 7, false, 0x1000)->offset, 0x1000);
	CHECK_EQ(tracker_find(&tracker, 7, false, 0x3000)->offset, 0);
	apply_mmap(&tracker, 7, 0x5000, 0x6000, "[uprobes]");
	CHECK_EQ(tracker.modules.list.items[tracker_find(&tracker, 7, false, 0x5000)->module].kind,
		 TAPE_MODULE_JIT);
}

static void test_kernel_ranges(void)
{
	_cleanup_(tracker_done) struct tracker tracker;
	struct perf_record record = { .type = PERF_TYPE_KSYMBOL };
	const uint64_t base = 0xffffffffc0000000;

	CHECK_EQ(tracker_init(&tracker), 0);
	CHECK_EQ(tracker_add_kernel(&tracker, 1ull << 63, UINT64_MAX, "[kernel.kallsyms]", NULL, 0),
		 0);
	CHECK_EQ(tracker_add_kernel(&tracker, base, base + 0x4000, "[ext4]", NULL, 0), 0);
	record.ksymbol.start = base + 0x8000;
	record.ksymbol.size = 0x100;
	record.ksymbol.name = "bpf_prog_1";
	CHECK_EQ(tracker_apply(&tracker, &record), 0);
	CHECK(tracker_find(&tracker, 0, true, base + 0x10)->module !=
	      tracker_find(&tracker, 0, true, base - 1)->module);
	CHECK(tracker_find(&tracker, 0, true, base - 1)->module ==
	      tracker_find(&tracker, 0, true, base + 0x4000)->module);
	CHECK(tracker_find(&tracker, 0, true, base + 0x8010)->module !=
	      tracker_find(&tracker, 0, true, base + 0x8100)->module);
	CHECK(!tracker_find(&tracker, 0, true, 0x1000));
	record.ksymbol.removed = true;
	CHECK_EQ(tracker_apply(&tracker, &record), 0);
	CHECK(!tracker_find(&tracker, 0, true, base + 0x8010));
}

/* A simple model: which module is mapped at each page of a small address space. */
enum { MODEL_PAGES = 64, MODEL_PIDS = 6 };

static void model_check(const struct maps *maps, const uint32_t *module, const uint64_t *offset)
{
	for (uint64_t page = 0; page < MODEL_PAGES; page++) {
		const struct mapping *mapping = maps_find(maps, page * 16 + 3);

		CHECK_EQ(mapping ? mapping->module : 0, module[page]);
		if (mapping)
			CHECK_EQ(page * 16 - mapping->start + mapping->offset, offset[page]);
	}
}

static void test_maps_against_model(void)
{
	static uint32_t module[MODEL_PIDS][MODEL_PAGES];
	static uint64_t offset[MODEL_PIDS][MODEL_PAGES];
	struct maps *maps[MODEL_PIDS];
	struct maps_all all = { 0 };

	for (int i = 0; i < MODEL_PIDS; i++)
		CHECK_EQ(maps_new(&all, MAPS_MAX, &maps[i]), 0);
	for (int step = 0; step < 20000; step++) {
		uint32_t who = pick(MODEL_PIDS), from = pick(MODEL_PIDS), what = pick(10);
		uint64_t start = pick(MODEL_PAGES), size = pick(MODEL_PAGES - start);
		struct mapping mapping = { start * 16, (start + size) * 16, pick(1000),
					   1 + pick(9) };

		if (what == 0 && who != from) {
			maps_unref(maps[who]);
			maps[who] = maps_ref(maps[from]);
			memcpy(module[who], module[from], sizeof(module[who]));
			memcpy(offset[who], offset[from], sizeof(offset[who]));
		} else if (what < 3) {
			CHECK_EQ(maps_remove(&maps[who], mapping.start, mapping.end), 0);
			memset(module[who] + start, 0, size * sizeof(module[0][0]));
		} else {
			CHECK_EQ(maps_insert(&maps[who], &mapping), 0);
			for (uint64_t page = start; page < start + size; page++) {
				module[who][page] = mapping.module;
				offset[who][page] = (page - start) * 16 + mapping.offset;
			}
		}
		model_check(maps[who], module[who], offset[who]);
		model_check(maps[from], module[from], offset[from]);
	}
	for (int i = 0; i < MODEL_PIDS; i++)
		maps_unref(maps[i]);
	CHECK_EQ(all.count, 0);
}

/*
 * A simple model of the whole tracker: for each thread its name and process, for each process the
 * module at each page.
 */
enum { LIFE_IDS = 12, LIFE_PAGES = 24, LIFE_NAMES = 8, LIFE_PATHS = 6 };

struct life {
	struct {
		bool used;
		int pid;
		/* 0: none */
		int name;
		uint64_t exited_ns;
	} threads[LIFE_IDS];
	struct {
		bool used;
		uint64_t exited_ns;
		struct {
			/* 0: none */
			int path;
			uint64_t offset;
		} pages[LIFE_PAGES];
	} processes[LIFE_IDS];
};

static const char *const life_names[LIFE_NAMES] = { "",	   "sh", "ls",		"java",
						    "a b", "é",	 "kworker/0:1", "fifteen letters" };
static const char *const life_paths[LIFE_PATHS] = { "",	      "/bin/a", "/bin/b",
						    "/lib/c", "/lib/d", "/lib/e" };

static void life_comm(struct life *life, int pid, int tid, int name, bool exec)
{
	life->threads[tid].used = true;
	life->threads[tid].pid = pid;
	life->threads[tid].name = name;
	life->threads[tid].exited_ns = 0;
	life->processes[pid].used = true;
	life->processes[pid].exited_ns = 0;
	if (exec)
		memset(life->processes[pid].pages, 0, sizeof(life->processes[pid].pages));
}

static void life_fork(struct life *life, int pid, int tid, int parent_pid, int parent_tid)
{
	int from = life->threads[parent_tid].used ? parent_tid : parent_pid;
	int name = life->threads[from].used ? life->threads[from].name : 0;

	if (pid != parent_pid && life->processes[parent_pid].used)
		memcpy(life->processes[pid].pages, life->processes[parent_pid].pages,
		       sizeof(life->processes[pid].pages));
	else if (pid != parent_pid)
		memset(life->processes[pid].pages, 0, sizeof(life->processes[pid].pages));
	life_comm(life, pid, tid, name, false);
}

static void life_exit(struct life *life, uint64_t time_ns, int pid, int tid)
{
	if (life->threads[tid].used && life->threads[tid].pid == pid)
		life->threads[tid].exited_ns = time_ns;
	if (life->processes[pid].used)
		life->processes[pid].exited_ns = time_ns;
}

static void life_map(struct life *life, int pid, int start, int size, int path)
{
	if (!life->processes[pid].used)
		memset(&life->processes[pid], 0, sizeof(life->processes[pid]));
	life->processes[pid].used = true;
	for (int i = 0; i < size; i++) {
		life->processes[pid].pages[start + i].path = path;
		life->processes[pid].pages[start + i].offset = i * 0x1000;
	}
}

static void life_sweep(struct life *life, uint64_t before_ns)
{
	for (int id = 0; id < LIFE_IDS; id++)
		if (life->threads[id].exited_ns && life->threads[id].exited_ns < before_ns)
			memset(&life->threads[id], 0, sizeof(life->threads[id]));
	for (int id = 0; id < LIFE_IDS; id++) {
		bool runs = false;

		for (int tid = 0; tid < LIFE_IDS; tid++)
			runs |= life->threads[tid].used && life->threads[tid].pid == id;
		if (!life->processes[id].exited_ns || life->processes[id].exited_ns >= before_ns)
			continue;
		/* a process with threads is checked again after the threads ended */
		if (runs)
			life->processes[id].exited_ns = before_ns;
		else
			memset(&life->processes[id], 0, sizeof(life->processes[id]));
	}
}

static void life_check_names(const struct life *life, struct tracker *tracker)
{
	for (int pid = 1; pid < LIFE_IDS; pid++)
		for (int tid = 1; tid < LIFE_IDS; tid++) {
			int name = life->threads[tid].used ? life->threads[tid].name : 0;
			char unnamed[16];

			if (!name)
				name = life->threads[pid].used ? life->threads[pid].name : 0;
			snprintf(unnamed, sizeof(unnamed), ":%d", tid);
			CHECK_STR(tracker_comm(tracker, pid, tid),
				  name ? life_names[name] : unnamed);
		}
}

static void life_check_maps(const struct life *life, struct tracker *tracker)
{
	for (int pid = 1; pid < LIFE_IDS; pid++)
		for (int page = 0; page < LIFE_PAGES; page++) {
			uint64_t address = page * 0x1000 + 0x123;
			const struct mapping *mapping = tracker_find(tracker, pid, false, address);
			int path = life->processes[pid].pages[page].path;

			CHECK_STR(path_at(tracker, pid, address), path ? life_paths[path] : "-");
			if (path)
				CHECK_EQ(address - mapping->start + mapping->offset,
					 life->processes[pid].pages[page].offset + 0x123);
		}
}

/*
 * Numbers are used again, even while their processes run; threads outlive leaders; records are
 * lost.
 */
static void test_tracker_against_model(void)
{
	for (int run = 0; run < 20; run++) {
		_cleanup_(tracker_done) struct tracker tracker;
		static struct life life;

		memset(&life, 0, sizeof(life));
		CHECK_EQ(tracker_init(&tracker), 0);
		for (uint64_t step = 1; step < 1500; step++) {
			int pid = 1 + pick(LIFE_IDS - 1), tid = 1 + pick(LIFE_IDS - 1);
			int parent = 1 + pick(LIFE_IDS - 1), other = 1 + pick(LIFE_IDS - 1);
			int start = pick(LIFE_PAGES), size = pick(LIFE_PAGES - start + 1);
			int name = pick(LIFE_NAMES), path = 1 + pick(LIFE_PATHS - 1);
			bool exec = pick(4) == 0;
			uint64_t before_ns;

			/* a process is not its own parent */
			if (other == pid || other == tid)
				continue;

			switch (pick(12)) {
			case 0:
			case 1:
				apply_comm(&tracker, pid, tid, life_names[name], exec);
				life_comm(&life, pid, tid, name, exec);
				break;
			case 2:
			case 3:
				apply_task(&tracker, PERF_TYPE_FORK, step, pid, pid, parent, other);
				life_fork(&life, pid, pid, parent, other);
				break;
			case 4:
				apply_task(&tracker, PERF_TYPE_FORK, step, pid, tid, pid, other);
				life_fork(&life, pid, tid, pid, other);
				break;
			case 5:
			case 6:
				apply_task(&tracker, PERF_TYPE_EXIT, step, pid, tid, parent, other);
				life_exit(&life, step, pid, tid);
				break;
			case 7:
				before_ns = step - MIN(step, (uint64_t)pick(20));
				tracker_sweep(&tracker, before_ns);
				life_sweep(&life, before_ns);
				break;
			default:
				apply_mmap(&tracker, pid, start * 0x1000, (start + size) * 0x1000,
					   life_paths[path]);
				life_map(&life, pid, start, size, path);
				break;
			}
			life_check_names(&life, &tracker);
			life_check_maps(&life, &tracker);
		}
	}
}

struct order {
	uint64_t last_ns;
	uint32_t last_source;
	size_t count;
	size_t stop_after;
};

static int take(void *context, const struct reorder_entry *entry, const uint8_t *record)
{
	struct order *order = context;
	uint32_t source;

	CHECK(entry->time_ns >= order->last_ns);
	memcpy(&source, record, 4);
	CHECK_EQ(source, entry->source);
	CHECK_EQ(entry->size, 4 + entry->source % 40);
	for (uint32_t i = 4; i < entry->size; i++)
		CHECK_EQ(record[i], (uint8_t)(entry->source + i));
	if (entry->time_ns == order->last_ns)
		CHECK(entry->source > order->last_source);
	order->last_ns = entry->time_ns;
	order->last_source = entry->source;
	return ++order->count == order->stop_after ? -EIO : 0;
}

/* Several rings, each nearly in order, are drained in rounds. */
static void test_timeline(void)
{
	_cleanup_(reorder_done) struct reorder reorder = { 0 };
	struct order order = { 0 };
	uint32_t number = 0;
	size_t added = 0;

	for (uint64_t round = 1; round < 200; round++) {
		for (int ring = 0; ring < 5; ring++)
			for (uint32_t i = pick(20); i > 0; i--) {
				uint64_t time = round * 1000 - i * 40 - pick(30) + ring;
				uint8_t record[64];

				number++;
				memcpy(record, &number, 4);
				for (uint32_t at = 4; at < 4 + number % 40; at++)
					record[at] = number + at;
				CHECK_EQ(reorder_add(&reorder, time, number, record,
						     4 + number % 40),
					 0);
				added++;
			}
		CHECK_EQ(reorder_flush(&reorder, round * 1000 - 900, NULL, take, &order), 0);
		CHECK(order.last_ns < round * 1000 - 900);
	}
	CHECK_EQ(reorder_flush(&reorder, UINT64_MAX, NULL, take, &order), 0);
	CHECK_EQ(order.count, added);
}

static void test_timeline_stops(void)
{
	_cleanup_(reorder_done) struct reorder reorder = { 0 };
	struct order order = { .stop_after = 3 };

	for (uint32_t i = 1; i <= 10; i++)
		CHECK_EQ(reorder_add(&reorder, i, i,
				     (uint8_t[]){ i, 0, 0, 0, i + 4, i + 5, i + 6, i + 7, i + 8,
						  i + 9, i + 10, i + 11, i + 12, i + 13 },
				     4 + i),
			 0);
	CHECK_EQ(reorder_flush(&reorder, UINT64_MAX, NULL, take, &order), -EIO);
	CHECK_EQ(order.count, 3);
	CHECK_EQ(reorder_flush(&reorder, UINT64_MAX, NULL, take, &order), 0);
	CHECK_EQ(order.count, 10);
}

struct ahead {
	uint32_t told, given, stop_after;
};

static void tell(void *context, const struct reorder_entry *entry, const uint8_t *record)
{
	struct ahead *ahead = context;

	CHECK_EQ(entry->source, ahead->told++);
	CHECK_EQ(record[0], entry->source);
}

static int take_told(void *context, const struct reorder_entry *entry, const uint8_t *record)
{
	struct ahead *ahead = context;

	CHECK_EQ(entry->source, ahead->given++);
	CHECK_EQ(record[0], entry->source);
	CHECK(ahead->told >= ahead->given && ahead->told < ahead->given + REORDER_AHEAD);
	return ahead->given == ahead->stop_after ? -EIO : 0;
}

/*
 * Each record is prefetched once before it is applied; records that were not applied yet are
 * prefetched again.
 */
static void test_timeline_tells(void)
{
	_cleanup_(reorder_done) struct reorder reorder = { 0 };
	struct ahead ahead = { .stop_after = 30 };

	for (uint32_t i = 0; i < 60; i++)
		CHECK_EQ(reorder_add(&reorder, 1000 + i, i, (uint8_t[]){ i, 0, 0, 0 }, 4), 0);
	CHECK_EQ(reorder_flush(&reorder, 1020, tell, take_told, &ahead), 0);
	CHECK_EQ(ahead.told, 20);
	CHECK_EQ(ahead.given, 20);
	CHECK_EQ(reorder_flush(&reorder, UINT64_MAX, tell, take_told, &ahead), -EIO);
	ahead.told = ahead.given;
	CHECK_EQ(reorder_flush(&reorder, UINT64_MAX, tell, take_told, &ahead), 0);
	CHECK_EQ(ahead.told, 60);
	CHECK_EQ(ahead.given, 60);
}

CHECK_MAIN({ "fork inherits mappings, exec clears them", test_fork_inherits_exec_clears },
	   { "after a fork mappings differ", test_fork_shares_nothing_later },
	   { "threads have names", test_threads },
	   { "threads of a dead leader keep their mappings", test_threads_of_a_dead_leader },
	   { "a reused pid starts anew", test_pid_reuse },
	   { "generated code is a module", test_code_made_at_run_time },
	   { "ranges of the kernel are modules", test_kernel_ranges },
	   { "mappings agree with a plain model", test_maps_against_model },
	   { "processes agree with a plain model", test_tracker_against_model },
	   { "records of five rings come in order", test_timeline },
	   { "reordering stops on an error", test_timeline_stops },
	   { "each record is announced before it comes", test_timeline_tells })
