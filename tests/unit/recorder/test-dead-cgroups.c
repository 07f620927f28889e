// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <stdlib.h>

#include "recorder/trace/dead-cgroups.h"
#include "tape/tape-events.h"

#define SECOND_NS 1000000000ull

static const char *folded(const char *path)
{
	static char prefix[DYING_PREFIX_SIZE];

	dead_cgroups_fold(path, prefix);
	return prefix;
}

#define HEX32 "0f7f6ad54a1f2a1c3b27e5d81a0ac5a3"
#define HEX64 HEX32 "b1ea4da0cbb2c3a1f10b3dd2f7a9e001"

/* Paths of real hosts. */
static const struct {
	const char *path, *kind;
} known[] = {
	{ "/system.slice/ecs-agent.service", "/system.slice/ecs-agent.service" },
	/* ECS with both drivers */
	{ "/ecs/" HEX32 "/" HEX64, "/ecs/*/*" },
	{ "/ecs/" HEX32 "/" HEX32 "-1234567", "/ecs/*/*-*" },
	{ "/ecs/6f1e2c3a-09d4-4d11-8a77-0123456789ab/" HEX64, "/ecs/*/*" },
	{ "/ecstasks.slice/ecstasks-" HEX32 ".slice/docker-" HEX64 ".scope",
	  "/ecstasks.slice/ecstasks-*.slice/docker-*.scope" },
	/*
	 * Kubernetes: cgroupfs and systemd, static pods, cgroups deeper than the depth that is
	 * examined
	 */
	{ "/kubepods/burstable/pod6f1e2c3a-09d4-4d11-8a77-0123456789ab/" HEX64 "/deeper",
	  "/kubepods/burstable/pod*/*" },
	{ "/kubepods/besteffort/podaf1e2c3a-09d4-4d11-8a77-0123456789ab",
	  "/kubepods/besteffort/pod*" },
	{ "/kubepods.slice/kubepods-burstable.slice/"
	  "kubepods-burstable-pod6f1e2c3a_09d4_4d11_8a77_0123456789ab.slice/"
	  "cri-containerd-" HEX64 ".scope",
	  "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod*.slice/"
	  "cri-containerd-*.scope" },
	{ "/kubepods.slice/kubepods-podaf1e2c3a\\x2d09d4\\x2d4d11\\x2d8a77\\x2d0123456789ab.slice/"
	  "crio-conmon-" HEX64 ".scope",
	  "/kubepods.slice/kubepods-pod*.slice/crio-conmon-*.scope" },
	{ "/kubepods/burstable/pod" HEX32, "/kubepods/burstable/pod*" },
	{ "/kubelet/kubepods/pod6f1e2c3a-09d4-4d11-8a77-0123456789ab/" HEX64,
	  "/kubelet/kubepods/pod*/*" },
	/* Docker, podman, and the mounts that runc makes for each probe */
	{ "/docker/" HEX64, "/docker/*" },
	{ "/system.slice/docker-" HEX64 ".scope", "/system.slice/docker-*.scope" },
	/* an ID may consist of letters alone */
	{ "/system.slice/docker-ecbaddbe.scope", "/system.slice/docker-*.scope" },
	{ "/docker/ecbaddbe", "/docker/*" },
	{ "/machine.slice/libpod-" HEX64 ".scope", "/machine.slice/libpod-*.scope" },
	{ "/system.slice/run-docker-runtime\\x2drunc-moby-" HEX64 "-runc.mJmGmH.mount",
	  "/system.slice/run-docker-runtime\\x2drunc-moby-*-runc.*.mount" },
	/* systemd */
	{ "/user.slice/user-1000.slice/session-12.scope",
	  "/user.slice/user-*.slice/session-*.scope" },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice",
	  "/user.slice/user-*.slice/user@*.service/app.slice" },
	{ "/system.slice/run-rb123456789abcdef.scope", "/system.slice/run-r*.scope" },
	{ "/system.slice/run-" HEX32 ".scope", "/system.slice/run-*.scope" },
	{ "/system.slice/run-123.scope", "/system.slice/run-*.scope" },
	{ "/system.slice/system-getty.slice/getty@7.service",
	  "/system.slice/system-getty.slice/getty@*.service" },
	{ "/system.slice/system-systemd\\x2dfsck.slice/"
	  "systemd-fsck@dev-disk-by\\x2duuid-6f1e2c3a\\x2d09d4\\x2d4d11\\x2d8a77\\x2d0123456789ab."
	  "service",
	  "/system.slice/system-systemd\\x2dfsck.slice/"
	  "systemd-fsck@dev-disk-by\\x2duuid-*.service" },
	{ "/machine.slice/machine-qemu\\x2d12\\x2dvm.scope",
	  "/machine.slice/machine-qemu\\x2d*\\x2dvm.scope" },
	{ "/machine.slice/systemd-nspawn@web\\x2d1.service/payload",
	  "/machine.slice/systemd-nspawn@web\\x2d*.service/payload" },
	/* Firecracker's jailer, LXC, Slurm, Nomad */
	{ "/firecracker/6f1e2c3a-09d4-4d11-8a77-0123456789ab", "/firecracker/*" },
	{ "/lxc.payload.web-1/init.scope", "/lxc.payload.web-*/init.scope" },
	{ "/lxc/build-20231118", "/lxc/build-*" },
	{ "/slurm/uid_1000/job_123/step_0/task_0", "/slurm/uid_*/job_*/step_*" },
	{ "/nomad.slice/share.slice/6f1e2c3a-09d4-4d11-8a77-0123456789ab.redis.scope",
	  "/nomad.slice/share.slice/*.redis.scope" },
	{ "/leak/task-1", "/leak/task-*" },
	{ "/leak/2", "/leak/*" },
	/* names, as far as a single path shows them */
	{ "/build/x86_64/i386/arm64-v8a", "/build/x86_64/i386/arm64-v8a" },
	{ "/cgroup2/sha256/k3s.service/ec2-net-utils",
	  "/cgroup2/sha256/k3s.service/ec2-net-utils" },
	{ "/sha256sum/7zip/2fa/eth0:ip6", "/sha256sum/7zip/2fa/eth0:ip6" },
	{ "/python3.11.service/v1.2.3", "/python3.11.service/v1.2.3" },
	{ "/cafe/decade/facade/effaced", "/cafe/decade/facade/effaced" },
	{ "/xdeadbeef/deadbeefs", "/xdeadbeef/deadbeefs" },
	{ "/leak/task17", "/leak/task17" },
	{ "", "" },
};

static void test_fold(void)
{
	char longest[1000], wide[DYING_PREFIX_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		CHECK_STR(folded(known[i].path), known[i].kind);
	memset(longest, 'x', sizeof(longest));
	longest[0] = '/';
	longest[sizeof(longest) - 1] = 0;
	CHECK_EQ(strlen(folded(longest)), DYING_PREFIX_SIZE - 1);
	CHECK(dead_cgroups_fold_number("/a\\x2db/x86_64/task17/*-12", 0, wide));
	CHECK_STR(wide, "/a\\x2db/x*_64/task17/*-12");
	CHECK(dead_cgroups_fold_number("/a\\x2db/x86_64/task17/*-12", 3, wide));
	CHECK_STR(wide, "/a\\x2db/x86_64/task17/*-*");
	CHECK(!dead_cgroups_fold_number("/a\\x2db/x86_64/task17/*-12", 4, wide));
	memset(longest, '1', DYING_PREFIX_SIZE - 1);
	longest[DYING_PREFIX_SIZE - 1] = 0;
	CHECK(dead_cgroups_fold_number(longest, 0, wide));
	CHECK_STR(wide, "*");
}

static void make(struct dead_cgroups *dying, uint64_t id, const char *comm)
{
	CHECK_EQ(dead_cgroups_made(dying, &(struct dead_cgroups_key){ 4, id },
				   &(struct dying_process){ comm, 1000 + id }),
		 0);
}

static void kill_at(struct dead_cgroups *dying, uint64_t id, const char *path, uint64_t second)
{
	CHECK_EQ(dead_cgroups_removed(dying, &(struct dead_cgroups_key){ 4, id }, path,
				      &(struct dying_process){ "systemd", 1 }, second * SECOND_NS),
		 0);
}

static void bury(struct dead_cgroups *dying, uint64_t id, const char *path)
{
	dead_cgroups_gone(dying, &(struct dead_cgroups_key){ 4, id }, path);
}

static void test_life(void)
{
	struct dead_cgroups_sum sums[3];
	struct dead_cgroups *dying;

	CHECK_EQ(dead_cgroups_new(&dying), 0);
	for (uint64_t id = 1; id <= 10; id++)
		make(dying, id, id == 3 ? "sh" : "runc");
	CHECK_EQ(dead_cgroups_sums(dying, sums, 3), 0);
	for (uint64_t id = 1; id <= 7; id++)
		kill_at(dying, id, "/ecs/task-12/1", 100 + id);
	/*
	 * made before the recording, reported twice, or removed in another hierarchy with the same
	 * number
	 */
	kill_at(dying, 77, "/other", 50);
	kill_at(dying, 77, "/other", 60);
	CHECK_EQ(dead_cgroups_removed(dying, &(struct dead_cgroups_key){ 5, 77 }, "/other",
				      &(struct dying_process){ "", 0 }, SECOND_NS),
		 0);
	CHECK_EQ(dead_cgroups_sums(dying, sums, 3), 2);
	CHECK_STR(sums[0].prefix, "/ecs/task-*/*");
	CHECK_EQ(sums[0].count, 7);
	CHECK_EQ(sums[0].since_ns, 101 * SECOND_NS);
	CHECK_STR(sums[0].made_by.comm, "runc");
	CHECK_EQ(sums[0].made_by.pid, 1007);
	CHECK_STR(sums[0].removed_by.comm, "systemd");
	CHECK_EQ(sums[0].removed_by.pid, 1);
	CHECK_STR(sums[1].prefix, "/other");
	CHECK_EQ(sums[1].count, 2);
	CHECK_STR(sums[1].made_by.comm, "");
	bury(dying, 1, "/ecs/task-12/1");
	bury(dying, 1, "/ecs/task-12/1");
	bury(dying, 8, "/ecs/task-12/1"); /* never removed */
	bury(dying, 500, "/ecs/task-12/1"); /* never seen */
	CHECK_EQ(dead_cgroups_sums(dying, sums, 1), 2);
	CHECK_EQ(sums[0].count, 6);
	CHECK_EQ(sums[0].since_ns, 102 * SECOND_NS);
	/*
	 * its number now belongs to another cgroup, so the record of its release must have been
	 * lost
	 */
	make(dying, 2, "sh");
	CHECK_EQ(dead_cgroups_sums(dying, sums, 1), 2);
	CHECK_EQ(sums[0].count, 5);
	CHECK_EQ(sums[0].since_ns, 103 * SECOND_NS);
	kill_at(dying, 2, "/third", 200);
	CHECK_EQ(dead_cgroups_sums(dying, sums, 3), 3);
	CHECK_EQ(sums[0].count, 5);
	CHECK_STR(sums[2].prefix, "/third");
	CHECK_STR(sums[2].made_by.comm, "sh");
	dead_cgroups_free(dying);
}

/* Digits in a word are part of a name, until several names differ only in these digits. */
static void test_alike(void)
{
	struct dead_cgroups_sum sums[8];
	struct dead_cgroups *dying;
	char path[32];

	CHECK_EQ(dead_cgroups_new(&dying), 0);
	for (uint64_t id = 1; id <= 3; id++) {
		make(dying, id, id == 2 ? "sh" : "runc");
		snprintf(path, sizeof(path), "/g1/task%d", (int)id);
		kill_at(dying, id, path, 100 + id);
	}
	kill_at(dying, 50, "/leak/x86_64", 100);
	CHECK_EQ(dead_cgroups_sums(dying, sums, 8), 4);
	for (uint64_t id = 4; id <= 20; id++) {
		make(dying, id, "runc");
		snprintf(path, sizeof(path), "/g1/task%d", (int)id);
		kill_at(dying, id, path, 100 + id);
	}
	/* the same name at another place is another kind */
	for (uint64_t id = 60; id < 63; id++) {
		snprintf(path, sizeof(path), "/g2/task%d", (int)id);
		kill_at(dying, id, path, 100);
	}
	CHECK_EQ(dead_cgroups_sums(dying, sums, 8), 5);
	for (uint64_t id = 60; id < 63; id++)
		bury(dying, id, "/g2");
	CHECK_EQ(dead_cgroups_sums(dying, sums, 8), 2);
	CHECK_STR(sums[0].prefix, "/g1/task*");
	CHECK_EQ(sums[0].count, 20);
	CHECK_EQ(sums[0].since_ns, 101 * SECOND_NS);
	CHECK_STR(sums[0].made_by.comm, "runc");
	CHECK_STR(sums[1].prefix, "/leak/x86_64");
	for (uint64_t id = 1; id <= 20; id++)
		bury(dying, id, "/leak");
	CHECK_EQ(dead_cgroups_sums(dying, sums, 8), 1);
	dead_cgroups_free(dying);
}

/* If a name has more numbers than any real name, only its first numbers matter. */
static void test_numbers(void)
{
	struct dead_cgroups_sum sums[8];
	struct dead_cgroups *dying;
	char path[64];

	CHECK_EQ(dead_cgroups_new(&dying), 0);
	for (uint64_t id = 1; id <= 4; id++) {
		snprintf(path, sizeof(path), "/g1h1i1j1k1l1m1n%d", (int)id);
		kill_at(dying, id, path, 100);
		snprintf(path, sizeof(path), "/g1h1i1j1k1l1m1n1o%d", (int)id);
		kill_at(dying, 10 + id, path, 100);
	}
	CHECK_EQ(dead_cgroups_sums(dying, sums, 8), 5);
	CHECK_STR(sums[0].prefix, "/g1h1i1j1k1l1m1n*");
	CHECK_EQ(sums[0].count, 4);
	dead_cgroups_free(dying);
}

static const struct tape_gauge *gauge(const struct tape *tape, const char *name)
{
	for (size_t i = 0; i < tape->gauges.count; i++)
		if (strcmp(tape_string(tape, tape->gauges.items[i].name), name) == 0)
			return &tape->gauges.items[i];
	return NULL;
}

/*
 * After a few lost records, the count is uncertain. After many lost records, the count starts
 * again, and its gauges end without a 0.
 */
static void test_lost(void)
{
	const struct tape_gauge *count;
	struct dead_cgroups_sum sums[1];
	struct dead_cgroups *dying;
	struct tape *tape;

	CHECK_EQ(dead_cgroups_new(&dying), 0);
	CHECK_EQ(tape_new(&tape), 0);
	dead_cgroups_lost(dying, 7, 900 * SECOND_NS); /* cgroups that are not in the count yet */
	for (uint64_t id = 1; id <= 100; id++)
		kill_at(dying, id, "/leak", 1000);
	dead_cgroups_lost(dying, 10, 1005 * SECOND_NS);
	CHECK_EQ(dead_cgroups_sums(dying, sums, 1), 1);
	CHECK_EQ(dead_cgroups_give(dying, tape, 1010 * SECOND_NS), 0);
	CHECK_STR(dead_cgroups_text(dying),
		  "100 under /leak, the oldest for 10 s; 10 lost trace events may change that");
	CHECK_EQ(tape->events.count, 1);
	CHECK_STR(tape_event_field(tape, &tape->events.items[0], TAPE_DYING_UNSURE), "10");
	CHECK_STR(tape_event_field(tape, &tape->events.items[0], TAPE_DYING_COUNTED), "110");
	dead_cgroups_lost(dying, 1, 1015 * SECOND_NS);
	CHECK_EQ(dead_cgroups_sums(dying, sums, 1), 0);
	CHECK_EQ(dead_cgroups_give(dying, tape, 1020 * SECOND_NS), 0);
	CHECK_STR(dead_cgroups_text(dying),
		  "11 trace events were lost 5 s ago; older removals are not counted");
	count = gauge(tape, "dying-cgroups/leak");
	CHECK(count && count->count == 1);
	bury(dying, 1, "/leak"); /* cgroups of the count before */
	kill_at(dying, 500, "/leak", 1025);
	CHECK_EQ(dead_cgroups_give(dying, tape, 1030 * SECOND_NS), 0);
	CHECK_STR(dead_cgroups_text(dying),
		  "1 under /leak, the oldest for 5 s; 11 trace events were lost 15 s ago; "
		  "older removals are not counted");
	CHECK_STR(tape_event_field(tape, &tape->events.items[1], TAPE_DYING_COUNTED), "15");
	CHECK_EQ(gauge(tape, "dying-cgroups/leak")->count, 2);
	tape_free(tape);
	dead_cgroups_free(dying);
}

#define MANY 600

static const char *kind_path(uint64_t i)
{
	static char path[8];

	snprintf(path, sizeof(path), "/%c%c", (char)('a' + i / 26), (char)('a' + i % 26));
	return path;
}

static void kill_many_kinds(struct dead_cgroups *dying, uint64_t id)
{
	for (uint64_t i = 0; i < MANY; i++)
		kill_at(dying, id + i, kind_path(i), 1);
}

static void bury_many_kinds(struct dead_cgroups *dying, uint64_t id)
{
	for (uint64_t i = 0; i < MANY; i++)
		bury(dying, id + i, kind_path(i));
}

/*
 * Cgroups beyond the limit of memory are still counted, and the count decreases when they are
 * released.
 */
static void test_bounds(void)
{
	struct dead_cgroups_sum sums[2];
	struct dead_cgroups *dying;

	CHECK_EQ(dead_cgroups_new(&dying), 0);
	for (uint64_t id = 1; id <= DEAD_CGROUPS_MAX + 10; id++)
		kill_at(dying, id, "/leak", id);
	CHECK_EQ(dead_cgroups_sums(dying, sums, 2), 1);
	CHECK_EQ(sums[0].count, DEAD_CGROUPS_MAX + 10);
	/* memory for its kind is lacking, too */
	kill_many_kinds(dying, DEAD_CGROUPS_MAX + 100);
	CHECK_EQ(dead_cgroups_sums(dying, sums, 2), DEAD_CGROUPS_KINDS);
	bury_many_kinds(dying, DEAD_CGROUPS_MAX + 100);
	CHECK_EQ(dead_cgroups_sums(dying, sums, 2), 1);
	for (uint64_t id = 1; id <= DEAD_CGROUPS_MAX + 10; id++)
		bury(dying, id, "/leak");
	CHECK_EQ(dead_cgroups_sums(dying, sums, 2), 0);
	kill_many_kinds(dying, 0);
	CHECK_EQ(dead_cgroups_sums(dying, sums, 2), DEAD_CGROUPS_KINDS);
	CHECK_STR(sums[0].prefix, "/(others)");
	bury_many_kinds(dying, 0);
	CHECK_EQ(dead_cgroups_sums(dying, sums, 2), 0);
	dead_cgroups_free(dying);
}

/* Makes and releases cgroups, each by a process with another name. */
static void forget_names(struct dead_cgroups *dying, uint64_t id)
{
	char comm[16];

	for (uint64_t i = 0; i < 65536; i++) {
		snprintf(comm, sizeof(comm), "hostile-%u", (unsigned int)i);
		make(dying, id + i, comm);
		kill_at(dying, id + i, "/short", 1);
		bury(dying, id + i, "/short");
	}
}

/* Too many processes make cgroups, so names are forgotten. No cgroup gets the name of another. */
static void test_forgotten_names(void)
{
	struct dead_cgroups_sum sums[1];
	struct dead_cgroups *dying;

	CHECK_EQ(dead_cgroups_new(&dying), 0);
	make(dying, 1, "honest");
	forget_names(dying, 100);
	kill_at(dying, 1, "/leak", 1);
	CHECK_EQ(dead_cgroups_sums(dying, sums, 1), 1);
	CHECK_STR(sums[0].made_by.comm, "");
	dead_cgroups_free(dying);
}

static void test_give(void)
{
	const struct tape_gauge *count, *oldest;
	const struct tape_event *event;
	struct dead_cgroups *dying;
	struct tape *tape;

	CHECK_EQ(dead_cgroups_new(&dying), 0);
	CHECK_EQ(tape_new(&tape), 0);
	make(dying, 1, "runc");
	kill_at(dying, 1, "/ecs/1", 1000);
	CHECK_EQ(dead_cgroups_give(dying, tape, 1000 * SECOND_NS + 1), 0);
	CHECK_EQ(tape->gauges.count, 0); /* the kernel may still release it soon */
	CHECK_STR(dead_cgroups_text(dying), "");
	CHECK_EQ(dead_cgroups_give(dying, tape, 1005 * SECOND_NS), 0);
	CHECK_EQ(tape->gauges.count, 0);
	CHECK_EQ(dead_cgroups_give(dying, tape, 1070 * SECOND_NS), 0);
	CHECK_STR(dead_cgroups_text(dying),
		  "1 under /ecs/*, made by runc, the oldest for 1 min 10 s");
	bury(dying, 1, "/ecs/1");
	for (uint64_t second = 1080; second < 1200; second += 10)
		CHECK_EQ(dead_cgroups_give(dying, tape, second * SECOND_NS), 0);
	count = gauge(tape, "dying-cgroups/ecs/*");
	oldest = gauge(tape, "dying-cgroups/ecs/*/oldest_s");
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
	dead_cgroups_free(dying);
}

/* Each tape reports the makers of the cgroups from its begin on, and again when a maker changes. */
static void test_each_tape(void)
{
	struct tape *first, *second;
	struct dead_cgroups *dying;
	const struct tape_event *event;

	CHECK_EQ(dead_cgroups_new(&dying), 0);
	CHECK_EQ(tape_new(&first), 0);
	CHECK_EQ(tape_new(&second), 0);
	second->sequence = 1;
	make(dying, 1, "runc");
	kill_at(dying, 1, "/ecs/1", 1000);
	CHECK_EQ(dead_cgroups_give(dying, first, 1010 * SECOND_NS), 0);
	CHECK_EQ(dead_cgroups_give(dying, first, 1020 * SECOND_NS), 0);
	CHECK_EQ(first->events.count, 1);
	CHECK_EQ(dead_cgroups_give(dying, second, 1021 * SECOND_NS), 0);
	CHECK_EQ(second->events.count, 1);
	event = &second->events.items[0];
	CHECK_STR(tape_event_field(second, event, TAPE_DYING_MADE_BY), "runc");
	CHECK(tape_event_field(second, event, TAPE_DYING_MADE_BY_PID));
	CHECK(gauge(second, "dying-cgroups/ecs/*"));
	make(dying, 2, "agent");
	make(dying, 3, "agent");
	kill_at(dying, 2, "/ecs/2", 1022);
	CHECK_EQ(dead_cgroups_give(dying, second, 1031 * SECOND_NS), 0);
	CHECK_EQ(second->events.count, 2); /* doubled */
	kill_at(dying, 3, "/ecs/3", 1032);
	CHECK_EQ(dead_cgroups_give(dying, second, 1041 * SECOND_NS), 0);
	CHECK_EQ(second->events.count, 3); /* not doubled, but most are of another maker */
	event = &second->events.items[2];
	CHECK_STR(tape_event_field(second, event, TAPE_DYING_MADE_BY), "agent");
	tape_free(first);
	tape_free(second);
	dead_cgroups_free(dying);
}

/* The status shows what the last gauges say. */
static void test_told(void)
{
	const struct dead_cgroups_report *told;
	struct dead_cgroups *dying;
	struct tape *tape;
	char path[16];

	CHECK_EQ(dead_cgroups_new(&dying), 0);
	CHECK_EQ(tape_new(&tape), 0);
	CHECK_EQ(dead_cgroups_report(dying)->at_ns, 0);
	CHECK_EQ(dead_cgroups_give(dying, tape, 1000 * SECOND_NS), 0);
	told = dead_cgroups_report(dying);
	CHECK_EQ(told->at_ns, 1000 * SECOND_NS);
	CHECK_EQ(told->kinds, 0);
	for (uint64_t id = 1; id <= 3; id++) {
		make(dying, id, "runc");
		kill_at(dying, id, "/leak", 1000 + id);
	}
	for (int i = 0; i < DEAD_CGROUPS_REPORT_MAX; i++) {
		snprintf(path, sizeof(path), "/%c", 'a' + i);
		kill_at(dying, 100 + i, path, 1002);
	}
	kill_at(dying, 200, "/just-now", 1010);
	CHECK_EQ(dead_cgroups_give(dying, tape, 1010 * SECOND_NS), 0);
	CHECK_EQ(told->at_ns, 1010 * SECOND_NS);
	CHECK_EQ(told->since_ns, 1000 * SECOND_NS);
	CHECK_EQ(told->count, 3 + DEAD_CGROUPS_REPORT_MAX);
	CHECK_EQ(told->kinds, 1 + DEAD_CGROUPS_REPORT_MAX);
	CHECK_STR(told->sums[0].prefix, "/leak");
	CHECK_EQ(told->sums[0].count, 3);
	CHECK_EQ(told->sums[0].since_ns, 1001 * SECOND_NS);
	CHECK_EQ(told->sums[0].made_by.pid, 1003);
	CHECK_EQ(told->sums[1].count, 1);
	/* the status changes only with the next gauges */
	bury(dying, 1, "/leak");
	CHECK_EQ(dead_cgroups_give(dying, tape, 1015 * SECOND_NS), 0);
	CHECK_EQ(told->sums[0].count, 3);
	tape_free(tape);
	dead_cgroups_free(dying);
}

/*
 * The tape gets an event about a leak with the leak's first gauges, and again when the leak
 * doubles, otherwise once per minute.
 */
static void test_news(void)
{
	struct dead_cgroups *dying;
	struct tape *tape;

	CHECK_EQ(dead_cgroups_new(&dying), 0);
	CHECK_EQ(tape_new(&tape), 0);
	CHECK_EQ(dead_cgroups_give(dying, tape, 1000 * SECOND_NS), 0);
	for (uint64_t id = 1; id <= 3; id++)
		kill_at(dying, id, "/leak", 1001);
	CHECK_EQ(dead_cgroups_give(dying, tape, 1010 * SECOND_NS), 0);
	CHECK_EQ(tape->events.count, 1);
	kill_at(dying, 4, "/leak", 1011);
	CHECK_EQ(dead_cgroups_give(dying, tape, 1020 * SECOND_NS), 0);
	CHECK_EQ(tape->events.count, 1);
	for (uint64_t id = 5; id <= 6; id++)
		kill_at(dying, id, "/leak", 1021);
	CHECK_EQ(dead_cgroups_give(dying, tape, 1030 * SECOND_NS), 0);
	CHECK_EQ(tape->events.count, 2);
	CHECK_STR(tape_event_field(tape, &tape->events.items[1], TAPE_DYING_COUNT), "6");
	/* this leak ended, and another one started */
	for (uint64_t id = 1; id <= 6; id++)
		bury(dying, id, "/leak");
	CHECK_EQ(dead_cgroups_give(dying, tape, 1040 * SECOND_NS), 0);
	kill_at(dying, 7, "/leak", 1041);
	CHECK_EQ(dead_cgroups_give(dying, tape, 1050 * SECOND_NS), 0);
	CHECK_EQ(tape->events.count, 3);
	CHECK_EQ(dead_cgroups_give(dying, tape, 1100 * SECOND_NS), 0);
	CHECK_EQ(tape->events.count, 3);
	CHECK_EQ(dead_cgroups_give(dying, tape, 1110 * SECOND_NS), 0);
	CHECK_EQ(tape->events.count, 4);
	tape_free(tape);
	dead_cgroups_free(dying);
}

CHECK_MAIN({ "paths are folded to their kind", test_fold },
	   { "paths that differ in a number are of one kind", test_alike },
	   { "names that are all numbers cost no more than others", test_numbers },
	   { "lost records make the count uncertain or start it anew", test_lost },
	   { "a cgroup counts from rmdir to release, with the programs that made and removed most",
	     test_life },
	   { "memory is bounded, and the count stays right", test_bounds },
	   { "a forgotten maker has no name", test_forgotten_names },
	   { "the tape has gauges and an event", test_give },
	   { "a leak is named at once", test_news },
	   { "each tape tells the maker", test_each_tape },
	   { "the status agrees with the gauges", test_told })
