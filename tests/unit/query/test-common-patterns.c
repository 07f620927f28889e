// SPDX-License-Identifier: GPL-2.0-only
/* Incidents of one place or time show a pattern; incidents that chance spreads show none. */
#include "query/common/common-internal.h"
#include "tests/check.h"
#include "tests/random.h"

#define HOSTS 4
#define CASES 24
#define DAYS 30
#define HOUR_NS (3600 * NSEC_PER_SEC)
#define BEGIN_NS (20000 * 24 * HOUR_NS)
/* The hosts boot all ten days. */
#define BOOT_HOURS 240

struct played {
	struct common_answer answer;
	struct common_run run;
};

/* Records all hours of the days. */
static void add_host(struct played *played, uint32_t number)
{
	struct common_host host = { .name = number };

	for (unsigned int hour = 0; hour < DAYS * 24; hour++) {
		struct common_segment segment = { .before_ns = host.recorded_ns };

		segment.about.begin_ns = BEGIN_NS + hour * HOUR_NS;
		segment.about.end_ns = segment.about.begin_ns + HOUR_NS;
		segment.about.perf_begin_ns = hour % BOOT_HOURS * HOUR_NS;
		CHECK_EQ(array_push(&host.segments, segment), 0);
		host.recorded_ns += HOUR_NS;
	}
	CHECK_EQ(array_push(&played->run.hosts, host), 0);
}

/* Spreads incidents over hosts, CPUs, queues and times by chance. */
static void play(struct played *played, uint64_t seed)
{
	random_state = seed * 0x9e3779b97f4a7c15ull + 1;
	*played = (struct played){ 0 };
	played->run.answer = &played->answer;
	played->answer.from_ns = BEGIN_NS;
	played->answer.to_ns = BEGIN_NS + DAYS * 24 * HOUR_NS;
	for (uint32_t i = 0; i < HOSTS; i++)
		add_host(played, i);
	for (size_t i = 0; i < CASES; i++) {
		uint64_t at_ns =
			BEGIN_NS + random_u64() % (DAYS * 24 * HOUR_NS - HOUR_NS) + HOUR_NS;
		struct common_case added = { .host = random_below(HOSTS),
					     .read = true,
					     .stall_to_ns = at_ns,
					     .has_queue = true,
					     .queue = random_below(8),
					     .full_cpu = random_below(16) };

		CHECK_EQ(array_push(&played->answer.cases, added), 0);
		CHECK_EQ(array_push(&played->run.windows, (struct common_window){ .set = i }), 0);
	}
}

/* Finds the patterns, and checks that only the expected one stands out. */
static const struct common_pattern *find(struct played *played, int expected)
{
	struct common_answer *answer = &played->answer;

	for (size_t i = 0; i < CASES; i++) {
		struct common_case *of = &answer->cases.items[i];
		const struct common_segment *segment =
			common_hosts_at(&played->run.hosts.items[of->host], of->stall_to_ns - 1);

		of->uptime_s = common_hosts_uptime_s(segment, of->stall_to_ns);
	}
	CHECK_EQ(common_patterns_find(&played->run), 0);
	for (int kind = 0; kind < COMMON_PATTERNS; kind++) {
		CHECK(answer->patterns[kind].tested);
		if (common_pattern_stands(&answer->patterns[kind]) != (kind == expected))
			CHECK_FAIL("%s: p %g", common_pattern_name(kind), answer->patterns[kind].p);
	}
	return expected < 0 ? NULL : &answer->patterns[expected];
}

static void played_done(struct played *played)
{
	common_hosts_done(&played->run);
	array_done(&played->run.windows);
	common_done(&played->answer);
}

static void test_none(void)
{
	struct played played;

	for (uint64_t seed = 1; seed <= 5; seed++) {
		play(&played, seed);
		find(&played, -1);
		played_done(&played);
	}
}

static void test_places(void)
{
	const struct common_pattern *pattern;
	struct played played;

	play(&played, 1);
	for (size_t i = 0; i < CASES * 3 / 4; i++)
		played.answer.cases.items[i].host = 2;
	pattern = find(&played, COMMON_OF_HOST);
	CHECK_EQ(pattern->name, 2);
	CHECK(pattern->cases >= CASES * 3 / 4);
	CHECK_EQ(pattern->of, CASES);
	played_done(&played);

	play(&played, 2);
	for (size_t i = 0; i < CASES / 2; i++)
		played.answer.cases.items[i].full_cpu = 7;
	CHECK_EQ(find(&played, COMMON_OF_CPU)->number, 7);
	played_done(&played);

	play(&played, 3);
	for (size_t i = 0; i < CASES / 2; i++)
		played.answer.cases.items[i].queue = 5;
	CHECK_EQ(find(&played, COMMON_OF_QUEUE)->number, 5);
	played_done(&played);
}

/* A CPU that is full in the controls, too, is the place of an innocent job. */
static void test_innocent_cpu(void)
{
	struct played played;

	play(&played, 2);
	played.run.windows.count = 0;
	for (size_t i = 0; i < CASES; i++) {
		bool job = i < CASES / 2;

		if (job)
			played.answer.cases.items[i].full_cpu = 7;
		for (uint32_t rank = 0; rank < 3; rank++)
			CHECK_EQ(array_push(&played.run.windows,
					    (struct common_window){ .set = i,
								    .rank = rank,
								    .read = true,
								    .full_cpu = job ? 7 : NO_CPU }),
				 0);
	}
	find(&played, -1);
	played_done(&played);
}

static void test_hours(void)
{
	const struct common_pattern *pattern;
	struct played played;

	play(&played, 4);
	for (size_t i = 0; i < CASES; i++)
		if (i % 4)
			played.answer.cases.items[i].stall_to_ns =
				BEGIN_NS + (random_below(DAYS) * 24 + 2) * HOUR_NS +
				random_u64() % (2 * HOUR_NS) + 1;
	pattern = find(&played, COMMON_OF_HOUR);
	CHECK(pattern->number == 0 || pattern->number == 1 || pattern->number == 2 ||
	      pattern->number == 23 || pattern->number == 3);
	CHECK(pattern->cases >= CASES * 3 / 4);
	played_done(&played);
}

/* All come about a week after a boot. */
static void test_uptime(void)
{
	const struct common_pattern *pattern;
	struct played played;

	play(&played, 5);
	for (size_t i = 0; i < CASES; i++)
		played.answer.cases.items[i].stall_to_ns =
			BEGIN_NS + random_below(3) * BOOT_HOURS * HOUR_NS + 160 * HOUR_NS +
			random_u64() % (24 * HOUR_NS);
	pattern = find(&played, COMMON_OF_UPTIME);
	CHECK(pattern->low >= 160 * 3600.0);
	CHECK(pattern->middle > pattern->low);
	CHECK(pattern->high <= 184 * 3600.0);
	played_done(&played);
}

/* They follow each other after about 101 hours on each host. */
static void test_interval(void)
{
	const struct common_pattern *pattern;
	struct played played;

	play(&played, 6);
	for (size_t i = 0; i < CASES; i++) {
		played.answer.cases.items[i].host = i % HOSTS;
		played.answer.cases.items[i].stall_to_ns =
			BEGIN_NS + (i / HOSTS * 101 + i % HOSTS * 23) * HOUR_NS +
			random_u64() % (4 * HOUR_NS) + 1;
	}
	pattern = find(&played, COMMON_OF_INTERVAL);
	CHECK(pattern->middle > 96 * 3600.0);
	CHECK(pattern->middle < 106 * 3600.0);
	played_done(&played);
}

CHECK_MAIN({ "chance shows no pattern", test_none }, { "a host, a CPU, a queue", test_places },
	   { "a CPU of an innocent job", test_innocent_cpu }, { "hours of the day", test_hours },
	   { "an uptime", test_uptime }, { "an interval", test_interval })
