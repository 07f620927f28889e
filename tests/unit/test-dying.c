// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <stdlib.h>

#include "recorder/dying.h"
#include "tape/events.h"

#define SECOND_NS 1000000000ull

static const char *folded(const char *path)
{
	static char prefix[DYING_PREFIX_SIZE];

	dying_fold(path, prefix);
	return prefix;
}

static void test_fold(void)
{
	char longest[1000];

	CHECK_STR(folded("/system.slice/ecs-agent.service"), "/system.slice/ecs-agent.service");
	CHECK_STR(folded("/kubepods/burstable/pod6f1e2c3a-09d4-4d11-8a77-0123456789ab/"
			 "0f7f6ad54a1f2a1c3b27e5d81a0ac5a3b1ea4da0cbb2c3a1f10b3dd2f7a9e001/deeper"),
		"/kubepods/burstable/pod*/*");
	CHECK_STR(folded("/kubepods.slice/kubepods-burstable.slice/"
			 "kubepods-burstable-pod6f1e2c3a_09d4_4d11_8a77_0123456789ab.slice/"
			 "cri-containerd-"
			 "0f7f6ad54a1f2a1c3b27e5d81a0ac5a3b1ea4da0cbb2c3a1f10b3dd2f7a9e001.scope"),
		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod*.slice/"
		"cri-containerd-*.scope");
	CHECK_STR(folded("/user.slice/user-1000.slice/session-12.scope"),
		"/user.slice/user-*.slice/session-*.scope");
	CHECK_STR(folded("/ecs/0f7f6ad54a1f2a1c3b27e5d81a0ac5a3/"
			 "0f7f6ad54a1f2a1c3b27e5d81a0ac5a3-1234567"),
		"/ecs/*/*-*");
	CHECK_STR(folded("/system.slice/docker-"
			 "0f7f6ad54a1f2a1c3b27e5d81a0ac5a3b1ea4da0cbb2c3a1f10b3dd2f7a9e001.scope"),
		"/system.slice/docker-*.scope");
	CHECK_STR(
		folded("/system.slice/run-rb123456789abcdef.scope"), "/system.slice/run-r*.scope");
	CHECK_STR(folded("/system.slice/run-123.scope"), "/system.slice/run-*.scope");
	CHECK_STR(folded("/system.slice/system-getty.slice/getty@7.service"),
		"/system.slice/system-getty.slice/getty@*.service");
	CHECK_STR(folded("/kubepods/burstable/pod0f7f6ad54a1f2a1c3b27e5d81a0ac5a3"),
		"/kubepods/burstable/pod*");
	/* which one it is behind a word, or what it is */
	CHECK_STR(folded("/leak/task17"), "/leak/task*");
	CHECK_STR(folded("/leak/task7"), "/leak/task7");
	CHECK_STR(folded("/system.slice/k3s.service"), "/system.slice/k3s.service");
	CHECK_STR(folded("/user9/ec2-net-utils/eth0:ip6"), "/user9/ec2-net-utils/eth0:ip6");
	CHECK_STR(folded("/sha256sum/7zip/2fa"), "/sha256sum/7zip/2fa");
	CHECK_STR(folded("/cafe/decade/facade/added"), "/cafe/decade/facade/added");
	CHECK_STR(folded(""), "");
	memset(longest, 'x', sizeof(longest));
	longest[0] = '/';
	longest[sizeof(longest) - 1] = 0;
	CHECK_EQ(strlen(folded(longest)), DYING_PREFIX_SIZE - 1);
}

static void make(struct dying *dying, uint64_t id, const char *comm)
{
	CHECK_EQ(dying_made(dying, &(struct dying_key){ 4, id }, comm), 0);
}

static void kill_at(struct dying *dying, uint64_t id, const char *path, uint64_t second)
{
	CHECK_EQ(dying_removed(
			 dying, &(struct dying_key){ 4, id }, path, "systemd", second * SECOND_NS),
		0);
}

static void bury(struct dying *dying, uint64_t id, const char *path)
{
	dying_gone(dying, &(struct dying_key){ 4, id }, path);
}

static void test_life(void)
{
	struct dying_sum sums[3];
	struct dying *dying;

	CHECK_EQ(dying_new(&dying), 0);
	for (uint64_t id = 1; id <= 10; id++)
		make(dying, id, id == 3 ? "sh" : "runc");
	CHECK_EQ(dying_sums(dying, sums, 3), 0);
	for (uint64_t id = 1; id <= 7; id++)
		kill_at(dying, id, "/ecs/task12/1", 100 + id);
	/* made before we looked; told twice; removed in another hierarchy under the same number */
	kill_at(dying, 77, "/other", 50);
	kill_at(dying, 77, "/other", 60);
	CHECK_EQ(dying_removed(dying, &(struct dying_key){ 5, 77 }, "/other", "", SECOND_NS), 0);
	CHECK_EQ(dying_sums(dying, sums, 3), 2);
	CHECK_STR(sums[0].prefix, "/ecs/task*/*");
	CHECK_EQ(sums[0].count, 7);
	CHECK_EQ(sums[0].since_ns, 101 * SECOND_NS);
	CHECK_STR(sums[0].made_by, "runc");
	CHECK_STR(sums[0].removed_by, "systemd");
	CHECK_STR(sums[1].prefix, "/other");
	CHECK_EQ(sums[1].count, 2);
	CHECK_STR(sums[1].made_by, "");
	bury(dying, 1, "/ecs/task12/1");
	bury(dying, 1, "/ecs/task12/1");
	bury(dying, 8, "/ecs/task12/1"); /* never removed */
	bury(dying, 500, "/ecs/task12/1"); /* never seen */
	CHECK_EQ(dying_sums(dying, sums, 1), 2);
	CHECK_EQ(sums[0].count, 6);
	CHECK_EQ(sums[0].since_ns, 102 * SECOND_NS);
	dying_forget(dying);
	CHECK_EQ(dying_sums(dying, sums, 3), 0);
	dying_free(dying);
}

/* Beyond what is remembered it is still counted, and comes down again. */
static void test_bounds(void)
{
	struct dying_sum sums[2];
	struct dying *dying;
	char path[32];

	CHECK_EQ(dying_new(&dying), 0);
	for (uint64_t id = 1; id <= DYING_MAX + 10; id++)
		kill_at(dying, id, "/leak", id);
	CHECK_EQ(dying_sums(dying, sums, 2), 1);
	CHECK_EQ(sums[0].count, DYING_MAX + 10);
	for (uint64_t id = 1; id <= DYING_MAX + 10; id++)
		bury(dying, id, "/leak");
	CHECK_EQ(dying_sums(dying, sums, 2), 0);
	for (uint64_t id = 0; id < 1000; id++) {
		snprintf(path, sizeof(path), "/%c%c", (char)('a' + id / 26 % 26),
			(char)('a' + id % 26));
		kill_at(dying, id, path, 1);
	}
	CHECK_EQ(dying_sums(dying, sums, 2), DYING_PREFIXES);
	CHECK_STR(sums[0].prefix, "/(others)");
	dying_free(dying);
}

static const struct tape_gauge *gauge(const struct tape *tape, const char *name)
{
	for (size_t i = 0; i < tape->gauges.count; i++)
		if (strcmp(tape_string(tape, tape->gauges.items[i].name), name) == 0)
			return &tape->gauges.items[i];
	return NULL;
}

static void test_give(void)
{
	const struct tape_gauge *count, *oldest;
	const struct tape_event *event;
	struct dying *dying;
	struct tape *tape;

	CHECK_EQ(dying_new(&dying), 0);
	CHECK_EQ(tape_new(&tape), 0);
	make(dying, 1, "runc");
	kill_at(dying, 1, "/ecs/1", 1000);
	CHECK_EQ(dying_give(dying, tape, 1000 * SECOND_NS + 1), 0);
	CHECK_EQ(tape->gauges.count, 0); /* it may go by itself */
	CHECK_STR(dying_text(dying), "");
	CHECK_EQ(dying_give(dying, tape, 1005 * SECOND_NS), 0);
	CHECK_EQ(tape->gauges.count, 0);
	CHECK_EQ(dying_give(dying, tape, 1070 * SECOND_NS), 0);
	CHECK_STR(dying_text(dying), "1 under /ecs/*, made by runc, the oldest for 1 min 10 s");
	bury(dying, 1, "/ecs/1");
	for (uint64_t second = 1080; second < 1200; second += 10)
		CHECK_EQ(dying_give(dying, tape, second * SECOND_NS), 0);
	count = gauge(tape, "dying-cgroups/ecs/*");
	oldest = gauge(tape, "dying-cgroups/ecs/*/oldest");
	CHECK(count && oldest);
	CHECK_EQ(count->count, 2);
	CHECK_EQ(tape->points.items[count->first].value, 1);
	CHECK_EQ(tape->points.items[count->first + 1].value, 0);
	CHECK_EQ(tape->points.items[oldest->first].value, 70);
	CHECK_EQ(tape->events.count, 1);
	event = &tape->events.items[0];
	CHECK_STR(tape_string(tape, event->name), TAPE_EVENT_DYING);
	CHECK_STR(tape_event_field(tape, event, TAPE_DYING_PREFIX), "/ecs/*");
	CHECK_STR(tape_event_field(tape, event, TAPE_DYING_COUNT), "1");
	CHECK_STR(tape_event_field(tape, event, TAPE_DYING_MADE_BY), "runc");
	CHECK_STR(tape_event_field(tape, event, TAPE_DYING_REMOVED_BY), "systemd");
	CHECK(!tape_event_field(tape, event, "nothing"));
	tape_free(tape);
	dying_free(dying);
}

/* A leak is named with the first gauges of it, and when there are twice as many; else once a minute. */
static void test_news(void)
{
	struct dying *dying;
	struct tape *tape;

	CHECK_EQ(dying_new(&dying), 0);
	CHECK_EQ(tape_new(&tape), 0);
	CHECK_EQ(dying_give(dying, tape, 1000 * SECOND_NS), 0);
	for (uint64_t id = 1; id <= 3; id++)
		kill_at(dying, id, "/leak", 1001);
	CHECK_EQ(dying_give(dying, tape, 1010 * SECOND_NS), 0);
	CHECK_EQ(tape->events.count, 1);
	kill_at(dying, 4, "/leak", 1011);
	CHECK_EQ(dying_give(dying, tape, 1020 * SECOND_NS), 0);
	CHECK_EQ(tape->events.count, 1);
	for (uint64_t id = 5; id <= 6; id++)
		kill_at(dying, id, "/leak", 1021);
	CHECK_EQ(dying_give(dying, tape, 1030 * SECOND_NS), 0);
	CHECK_EQ(tape->events.count, 2);
	CHECK_STR(tape_event_field(tape, &tape->events.items[1], TAPE_DYING_COUNT), "6");
	/* it ended, and began anew */
	for (uint64_t id = 1; id <= 6; id++)
		bury(dying, id, "/leak");
	CHECK_EQ(dying_give(dying, tape, 1040 * SECOND_NS), 0);
	kill_at(dying, 7, "/leak", 1041);
	CHECK_EQ(dying_give(dying, tape, 1050 * SECOND_NS), 0);
	CHECK_EQ(tape->events.count, 3);
	CHECK_EQ(dying_give(dying, tape, 1100 * SECOND_NS), 0);
	CHECK_EQ(tape->events.count, 3);
	CHECK_EQ(dying_give(dying, tape, 1110 * SECOND_NS), 0);
	CHECK_EQ(tape->events.count, 4);
	tape_free(tape);
	dying_free(dying);
}

CHECK_MAIN({ "paths are folded to their kind", test_fold },
	{ "counted from rmdir to release, with who made and removed most", test_life },
	{ "memory is bounded, and the count is right beyond it", test_bounds },
	{ "gauges and an event in the tape", test_give }, { "a leak is named at once", test_news })
