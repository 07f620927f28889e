// SPDX-License-Identifier: GPL-2.0-only
/* The recorder's progress as JSON and back, and the recorder's own measurements while it drains. */
#include "base/clock.h"
#include "recorder/run/progress.h"
#include "recorder/perf/sampling-cost.h"
#include "recorder/run/self-stats.h"
#include "tests/check.h"
#include "tests/fake-clock.h"

static void test_round_trip(void)
{
	_cleanup_(buffer_done) struct buffer json = { 0 }, again = { 0 };
	struct recorder_progress progress = {
		.version = "0.1.0",
		.event = "cpu-clock",
		.samples = UINT64_MAX,
		.drain_peak_ns = 7,
		.error.text = "\"/a\\b\"\n: no room",
	};
	struct recorder_progress back;

	progress.sources[0] = (struct progress_source){ "cpu", 60, 0, 12345, 99 };
	progress.sources[1] = (struct progress_source){ "memory cgroups", 1, 1, 5, UINT64_MAX };
	progress.source_count = 2;
	progress.dying_ns = 1000;
	progress.dying_unsure = 3;
	progress.cgroups[0] = (struct progress_dying){ "/leak/task*", 1000, 200,       800,
						       "le\"aker",    4711, "systemd", 1 };
	progress.cgroup_count = 1;
	progress_write(&progress, &json);
	CHECK(!buffer_failed(&json));
	CHECK_EQ(progress_read((const char *)json.data, json.size, &back), 0);
	CHECK_STR(back.event, "cpu-clock");
	CHECK_STR(back.error.text, "\"/a\\b\"\n: no room");
	CHECK_EQ(back.samples, UINT64_MAX);
	CHECK_EQ(back.drain_peak_ns, 7);
	CHECK_EQ(back.source_count, 2);
	CHECK_STR(back.sources[1].name, "memory cgroups");
	CHECK_EQ(back.sources[0].cpu_ns, 12345);
	CHECK_EQ(back.sources[1].longest_ns, UINT64_MAX);
	CHECK_EQ(back.dying_unsure, 3);
	CHECK_EQ(back.cgroup_count, 1);
	CHECK_STR(back.cgroups[0].prefix, "/leak/task*");
	CHECK_EQ(back.cgroups[0].oldest_ns, 800);
	CHECK_STR(back.cgroups[0].made_by, "le\"aker");
	CHECK_EQ(back.cgroups[0].removed_by_pid, 1);
	progress_write(&back, &again);
	CHECK(json.size == again.size && memcmp(json.data, again.data, json.size) == 0);
}

static int read_text(const char *json, struct recorder_progress *progress)
{
	return progress_read(json, strlen(json), progress);
}

/* Another version may have more keys, fewer keys, or another type for a key. */
static void test_other_versions(void)
{
	struct recorder_progress progress;

	CHECK_EQ(read_text("{\"new\":{\"samples\":1},\"samples\":2,\"more\":[3],\"lost\":\"x\","
			   "\"event\":4}",
			   &progress),
		 0);
	CHECK_EQ(progress.samples, 2);
	CHECK_EQ(progress.lost, 0);
	CHECK_STR(progress.event, "");
	CHECK_EQ(read_text("{\"event\":\"a name that is longer than there is room for it\"}",
			   &progress),
		 0);
	CHECK_STR(progress.event, "a name that is longer than ther");
}

/* Bytes that are not UTF-8 take three bytes each, so fewer fit than arrived. */
static void test_broken_text(void)
{
	struct recorder_progress progress;

	CHECK_EQ(read_text("{\"event\":\"a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\"}",
			   &progress),
		 0);
	CHECK_EQ(strlen(progress.event), 31);
	CHECK(memcmp(progress.event + 28, "\xef\xbf\xbd", 3) == 0);
	/* a character that does not fit is left out as a whole */
	CHECK_EQ(read_text("{\"event\":\"a name that is longer than th\u20ac\"}", &progress), 0);
	CHECK_STR(progress.event, "a name that is longer than th");
}

/* A later version has more sources than fit, and more values for each source. */
static void test_other_sources(void)
{
	_cleanup_(buffer_done) struct buffer json = { 0 };
	struct recorder_progress progress;

	CHECK_EQ(read_text("{\"figures\":[{\"source\":\"a\",\"reads\":1,\"by\":{\"reads\":9}},3,[{"
			   "\"reads\":8}],{\"reads\":2}],\"x\":[{\"reads\":7}],\"samples\":5}",
			   &progress),
		 0);
	CHECK_EQ(progress.source_count, 2);
	CHECK_STR(progress.sources[0].name, "a");
	CHECK_EQ(progress.sources[0].reads, 1);
	CHECK_EQ(progress.sources[1].reads, 2);
	CHECK_EQ(progress.samples, 5);
	buffer_text(&json, "{\"figures\":[{}");
	for (int i = 0; i < PROGRESS_SOURCES_MAX + 5; i++)
		buffer_printf(&json, ",{\"reads\":%d}", i);
	buffer_text(&json, "]}");
	CHECK_EQ(progress_read((const char *)json.data, json.size, &progress), 0);
	CHECK_EQ(progress.source_count, PROGRESS_SOURCES_MAX);
}

static void test_no_progress(void)
{
	struct recorder_progress progress = { .samples = 5 };

	CHECK_EQ(read_text("", &progress), -EBADMSG);
	CHECK_EQ(read_text("[1]", &progress), -EBADMSG);
	CHECK_EQ(read_text("{\"samples\":1", &progress), -EBADMSG);
	CHECK_EQ(read_text("{\"samples\":1,\"event\":\"cpu", &progress), -EBADMSG);
	CHECK_EQ(progress.samples, 5);
}

#define DRAIN_NS (5 * NSEC_PER_MSEC)

/* Drains samples of 200 bytes on CPU 3 and one side-band record of 80 bytes. */
static void drain(struct self_stats *stats, uint64_t due_ns, unsigned int samples)
{
	self_stats_begin(stats, due_ns);
	for (unsigned int i = 0; i < samples; i++)
		CHECK_EQ(self_stats_record(stats, PERF_RING_SAMPLES,
					   &(struct perf_record_place){ .cpu = 3, .sample = true },
					   200),
			 0);
	CHECK_EQ(self_stats_record(stats, PERF_RING_SIDEBAND,
				   &(struct perf_record_place){ .cpu = UINT32_MAX }, 80),
		 0);
	self_stats_emptied(stats);
	fake_clock_pass(DRAIN_NS);
	self_stats_end(stats);
	self_stats_mark(stats);
}

static void test_peaks(void)
{
	struct recorder_progress progress = { .ring_bytes = 1 << 20, .frequency = 100 };
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	struct self_stats stats = { 0 };

	drain(&stats, now_ns - NSEC_PER_SEC, 100);
	/* the side-band ring is also emptied between drains, and each emptying counts separately */
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(self_stats_record(&stats, PERF_RING_SIDEBAND,
					   &(struct perf_record_place){ .cpu = 1 }, 500),
			 0);
		self_stats_emptied(&stats);
	}
	drain(&stats, now_ns + 3600 * NSEC_PER_SEC, 10);
	self_stats_fill(&stats, &progress);
	CHECK_EQ(progress.ring_peak_bytes, 20000);
	CHECK_EQ(progress.sideband_peak_bytes, 500);
	CHECK_EQ(progress.rides_out_ns / NSEC_PER_MSEC, 52428);
	CHECK(progress.rides_out_least_ns && progress.rides_out_least_ns < progress.rides_out_ns);
	CHECK_EQ(progress.late_ns, 0);
	CHECK_EQ(progress.late_peak_ns, NSEC_PER_SEC);
	CHECK_EQ(progress.sample_bytes, 200);
	CHECK_EQ(progress.recent_samples, 10);
	CHECK_EQ(progress.drain_ns, DRAIN_NS);
	CHECK_EQ(progress.drain_peak_ns, DRAIN_NS);
	/* records that came while a full ring was drained */
	progress.ring_bytes = 16384;
	self_stats_fill(&stats, &progress);
	CHECK_EQ(progress.ring_peak_bytes, 16384);
	progress.ring_bytes = 1 << 20;
	/* the kernel loses records only if a ring is full */
	progress.lost = progress.lost_sideband = 1;
	self_stats_fill(&stats, &progress);
	CHECK_EQ(progress.ring_peak_bytes, 1 << 20);
	CHECK_EQ(progress.sideband_peak_bytes, 1 << 20);
	self_stats_done(&stats);
}

/* The deep stacks of one CPU count even if all other CPUs are idle. */
static void test_deep_stacks(void)
{
	struct recorder_progress progress = { .ring_bytes = 1 << 20, .frequency = 100 };
	struct self_stats stats = { 0 };

	for (unsigned int i = 0; i < 1000; i++)
		CHECK_EQ(self_stats_record(
				 &stats, PERF_RING_SAMPLES,
				 &(struct perf_record_place){ .cpu = i % 10, .sample = true },
				 i % 10 == 7 && i > 500 ? 1024 : 64),
			 0);
	self_stats_fill(&stats, &progress);
	CHECK_EQ(progress.rides_out_ns / NSEC_PER_MSEC, 10240);
	self_stats_done(&stats);
}

/* The current rate does not include samples of long ago. */
static void test_now(void)
{
	struct recorder_progress progress = { .ring_bytes = 1 << 20, .frequency = 100 };
	struct self_stats stats = { 0 };

	drain(&stats, 0, 1000);
	drain(&stats, 0, 1000);
	for (int i = 0; i < 2; i++) {
		fake_clock_pass(SELF_STATS_NOW_NS - DRAIN_NS);
		drain(&stats, 0, 10);
	}
	self_stats_fill(&stats, &progress);
	self_stats_done(&stats);
	CHECK_EQ(progress.now_samples, 10);
	CHECK_EQ(progress.now_ns, SELF_STATS_NOW_NS);
	CHECK_EQ(progress.recent_samples, 1020);
}

/*
 * The cost differs between machines. It is more than nothing, although one measurement on a busy
 * machine may miss it. It is less than the time of the measurement itself.
 */
static void test_sampling_cost(void)
{
	struct sampling_cost cost = { 0 };
	_Atomic bool stop = false;
	uint64_t begin_ns = 0, took_ns;
	int r = 0;

	for (int i = 0; i < 20 && r == 0 && !cost.sample_ns; i++) {
		begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		r = sampling_cost_measure(&stop, &cost);
	}
	took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;

	if (r == -EACCES || r == -EPERM) {
		printf("# no right to sample: %s\n", strerror(-r));
		return;
	}
	CHECK_EQ(r, 0);
	printf("# %" PRIu64 " ns a sample, %" PRIu64 " ps a frame\n", cost.sample_ns,
	       cost.frame_ps);
	CHECK(cost.sample_ns > 0 && cost.sample_ns < took_ns);
	CHECK(cost.frame_ps / 1000 < took_ns);
	stop = true;
	CHECK_EQ(sampling_cost_measure(&stop, &cost), -ECANCELED);
}

CHECK_MAIN({ "progress survives JSON", test_round_trip },
	   { "progress of other versions is read", test_other_versions },
	   { "broken text of progress is cut at characters", test_broken_text },
	   { "sources of other versions are read", test_other_sources },
	   { "text that is not progress is refused", test_no_progress },
	   { "peaks of rings and of drains", test_peaks },
	   { "deep stacks of one CPU count", test_deep_stacks },
	   { "the current rate covers three seconds", test_now },
	   { "a sample costs the kernel some time", test_sampling_cost })
