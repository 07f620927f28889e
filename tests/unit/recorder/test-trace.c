// SPDX-License-Identifier: GPL-2.0-only
/* Trace events, from the kernel's formats and bytes to the tape. */
#include "tests/check.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "recorder/trace/trace-decode.h"
#include "recorder/trace/trace.h"
#include "tape/tape-events.h"

#define COMMON                                                                         \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

#define EVENT(name, id, fields)                               \
	"name: " name "\nID: " id "\nformat:\n" COMMON fields \
	"\nprint fmt: \"%s\", nothing_like_c(REC->\n"

#define CGROUP_FIELDS                                          \
	"\tfield:int root;\toffset:8;\tsize:4;\tsigned:1;\n"   \
	"\tfield:int level;\toffset:12;\tsize:4;\tsigned:1;\n" \
	"\tfield:u64 id;\toffset:16;\tsize:8;\tsigned:0;\n"    \
	"\tfield:__data_loc char[] path;\toffset:24;\tsize:4;\tsigned:0;\n"

static struct trace_format *parsed(const char *text)
{
	struct trace_format *format;

	CHECK_EQ(trace_format_parse("some", text, strlen(text), &format), 0);
	return format;
}

static int put_text(void *context, const char *name, const char *value, size_t size)
{
	buffer_printf(context, "%s=%.*s;", name, (int)size, value);
	return 0;
}

static const char *decoded(const char *text, const void *data, size_t size)
{
	static char shown[1000];
	struct trace_format *format = parsed(text);
	struct trace_raw raw = { data, size };
	struct buffer out = { 0 };
	int r = trace_decode(format, &raw, put_text, &out);

	snprintf(shown, sizeof(shown), "%.*s", (int)out.size, (char *)out.data);
	if (r < 0)
		snprintf(shown, sizeof(shown), "%d", r);
	buffer_done(&out);
	trace_format_free(format);
	return shown;
}

static void test_numbers(void)
{
	static const char text[] =
		EVENT("n", "7",
		      "\tfield:short a;\toffset:8;\tsize:2;\tsigned:1;\n"
		      "\tfield:unsigned short b;\toffset:8;\tsize:2;\tsigned:0;\n"
		      "\tfield:bool c;\toffset:10;\tsize:1;\tsigned:0;\n"
		      "\tfield:long d;\toffset:16;\tsize:8;\tsigned:1;\n"
		      "\tfield:void * e;\toffset:24;\tsize:8;\tsigned:0;\n"
		      "\tfield:u32 f[2];\toffset:32;\tsize:8;\tsigned:0;\n"
		      "\tfield:u8 g[3];\toffset:40;\tsize:3;\tsigned:0;\n"
		      "\tfield:struct x h;\toffset:44;\tsize:3;\tsigned:0;\n");
	uint8_t raw[48] = { 7,		 0,	   [8] = 0xfe, 0xff,	 1,	      [16] = 0x85,
			    [24] = 0xef, 0xbe,	   [32] = 1,   [36] = 2, [40] = 0xde, 0xad,
			    0x01,	 [44] = 1, 2,	       3 };

	memset(raw + 17, 0xff, 7);
	CHECK_STR(decoded(text, raw, sizeof(raw)),
		  "a=-2;b=65534;c=1;d=-123;e=0xbeef;f=1,2;g=dead01;h=010203;");
	CHECK_STR(decoded(text, raw, 46), "-74");
	CHECK_STR(decoded(text, raw, 0), "-74");
}

static void test_texts(void)
{
	static const char text[] =
		EVENT("t", "9",
		      "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
		      "\tfield:__data_loc char[] path;\toffset:24;\tsize:4;\tsigned:0;\n"
		      "\tfield:__rel_loc char[] rel;\toffset:28;\tsize:4;\tsigned:0;\n"
		      "\tfield:__data_loc u16[] list;\toffset:32;\tsize:4;\tsigned:0;\n");
	uint8_t raw[64] = { 9,	 0,   [8] = 's',  'h', 0,	 'x', [24] = 36,  0,
			    4,	 0,   [28] = 8,	  0,   6,	 0,   [32] = 46,  0,
			    4,	 0,   [36] = '/', 'a', 'b',	 0,   [40] = 'w', 'h',
			    'o', 'l', 'e',	  '!', [46] = 5, 0,   6,	  0 };

	CHECK_STR(decoded(text, raw, sizeof(raw)), "comm=sh;path=/ab;rel=whole!;list=5,6;");
	/* an offset beyond the end */
	raw[24] = 62;
	CHECK_STR(decoded(text, raw, sizeof(raw)), "-74");
	raw[24] = 60;
	CHECK_STR(decoded(text, raw, sizeof(raw)), "comm=sh;path=;rel=whole!;list=5,6;");
}

static void check_refused(const char *text)
{
	struct trace_format *format;

	CHECK_EQ(trace_format_parse("some", text, strlen(text), &format), -EBADMSG);
}

static void test_absurd(void)
{
	check_refused("");
	check_refused("print fmt:");
	check_refused("name: x\nID: 5\n");
	check_refused("name: x\nID: 5\nformat:\nprint fmt: \"\"\n");
	check_refused(EVENT("x", "0", CGROUP_FIELDS));
	check_refused(EVENT("x", "70000", CGROUP_FIELDS));
	check_refused(EVENT("x", "5", "\tfield:int a;\toffset:-8;\tsize:4;\tsigned:1;\n"));
	check_refused(EVENT("x", "5", "\tfield:int a;\toffset:8;\tsize:4000000;\tsigned:1;\n"));
	check_refused(
		EVENT("x", "5", "\tfield:__data_loc char[] a;\toffset:8;\tsize:2;\tsigned:0;\n"));
}

/* --- from the set of events to the tape */

static char root[64];

static void put_format(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/sys/kernel/debug/tracing/events/%s", root, name);
	CHECK_EQ(file_make_dirs(path, 0700), 0);
	strcat(path, "/format");
	file = fopen(path, "w");
	CHECK(file);
	fputs(text, file);
	fclose(file);
}

#define EXEC_FIELDS                                                            \
	"\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n" \
	"\tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;\n"

static void make_root(void)
{
	snprintf(root, sizeof(root), "/tmp/perftape-trace-XXXXXX");
	CHECK(mkdtemp(root));
	put_format("cgroup/cgroup_mkdir", EVENT("cgroup_mkdir", "544", CGROUP_FIELDS));
	put_format("cgroup/cgroup_rmdir", EVENT("cgroup_rmdir", "545", CGROUP_FIELDS));
	put_format("cgroup/cgroup_release", EVENT("cgroup_release", "546", CGROUP_FIELDS));
	/* the format before 6.8 */
	put_format("oom/mark_victim", EVENT("mark_victim", "600",
					    "\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n"));
	put_format("sched/sched_process_exec", EVENT("sched_process_exec", "365", EXEC_FIELDS));
	put_format("sched/odd", "name: odd\n");
	put_format("net/net_dev_xmit_timeout",
		   EVENT("net_dev_xmit_timeout", "700",
			 "\tfield:__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;\n"
			 "\tfield:__data_loc char[] driver;\toffset:12;\tsize:4;\tsigned:0;\n"
			 "\tfield:int queue_index;\toffset:16;\tsize:4;\tsigned:1;\n"));
}

static void remove_root(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	CHECK_EQ(system(command), 0);
}

static void test_set(void)
{
	_cleanup_(buffer_done) struct buffer missing = { 0 };
	struct trace_set *set;
	struct error error = { 0 };
	char command[256];

	CHECK(trace_set_check("a:b"));
	CHECK(trace_set_check("sched:sched_switch,some-module:some_event"));
	CHECK(!trace_set_check("") && !trace_set_check("a") && !trace_set_check("a:b,") &&
	      !trace_set_check("a:") && !trace_set_check("../a:b") && !trace_set_check("a:b c"));
	make_root();
	CHECK_EQ(trace_set_open(root, "sched:sched_process_exec", &set, &missing, &error), 0);
	CHECK_EQ(missing.size, 0);
	CHECK_EQ(set->always.count, 6);
	CHECK_EQ(set->asked.count, 0);
	CHECK(trace_set_find(set, 365)->asked);
	CHECK(!trace_set_find(set, 1));
	trace_set_close(set);
	CHECK_EQ(trace_set_open(root, "sched:sched_nothing", &set, &missing, &error), -ENOENT);
	CHECK(strstr(error.text, "no trace event 'sched:sched_nothing'"));
	CHECK_EQ(trace_set_open(root, "sched:odd", &set, &missing, &error), -EBADMSG);
	snprintf(command, sizeof(command), "rm -rf '%s/sys/kernel/debug/tracing/events/oom'", root);
	CHECK_EQ(system(command), 0);
	CHECK_EQ(trace_set_open(root, NULL, &set, &missing, &error), 0);
	CHECK_EQ(set->always.count, 5);
	trace_set_close(set);
	buffer_u8(&missing, 0);
	CHECK_STR((char *)missing.data, "oom:mark_victim");
	missing.size = 0;
	remove_root();
	CHECK_EQ(trace_set_open(root, NULL, &set, &missing, &error), 0);
	CHECK_EQ(set->events.count, 0);
	trace_set_close(set);
	buffer_u8(&missing, 0);
	CHECK_STR((char *)missing.data, "tracefs");
	CHECK_EQ(trace_set_open(root, "a:b", &set, &missing, &error), -ENOENT);
	CHECK(strstr(error.text, "mount -t tracefs"));
}

struct stage {
	struct trace_set *set;
	struct trace *trace;
	struct tracker tracker;
	struct tape_builder builder;
	struct tape *tape;
	struct losses losses;
	char line[200];
	uint64_t line_ns;
};

static void take_timeout(void *context, uint64_t time_ns, const char *line)
{
	struct stage *stage = context;

	stage->line_ns = time_ns;
	snprintf(stage->line, sizeof(stage->line), "%s", line);
}

static void begin(struct stage *stage, const char *asked)
{
	_cleanup_(buffer_done) struct buffer missing = { 0 };
	struct trace_options options = { .timeout = take_timeout, .context = stage };

	memset(stage, 0, sizeof(*stage));
	make_root();
	CHECK_EQ(trace_set_open(root, asked, &stage->set, &missing, NULL), 0);
	remove_root();
	options.set = stage->set;
	CHECK_EQ(trace_new(&options, &stage->trace), 0);
	CHECK_EQ(tracker_init(&stage->tracker), 0);
	tape_builder_init(&stage->builder, &stage->tracker);
	CHECK_EQ(tape_new(&stage->tape), 0);
	stage->tape->begin_ns = 1000 * NSEC_PER_SEC;
	stage->tape->end_ns = 1120 * NSEC_PER_SEC;
	tape_builder_start(&stage->builder, stage->tape);
	CHECK_EQ(tracker_apply(&stage->tracker,
			       &(struct perf_record){
				       .type = PERF_TYPE_COMM,
				       .comm = { .pid = 77, .tid = 78, .comm = "runc" },
			       }),
		 0);
}

static void end(struct stage *stage)
{
	trace_free(stage->trace);
	trace_set_close(stage->set);
	tape_builder_done(&stage->builder);
	tracker_done(&stage->tracker);
	tape_free(stage->tape);
	losses_done(&stage->losses);
}

static int take(struct stage *stage, const void *raw, size_t size, uint64_t time_ns)
{
	struct perf_record record = {
		.type = PERF_TYPE_SAMPLE,
		.time_ns = time_ns,
		.cpu = 3,
		.pid = 77,
		.tid = 78,
		.sample = { .raw = raw, .raw_size = size },
	};

	return trace_take(stage->trace, &record, &stage->builder);
}

static void cgroup(struct stage *stage, uint16_t id, uint64_t number, uint64_t second)
{
	struct buffer raw = { 0 };

	buffer_u16(&raw, id);
	buffer_bytes(&raw, "\0\0\1\0\0", 6);
	buffer_u32(&raw, 4);
	buffer_u32(&raw, 2);
	buffer_u64(&raw, number);
	buffer_u32(&raw, 28 | 11 << 16);
	buffer_bytes(&raw, "/ecs/task1", 11);
	CHECK_EQ(take(stage, raw.data, raw.size, second * NSEC_PER_SEC), 0);
	buffer_done(&raw);
}

static int run(struct stage *stage, const char *path, uint64_t time_ns)
{
	struct buffer raw = { 0 };
	int r;

	buffer_u64(&raw, 365);
	buffer_u32(&raw, 16 | (strlen(path) + 1) << 16);
	buffer_u32(&raw, 77);
	buffer_bytes(&raw, path, strlen(path) + 1);
	r = take(stage, raw.data, raw.size, time_ns);
	buffer_done(&raw);
	return r;
}

static const struct tape_event *event_at(const struct stage *stage, size_t i)
{
	CHECK(i < stage->tape->events.count);
	return &stage->tape->events.items[i];
}

static const char *field(const struct stage *stage, size_t event, const char *name)
{
	return tape_event_field(stage->tape, event_at(stage, event), name);
}

static const char *name_at(const struct stage *stage, size_t i)
{
	return tape_string(stage->tape, event_at(stage, i)->name);
}

static void test_cgroups(void)
{
	const struct tape_thread *thread;
	struct stage stage;

	begin(&stage, NULL);
	cgroup(&stage, 544, 9, 1001);
	cgroup(&stage, 545, 9, 1002);
	CHECK_EQ(stage.tape->events.count, 2);
	CHECK_STR(name_at(&stage, 0), "cgroup:cgroup_mkdir");
	CHECK_STR(field(&stage, 0, "path"), "/ecs/task1");
	CHECK_STR(field(&stage, 1, "id"), "9");
	CHECK_EQ(event_at(&stage, 1)->cpu, 3);
	thread = &stage.tape->threads.items[event_at(&stage, 1)->thread];
	CHECK_EQ(thread->pid, 77);
	CHECK_STR(tape_string(stage.tape, thread->comm), "runc");
	CHECK_EQ(trace_give(stage.trace, stage.tape, &stage.losses, 1070 * NSEC_PER_SEC, false), 0);
	CHECK_STR(name_at(&stage, 2), TAPE_EVENT_DYING);
	CHECK_STR(field(&stage, 2, TAPE_DYING_MADE_BY), "runc");
	CHECK_STR(field(&stage, 2, TAPE_DYING_OLDEST), "67");
	CHECK(strstr(dead_cgroups_text(trace_dying(stage.trace)),
		     "1 under /ecs/task1, made by runc"));
	cgroup(&stage, 546, 9, 1075);
	CHECK_EQ(trace_give(stage.trace, stage.tape, &stage.losses, 1080 * NSEC_PER_SEC, false), 0);
	CHECK_STR(dead_cgroups_text(trace_dying(stage.trace)), "");
	CHECK_EQ(stage.losses.list.count, 0);
	end(&stage);
}

static void test_storm(void)
{
	struct stage stage;

	begin(&stage, "sched:sched_process_exec");
	for (int i = 0; i < 3 * TRACE_KEPT_A_SECOND; i++)
		CHECK_EQ(run(&stage, "/bin/true", 1001 * NSEC_PER_SEC + i * 1000), 0);
	CHECK_EQ(run(&stage, "/bin/true", 1002 * NSEC_PER_SEC), 0);
	CHECK_EQ(stage.tape->events.count, TRACE_KEPT_A_SECOND + 1);
	CHECK_EQ(trace_give(stage.trace, stage.tape, &stage.losses, 1003 * NSEC_PER_SEC, true), 0);
	CHECK_EQ(stage.losses.counts.lost_events, 2 * TRACE_KEPT_A_SECOND);
	CHECK_EQ(stage.losses.list.items[0].kind, TAPE_LOSS_EVENTS);
	CHECK_EQ(stage.losses.list.items[0].from_ns,
		 1001 * NSEC_PER_SEC + TRACE_KEPT_A_SECOND * 1000);
	CHECK_STR(field(&stage, TRACE_KEPT_A_SECOND + 1, TAPE_EVENT_COUNT), "1000");
	CHECK_STR(field(&stage, TRACE_KEPT_A_SECOND + 2, TAPE_EVENT_COUNT), "1501");
	end(&stage);
}

static void test_execs(void)
{
	char path[32];
	struct stage stage;

	begin(&stage, NULL);
	for (int i = 0; i < TRACE_PATHS_MAX + 10; i++) {
		snprintf(path, sizeof(path), "/bin/%d", i);
		CHECK_EQ(run(&stage, path, 1001 * NSEC_PER_SEC), 0);
	}
	CHECK_EQ(run(&stage, "/bin/7", 1002 * NSEC_PER_SEC), 0);
	CHECK_EQ(trace_give(stage.trace, stage.tape, &stage.losses, 1060 * NSEC_PER_SEC, false), 0);
	CHECK_EQ(stage.tape->events.count, 0);
	CHECK_EQ(trace_give(stage.trace, stage.tape, &stage.losses, 1062 * NSEC_PER_SEC, false), 0);
	CHECK_EQ(stage.tape->events.count, 1);
	CHECK_STR(field(&stage, 0, TAPE_EVENT_COUNT), "267");
	CHECK_STR(field(&stage, 0, TAPE_EVENT_SINCE), "60999999999");
	CHECK_STR(field(&stage, 0, "/bin/7"), "2");
	CHECK_STR(field(&stage, 0, "/bin/255"), "1");
	CHECK_STR(field(&stage, 0, TAPE_EVENT_OTHERS), "10");
	CHECK_EQ(trace_give(stage.trace, stage.tape, &stage.losses, 1119 * NSEC_PER_SEC, true), 0);
	CHECK_EQ(stage.tape->events.count, 1);
	CHECK_EQ(stage.losses.list.count, 0);
	end(&stage);
}

static void test_others(void)
{
	static const uint8_t victim[] = { 0x58, 2, 0, 0, 0, 0, 0, 0, 77, 0, 0, 0 };
	static const char timeout[] = "\xbc\2\0\0\0\0\0\0\x14\0\5\0\x19\0\4\0\5\0\0\0eth0\0ena";
	struct stage stage;

	begin(&stage, NULL);
	CHECK_EQ(take(&stage, victim, sizeof(victim), 1001 * NSEC_PER_SEC), 0);
	CHECK_STR(name_at(&stage, 0), "oom:mark_victim");
	CHECK_STR(field(&stage, 0, "pid"), "77");
	CHECK_STR(field(&stage, 0, "comm"), ":77");
	CHECK_EQ(take(&stage, timeout, sizeof(timeout), 1002 * NSEC_PER_SEC), 0);
	CHECK_STR(stage.line, "net:net_dev_xmit_timeout: dev=eth0 driver=ena queue=5");
	CHECK_EQ(stage.line_ns, 1002 * NSEC_PER_SEC);
	CHECK_STR(field(&stage, 1, "driver"), "ena");
	/* bytes that are not of such events, or too few bytes */
	CHECK_EQ(take(&stage, "\1\1\1\1", 4, 1003 * NSEC_PER_SEC), -EBADMSG);
	CHECK_EQ(take(&stage, victim, 10, 1003 * NSEC_PER_SEC), -EBADMSG);
	CHECK_EQ(take(&stage, timeout, 22, 1003 * NSEC_PER_SEC), -EBADMSG);
	CHECK_EQ(take(&stage, NULL, 0, 1003 * NSEC_PER_SEC), -EBADMSG);
	CHECK_EQ(stage.tape->events.count, 2);
	end(&stage);
}

CHECK_MAIN({ "numbers, addresses and arrays are shown", test_numbers },
	   { "texts are shown wherever they are", test_texts },
	   { "a text that is not a format is refused", test_absurd },
	   { "the set of events follows tracefs", test_set },
	   { "cgroups that are made and that die", test_cgroups },
	   { "a storm is bounded and counted", test_storm },
	   { "started programs are counted by path", test_execs },
	   { "victims, timeouts, and damaged events", test_others })
