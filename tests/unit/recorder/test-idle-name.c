// SPDX-License-Identifier: GPL-2.0-only
/* Names of threads that look like the idle thread's. */
#include "tests/check.h"

#include "recorder/build/tape-builder.h"

static void apply_comm(struct tracker *tracker, int32_t tid, const char *comm)
{
	struct perf_record record = { .type = PERF_TYPE_COMM };

	record.comm.pid = record.comm.tid = tid;
	record.comm.comm = comm;
	CHECK_EQ(tracker_apply(tracker, &record), 0);
}

/* Returns the name that a sample of the thread has in the tape. */
static const char *sampled_name(struct tape_builder *builder, int32_t tid)
{
	struct perf_record record = {
		.type = PERF_TYPE_SAMPLE, .misc = PERF_MODE_USER, .pid = tid, .tid = tid
	};
	const struct tape *tape = builder->tape;

	CHECK_EQ(tape_builder_add(builder, &record, NULL), 0);
	return tape_string(
		tape,
		tape->threads.items[tape->samples.items[tape->samples.count - 1].thread].comm);
}

/* Any process may have the name of the idle thread, and would be hidden with it. */
static void test_names(void)
{
	static const char *const names[][2] = { { "swapper", "_wapper" },
						{ "swapper/3", "_wapper/3" },
						{ "swapper/x", "swapper/x" } };
	struct tracker tracker;
	struct tape *tape;
	struct tape_builder builder;

	CHECK_EQ(tracker_init(&tracker), 0);
	CHECK_EQ(tape_new(&tape), 0);
	CHECK_EQ(tape_builder_init(&builder, &tracker), 0);
	tape_builder_start(&builder, tape);
	for (int i = 0; i < (int)ARRAY_SIZE(names); i++) {
		apply_comm(&tracker, 10 + i, names[i][0]);
		CHECK_STR(sampled_name(&builder, 10 + i), names[i][1]);
	}
	CHECK_STR(sampled_name(&builder, 0), "swapper");
	tape_builder_done(&builder);
	tracker_done(&tracker);
	tape_free(tape);
}

CHECK_MAIN({ "only the idle thread has its name", test_names })
