// SPDX-License-Identifier: GPL-2.0-only
/*
 * fleet-store DIR SEGMENTS SECONDS CPUS: makes a store that ends now, with samples of all CPUs at
 * 97 Hz, names that would harm SQL, and an incident in the middle of each tenth segment.
 */
#include <stdlib.h>

#include "tests/tapes.h"

#define STACKS 40
#define INTERVAL_NS 10309000ull

static uint64_t begin_ns;

static uint64_t next(uint64_t *state)
{
	return hash_u64(++*state);
}

static void add_stacks(struct tape *tape, uint32_t stacks[STACKS])
{
	char names[256];

	for (unsigned int i = 0; i < STACKS; i++) {
		snprintf(names, sizeof(names), "entry;do_'syscall_%u;\\x27); DROP--%u;leaf_%u",
			 i % 3, i % 7, i);
		stacks[i] = tapes_kernel(tape, names);
	}
	/* a frame without a name, and one of a file */
	stacks[0] = tapes_call(tape, stacks[1],
			       tapes_module(tape, "/lib/lib x.so", TAPE_MODULE_ELF), 0x1234, "");
	stacks[2] = tapes_call(tape, stacks[0], tapes_module(tape, "/bin/a'b", TAPE_MODULE_ELF),
			       0x5678, "main");
}

static void add_samples(struct tape *tape, unsigned int cpus, uint64_t seed)
{
	uint32_t stacks[STACKS], threads[8];
	char comm[16];

	add_stacks(tape, stacks);
	for (unsigned int i = 0; i < ARRAY_SIZE(threads); i++) {
		snprintf(comm, sizeof(comm), i ? "work'er\\%u" : "swapper", i);
		threads[i] = tapes_thread(tape, i ? 100 + i / 2 : 0, i ? 200 + i : 0, comm);
		tape->threads.items[threads[i]].cgroup = tapes_string(tape, "/a'b.service");
	}
	for (uint64_t ns = tape->begin_ns; ns + INTERVAL_NS < tape->end_ns; ns += INTERVAL_NS)
		for (unsigned int cpu = 0; cpu < cpus; cpu++) {
			uint64_t random = next(&seed);

			/* CPUs one after the other, so that no two samples have the same moment */
			tapes_sample(tape, ns + cpu * 7000, cpu, threads[random % 8],
				     stacks[random / 8 % STACKS]);
		}
}

static void add_incident(struct tape *tape, uint64_t number)
{
	uint64_t ns = tape->begin_ns + (tape->end_ns - tape->begin_ns) / 2;
	char id[24];
	struct tape_fields run = { tape->fields.count, 1 };

	snprintf(id, sizeof(id), "%llu", (unsigned long long)number + 1);
	CHECK_EQ(array_push(&tape->fields, (struct tape_fact){ tapes_string(tape, TAPE_INCIDENT_ID),
							       tapes_string(tape, id) }),
		 0);
	CHECK_EQ(array_push(&tape->incidents,
			    (struct tape_incident){
				    .time_ns = ns,
				    .stall_ns = ns,
				    .kind = tapes_string(tape, "ena.reset"),
				    .severity = 4,
				    .text = tapes_string(tape, "eth0: Trigger reset is on"),
				    .source = tapes_string(tape, "kmsg"),
				    .fields = run,
			    }),
		 0);
}

static int make_store(const char *path, unsigned int count, unsigned int seconds, unsigned int cpus)
{
	struct tapes_store store;

	snprintf(store.path, sizeof(store.path), "%s", path);
	begin_ns = (clock_ns(CLOCK_REALTIME) / NSEC_PER_SEC - (uint64_t)count * seconds - 5) *
		   NSEC_PER_SEC;
	for (unsigned int i = 0; i < count; i++) {
		struct tape *tape =
			tapes_bare(TAPES_PERF + (uint64_t)i * seconds * NSEC_PER_SEC,
				   TAPES_PERF + (uint64_t)(i + 1) * seconds * NSEC_PER_SEC);

		tapes_anchor(tape, TAPES_PERF, begin_ns);
		add_samples(tape, cpus, i * 1000000ull);
		if (i % 10 == 5)
			add_incident(tape, i);
		tapes_store_put(&store, tape);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	if (setjmp(check_failed))
		return 1;
	return make_store(argv[1], atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
}
