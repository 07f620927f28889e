// SPDX-License-Identifier: GPL-2.0-only
/* Audits of hosts whose kernel log reports crashes. The host of put_usual() has run for 5000 s. */
#include "audit/crashes.h"
#include "tests/audits.h"

/* A line of the log, except for the pid in it. */
struct form {
	const char *before, *after;
};

/* Puts a log of `count` crashes of a program, `step_s` seconds apart, the last one at `last_s`. */
static void put_log(const struct tree *tree, const struct form *form, int count, double step_s,
		    double last_s)
{
	_cleanup_(buffer_done) struct buffer log = { 0 };

	for (int i = 0; i < count; i++) {
		buffer_printf(&log, "4,%d,%.0f,-;", 100 + i,
			      (last_s - step_s * (count - 1 - i)) * 1e6);
		buffer_printf(&log, "%s%d%s\n SUBSYSTEM=cpu\n", form->before, 2000 + i,
			      form->after);
	}
	buffer_u8(&log, 0);
	CHECK(!buffer_failed(&log));
	tree_put(tree, "/dev/kmsg", (const char *)log.data);
}

static const struct form segfault = {
	"worker[", "]: segfault at 0 ip 000055de29a82132 sp 00007ffc error 6 in "
		   "worker[1132,55de29a82000+1000] likely on CPU 0 (core 0, socket 0)"
};

/*
 * A shell starts the program twice per second. The program belongs neither to a unit nor to a
 * container.
 */
static void test_loop(void)
{
	_cleanup_(audits_done) struct audits audits;
	const struct finding *finding;

	audits_init(&audits);
	put_usual(&audits.tree);
	audits.passes = time_passes;
	put_log(&audits.tree, &segfault, 12, 0.5, 4999.9);
	audits_expect(&audits, "crash_looping_programs");
	finding = audits_find(&audits, "crash_looping_programs");
	CHECK_STR((char *)finding->title.data, "worker crashes again and again");
	CHECK_STR((char *)finding->lines.data,
		  "worker: 10 within 5.0 s, at least 12 in the last hour, the last one just now: "
		  "pid 2011, segfault at 0 ip 000055de29a82132 sp 00007ffc error 6 in "
		  "worker[1132,55de29a82000+1000]");
	CHECK(strstr((char *)finding->numbers.data,
		     "\"program\":\"worker\",\"crashes_now\":10,\"crashes_last_hour\":12,"
		     "\"last_crash_s\":0,\"pid\":2011,"));
	CHECK(strstr((char *)finding->confirm.data, "grep -F -B1 worker"));
}

/*
 * Crashes in each form that the kernel prints count. A slower loop of crashes counts too, unless it
 * has ended.
 */
static void test_forms(void)
{
	static const struct {
		struct form form;
		int count;
		double step_s, last_s;
		bool found;
	} logs[] = {
		{ { "traps: my app[", "] general protection fault ip:1 sp:2 error:0 in a[3+4]" },
		  6,
		  60,
		  4990,
		  true },
		{ { "traps: app[", "] trap invalid opcode ip:1 sp:2 error:0 in a[3+4]" },
		  6,
		  60,
		  4990,
		  true },
		{ { "app[", "]: unhandled level 1 translation fault (11) at 0x0, esr 0x92000005" },
		  6,
		  60,
		  4990,
		  true },
		{ { "app[", "]: segfault (11) at 0 nip 1 lr 2 code 1" }, 6, 60, 4990, true },
		/* five crashes in an hour, and six of which the last was long ago */
		{ { "worker[", "]: segfault at 0 ip 0" }, 5, 60, 4990, false },
		{ { "worker[", "]: segfault at 0 ip 0" }, 6, 60, 4390, false },
		{ { "worker[", "]: segfault at 0 ip 0" }, 7, 800, 4990, false },
		/* other lines */
		{ { "app[", "]: starts" }, 6, 60, 4990, false },
		{ { "segfault at 0 ip ", "" }, 6, 60, 4990, false },
		{ { "[", "]: segfault at 0 ip 0" }, 6, 60, 4990, false },
		{ { "app[x", "]: segfault at 0 ip 0" }, 6, 60, 4990, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(logs); i++) {
		_cleanup_(audits_done) struct audits audits;

		audits_init(&audits);
		put_usual(&audits.tree);
		audits.passes = time_passes;
		put_log(&audits.tree, &logs[i].form, logs[i].count, logs[i].step_s, logs[i].last_s);
		audits_expect(&audits, logs[i].found ? "crash_looping_programs" : NULL);
	}
}

/* Lines that a user wrote into the log, and lines that no kernel writes, do not count. */
static void test_not_the_kernel(void)
{
	static const char *const records[] = {
		"12,7,4999000000,-;app[7]: segfault at 0 ip 0\n",
		"4,7,4999000000,-,app[7]: segfault at 0 ip 0\n",
		"4,7;app[7]: segfault at 0 ip 0\n",
		/* later than the present time */
		"4,7,5999000000,-;app[7]: segfault at 0 ip 0\n",
		"\n",
	};
	struct crashes crashes = { .now_ns = 5000 * NSEC_PER_SEC };

	for (size_t i = 0; i < ARRAY_SIZE(records); i++)
		CHECK_EQ(crashes_take(&crashes, records[i], strlen(records[i])), 0);
	CHECK_EQ(crashes.list.count, 0);
	CHECK_EQ(crashes_take(&crashes, "4,7,4999000000,-;a[7]: segfault at 0", 36), 0);
	CHECK_EQ(crashes.list.count, 1);
	crashes_done(&crashes);
}

/* The audit names a log that cannot be read. */
static void test_no_log(void)
{
	_cleanup_(audits_done) struct audits audits;
	char path[128];

	audits_init(&audits);
	put_usual(&audits.tree);
	audits.passes = time_passes;
	snprintf(path, sizeof(path), "%s/dev/kmsg", audits.tree.root);
	CHECK_EQ(unlink(path), 0);
	audits_expect(&audits, NULL);
	CHECK(strstr(audits_line(&audits), "crashes (/dev/kmsg is not in the copy)"));
}

CHECK_MAIN({ "a program that crashes twice per second is a finding", test_loop },
	   { "each form of crash counts, and slow loops do", test_forms },
	   { "only the kernel's own lines count", test_not_the_kernel },
	   { "a log that cannot be read is named", test_no_log })
