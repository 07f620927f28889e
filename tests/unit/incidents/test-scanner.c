// SPDX-License-Identifier: GPL-2.0-only
/*
 * Facts that need more than one line of a log. Zones are POSIX TZ strings, so the tests do not need
 * zone files.
 */
#include "tests/scans.h"

#include <time.h>

#include "incidents/logs/episode.h"

#define BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"
#define RESET "ena 0000:20:03.0 eth0: Trigger reset is on"
#define HUNG "INFO: task a:1 blocked for more than 120 seconds."

/* Returns the times of all findings, in order. */
static const char *times(const struct found_list *found)
{
	static char shown[1024];
	size_t used = 0;

	*shown = 0;
	for (size_t i = 0; i < found->list.count; i++)
		used += snprintf(shown + used, sizeof(shown) - used, "%s%s", i ? " " : "",
				 *found->list.items[i].time ? found->list.items[i].time : "-");
	return shown;
}

static const char *times_of(const char *text, uint64_t end_ns, bool utc)
{
	struct found_list found = { 0 };
	struct log_clock_options clock = { .end_ns = end_ns, .utc = utc };
	const char *shown;

	scan_pieces(text, strlen(text), 1 << 20, &clock, false, &found);
	shown = times(&found);
	found_done(&found);
	return shown;
}

static void test_new_year(void)
{
	CHECK_STR(times_of("Dec 31 23:59:59 h kernel: " RESET "\nJan  1 00:00:01 h kernel: " RESET
			   "\nJan  1 00:00:02 h kernel: " RESET "\n",
			   SCAN_END_NS, true),
		  "2025-12-31T23:59:59.000000Z 2026-01-01T00:00:01.000000Z "
		  "2026-01-01T00:00:02.000000Z");
	/* the log ended before the new year */
	CHECK_STR(times_of("Dec 30 23:59:59 h kernel: " RESET "\nDec 31 00:00:01 h kernel: " RESET
			   "\n",
			   SCAN_END_NS, true),
		  "2025-12-30T23:59:59.000000Z 2025-12-31T00:00:01.000000Z");
	/* a late line, and a line that is a day in the future because another clock stamped it */
	CHECK_STR(times_of("Jan  1 00:00:01 h kernel: " RESET "\nDec 31 23:59:59 h kernel: " RESET
			   "\nJan  2 12:00:00 h kernel: " RESET "\n",
			   SCAN_END_NS, true),
		  "2026-01-01T00:00:01.000000Z 2025-12-31T23:59:59.000000Z "
		  "2026-01-02T12:00:00.000000Z");
	/* only leap years have this day */
	CHECK_STR(times_of("Feb 29 12:00:00 h kernel: " RESET "\n", SCAN_END_NS, true),
		  "2024-02-29T12:00:00.000000Z");
}

/* dmesg stamps of each weekday: two of the weekdays begin like the ID of a caller. */
static void test_weekdays(void)
{
	static const char *const days[] = { "Sun Mar  9", "Mon Mar 10", "Tue Mar 11", "Wed Mar 12",
					    "Thu Mar 13", "Fri Mar 14", "Sat Mar 15" };

	for (int i = 0; i < 7; i++) {
		char line[128], expected[64];

		snprintf(line, sizeof(line), "[%s 07:41:09 2025] " RESET "\n", days[i]);
		snprintf(expected, sizeof(expected), "2025-03-%02dT07:41:09.000000Z", 9 + i);
		CHECK_STR(times_of(line, SCAN_END_NS, true), expected);
	}
	CHECK_STR(times_of("[Thu Mar 13 07:41:09 2025] [T12] " RESET "\n", SCAN_END_NS, true),
		  "2025-03-13T07:41:09.000000Z");
}

/* Checks the error of each time, in seconds. */
static void check_errors(const char *text, const uint64_t *seconds, size_t count)
{
	struct found_list found = { 0 };
	struct log_clock_options clock = { .end_ns = SCAN_END_NS };

	scan_pieces(text, strlen(text), 1 << 20, &clock, false, &found);
	CHECK_EQ(found.list.count, count);
	for (size_t i = 0; i < count; i++)
		CHECK_EQ(found.list.items[i].error_ns / NSEC_PER_SEC, seconds[i]);
	found_done(&found);
}

static void test_daylight_saving(void)
{
	setenv("TZ", BERLIN, 1);
	tzset();
	/*
	 * a single line may be of either hour; a line before or after it decides if time would
	 * otherwise go back or too far forward
	 */
	check_errors("Oct 26 02:30:00 h kernel: " RESET "\nOct 26 02:59:59 h kernel: " RESET
		     "\nOct 26 02:00:01 h kernel: " RESET "\nOct 26 03:00:00 h kernel: " RESET "\n",
		     (const uint64_t[]){ 3602, 3602, 2, 2 }, 4);
	check_errors("Oct 26 02:10:00 h kernel: [1000.000000] " RESET
		     "\nOct 26 02:10:10 h kernel: [1010.000000] " RESET
		     "\nOct 26 02:20:00 h kernel: [5200.000000] " RESET "\n",
		     (const uint64_t[]){ 3602, 3602, 2 }, 3);
	check_errors("Oct 26 01:50:00 h kernel: [1000.000000] " RESET
		     "\nOct 26 02:10:00 h kernel: [2200.000000] " RESET "\n",
		     (const uint64_t[]){ 2, 2 }, 2);
	/* 2025-10-26: 02:00:00 CET follows 02:59:59 CEST */
	CHECK_STR(times_of("Oct 26 02:30:00 h kernel: " RESET "\nOct 26 02:59:59 h kernel: " RESET
			   "\nOct 26 02:00:01 h kernel: " RESET "\nOct 26 02:30:00 h kernel: " RESET
			   "\nOct 26 03:00:00 h kernel: " RESET "\n",
			   SCAN_END_NS, false),
		  "2025-10-26T00:30:00.000000Z 2025-10-26T00:59:59.000000Z "
		  "2025-10-26T01:00:01.000000Z 2025-10-26T01:30:00.000000Z "
		  "2025-10-26T02:00:00.000000Z");
	/* the uptime decides if the order of lines does not */
	CHECK_STR(times_of("Oct 26 02:10:00 h kernel: [1000.000000] " RESET
			   "\nOct 26 02:20:00 h kernel: [5200.000000] " RESET "\n",
			   SCAN_END_NS, false),
		  "2025-10-26T00:10:00.000000Z 2025-10-26T01:20:00.000000Z");
	/* in spring this hour does not exist */
	CHECK_STR(times_of("Mar 30 01:59:59 h kernel: " RESET "\nMar 30 03:00:01 h kernel: " RESET
			   "\n",
			   SCAN_END_NS, false),
		  "2025-03-30T00:59:59.000000Z 2025-03-30T01:00:01.000000Z");
	setenv("TZ", "UTC", 1);
	tzset();
}

/* Three lines whose stamps span 68 s. A logger that got no CPU wrote them within one second. */
static void test_late_logger(void)
{
	CHECK_STR(times_of("Jul 12 15:00:00 h kernel: [20073527.500000] eth0: link up\n"
			   "Jul 12 15:12:04 h kernel: [20074184.939111] " RESET
			   "\nJul 12 15:12:04 h kernel: [20074251.939111] " RESET "\n",
			   SCAN_END_NS, true),
		  "2025-07-12T15:10:58.004854Z 2025-07-12T15:12:04.000000Z");
}

static void test_boots(void)
{
	struct found_list found = { 0 };
	struct log_clock_options clock = {
		.end_ns = SCAN_END_NS, .utc = true, .has_boot = true, .boot_ns = 1741765000000000000
	};
	const char *text = "[  100.000000] " RESET
			   "\n[    0.000000] Linux version 6.1\n[    9.000000] " RESET "\n";

	scan_pieces(text, strlen(text), 1 << 20, &clock, false, &found);
	CHECK_EQ(found.list.count, 2);
	CHECK_EQ(found.list.items[0].boot, 0);
	CHECK_EQ(found.list.items[1].boot, 1);
	CHECK_STR(found.list.items[0].time, "2025-03-12T07:38:20.000000Z");
	found_done(&found);
	found = (struct found_list){ 0 };
	scan("-- Boot 2f1b03c3e2104787adb361b0dfd671fc --\n[    5.000000] h kernel: " RESET "\n",
	     &found);
	CHECK_EQ(found.list.count, 1);
	CHECK_STR(found.list.items[0].boot_id, "2f1b03c3e2104787adb361b0dfd671fc");
	CHECK_STR(found.list.items[0].time, "");
	found_done(&found);
}

static void test_stall(void)
{
	struct found_list found = { 0 };

	scan("[1371911.339996] ena 0000:20:03.0 eth0: TX q 5 is paused for too long (threshold "
	     "5000000). Time since last napi 6596000 usec. napi scheduled: 1\n"
	     "[1371911.339996] ena 0000:20:03.0 eth0: Keep alive watchdog timeout.\n"
	     "[1371911.339996] " RESET "\n",
	     &found);
	CHECK_EQ(found.list.count, 3);
	CHECK_EQ(found.list.items[0].stall_ns, 6596000000);
	CHECK_EQ(found.list.items[1].stall_ns, 6000000000);
	CHECK(!found.list.items[2].has_stall);
	CHECK_STR(found.list.items[0].device, "0000:20:03.0");
	found_done(&found);
}

/*
 * Version 2.17.0 prints the arguments in the wrong order. The preceding line shows whether this
 * driver does so.
 */
static void test_swapped(void)
{
#define LOST                                                                                     \
	"ena 0000:20:03.0 eth0: [1/2] Lost TX completions are above threshold (129 > 128), "     \
	"completion timeout: 5000 (msec), 10080 msecs since interrupt, 10084 msecs since napi, " \
	"qid: 5\n"
	struct found_list found = { 0 };

	scan(LOST "ena 0000:20:03.0 eth0: [2/2] qid: 12, napi CPU: 5\n" LOST
		  "ena 0000:20:03.0 eth0: [2/2] qid: 5, napi CPU: 12\n"
		  "ena 0000:20:04.0 eth1: [2/2] qid: 5, napi CPU: 12\n",
	     &found);
	CHECK_EQ(found.list.count, 5);
	CHECK_STR(found.list.items[0].kind, "ena.tx_lost");
	CHECK(strstr(found.list.items[0].fields, " qid=5 "));
	CHECK_STR(found.list.items[1].fields, " bdf=0000:20:03.0 ifname=eth0 cpu=12 qid=5 ");
	CHECK_STR(found.list.items[3].fields, " bdf=0000:20:03.0 ifname=eth0 qid=5 cpu=12 ");
	CHECK_STR(found.list.items[4].fields, " bdf=0000:20:04.0 ifname=eth1 cpu=5 qid=12 ");
	found_done(&found);
}

static void test_forged(void)
{
	static const char *const rows[] = {
		"12,1,1000000,-;" HUNG,
		"<14>Mar 12 07:41:09 h kernel: " HUNG,
		"user  :err   : [   12.345678] " HUNG,
		"{\"_TRANSPORT\":\"stdout\",\"SYSLOG_IDENTIFIER\":\"kernel\",\"MESSAGE\":\"" HUNG
		"\"}",
		"{\"_TRANSPORT\":\"kernel\",\"SYSLOG_FACILITY\":\"1\",\"MESSAGE\":\"" HUNG "\"}",
		"Wed Mar 12 07:41:09 2025 user.err kernel: [   12.345678] " HUNG,
	};
	struct log_clock_options clock = { .end_ns = SCAN_END_NS, .utc = true };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct found_list found = { 0 };

		scan(rows[i], &found);
		if (found.list.count || found.summary.forged != 1)
			CHECK_FAIL("%s is taken", rows[i]);
		scan_pieces(rows[i], strlen(rows[i]), 1 << 20, &clock, true, &found);
		if (found.list.count != 1)
			CHECK_FAIL("%s is not taken where users are trusted", rows[i]);
		found_done(&found);
	}
}

/*
 * A user may name a folder after a kernel message, with newlines around it, and the kernel quotes
 * the folder. Each log shows the lines of such a message in its own way.
 */
static void test_continued(void)
{
	static const char *const rows[] = {
		"3,374,754272691,-;overlayfs: failed to resolve '/x\\x0a" HUNG "\\x0a': -2\n",
		"[  754.272691] overlayfs: failed to resolve '/x\n               " HUNG
		"\n               ': -2\n",
		"Mar 12 07:41:09 h kernel: overlayfs: failed to resolve '/x\n"
		"                          " HUNG "\n                          ': -2\n",
		"{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":\"overlayfs: failed to resolve "
		"'/x\\n" HUNG "\\n': -2\"}\n",
		"{\"dmesg\":[{\"pri\":3,\"time\":754.272691,\"msg\":\"overlayfs: failed to resolve "
		"'/x\\n" HUNG "\\n': -2\"}]}\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct found_list found = { 0 };

		scan(rows[i], &found);
		if (found.list.count && !found.list.items[0].quoted)
			CHECK_FAIL("%s is not marked as quoted", rows[i]);
		found_done(&found);
	}
}

/* A line in which another program quotes a kernel message is not an incident. */
static void test_others(void)
{
	static const char *const rows[] = {
		"Mar 12 07:41:09 h kubelet[12]: event: Memory cgroup out of memory: Killed process "
		"1 (x) "
		"total-vm:1kB, anon-rss:1kB, file-rss:0kB",
		"Mar 12 07:41:09 h myapp: " HUNG,
		"Mar 12 07:41:09 h kernel: Command line: panic=1 hung_task_panic=1",
		"Mar 12 07:41:09 h kernel: ena 0000:00:05.0: ENA device version: 0.10",
		"Mar 12 07:41:09 h sudo: root : COMMAND=/bin/grep BUG: soft lockup - CPU#1",
		"{\"_TRANSPORT\":\"syslog\",\"SYSLOG_IDENTIFIER\":\"myapp\",\"MESSAGE\":\"" HUNG
		"\"}",
		"[    1.000000] qla2xxx 0000:05:00.0: Device reset failed",
		"[    1.000000] ixgbe 0000:05:00.0 eth0: Resetting the device",
		"systemd[1]: Stopped target kernel panic - not syncing",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct found_list found = { 0 };

		scan(rows[i], &found);
		if (found.list.count || found.summary.forged)
			CHECK_FAIL("%s is %s", rows[i],
				   found.list.count ? found.list.items[0].kind : "forged");
		found_done(&found);
	}
}

/* A page or a terminal wrapped the line into two. */
static void test_wrapped(void)
{
	struct found_list found = { 0 };

	scan("ena 0000:20:03.0 eth0: TX q 5 is paused for too long (threshold 5000000).\n"
	     "Time since last napi 6596000 usec. napi scheduled: 1\n"
	     "[  131.671062] INFO: task a:1 blocked for more than\n"
	     "[  131.671063] eth0: link up\n",
	     &found);
	CHECK_EQ(found.list.count, 2);
	CHECK(strstr(found.list.items[0].fields, " napi_us=6596000 sched=1 "));
	CHECK_EQ(found.list.items[0].line_number, 1);
	CHECK_STR(found.list.items[1].fields, " comm=a pid=1 ");
	CHECK_EQ(found.list.items[1].line_number, 3);
	found_done(&found);
}

/* A log of several forms gives the same findings in pieces of any size. */
static void test_pieces(void)
{
	static const char text[] =
		"[    1.000000] " RESET "\n{\n\t\"MESSAGE\" : \"" RESET "\",\n\t\"_TRANSPORT\" : "
		"\"kernel\"\n}\n{\"MESSAGE\":\"" RESET "\"}\nMar 12 07:41:09 h kernel: " RESET
		"\n__REALTIME_TIMESTAMP=1741765269341207\nMESSAGE=" RESET
		"\n\n{\"MESSAGE\":\"" RESET;
	struct log_clock_options clock = { .end_ns = SCAN_END_NS, .utc = true };

	for (size_t piece = 1; piece < sizeof(text); piece++) {
		struct found_list found = { 0 };

		scan_pieces(text, strlen(text), piece, &clock, false, &found);
		if (found.list.count != 6)
			CHECK_FAIL("%zu in pieces of %zu", found.list.count, piece);
		found_done(&found);
	}
}

static void keep_episode(void *context, const struct incident *incident)
{
	CHECK_EQ(episodes_add(context, incident, NULL), 0);
}

/* A night of resets is one row; other incidents stay separate rows. */
static void test_storm(void)
{
	_cleanup_(cleanup_scanner) struct scanner *scanner = NULL;
	struct episodes episodes = { 0 };
	struct scanner_options options = { .catalogue = scan_catalogue(),
					   .clock = { .end_ns = SCAN_END_NS, .utc = true },
					   .give = keep_episode,
					   .context = &episodes };
	struct scan_summary summary;
	char text[512];

	CHECK_EQ(scanner_new(&options, &scanner), 0);
	for (int i = 0; i < 9467; i++) {
		snprintf(text, sizeof(text),
			 "[%d.000000] ena 0000:00:05.0 ens5: Keep alive watchdog timeout.\n"
			 "[%d.002000] ena 0000:00:05.0 ens5: Trigger reset is on\n"
			 "[%d.003000] ena 0000:00:05.0 ens5: wd_expired: %d\n"
			 "[%d.500000] ena 0000:00:05.0: Device reset completed successfully\n",
			 1000 + 9 * i, 1000 + 9 * i, 1000 + 9 * i, i, 1000 + 9 * i);
		CHECK_EQ(scanner_feed(scanner, text, strlen(text)), 0);
		if (i == 100)
			CHECK_EQ(scanner_feed(scanner, "[1900.600000] " HUNG "\n",
					      strlen(HUNG) + 16),
				 0);
	}
	CHECK_EQ(scanner_finish(scanner, &summary), 0);
	CHECK_EQ(summary.incidents, 4 * 9467 + 1);
	CHECK_EQ(episodes.list.count, 2);
	CHECK_EQ(episodes.list.items[0].resets, 9467);
	CHECK_STR(episodes.list.items[0].kind->name, "ena.keepalive");
	CHECK_STR(episodes.list.items[0].device, "0000:00:05.0");
	CHECK_STR(episodes.list.items[0].ifname, "ens5");
	CHECK_EQ(episodes.list.items[0].start_uptime_ns, 994 * NSEC_PER_SEC);
	CHECK_STR(episodes.list.items[1].kind->name, "task.hung");
	episodes_done(&episodes);
}

/*
 * An out-of-memory kill names the process that was killed, not the one that requested memory. The
 * notices around the kill are not incidents.
 */
static void test_kill(void)
{
	static const char log[] =
		"[10.000001] asker invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, "
		"oom_score_adj=0\n"
		"[10.000002] "
		"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"
		"oom_memcg=/x,task_memcg=/x,task=victim,pid=7,uid=0\n"
		"[10.000003] Memory cgroup out of memory: Killed process 7 (victim) total-vm:1kB, "
		"anon-rss:1kB, file-rss:1kB, shmem-rss:0kB\n"
		"[10.000004] Memory cgroup out of memory: Killed process 8 (other) total-vm:1kB, "
		"anon-rss:1kB, file-rss:1kB, shmem-rss:0kB\n";
	_cleanup_(cleanup_scanner) struct scanner *scanner = NULL;
	struct episodes episodes = { 0 };
	struct scanner_options options = { .catalogue = scan_catalogue(),
					   .clock = { .end_ns = SCAN_END_NS, .utc = true },
					   .give = keep_episode,
					   .context = &episodes };
	struct scan_summary summary;

	CHECK_EQ(scanner_new(&options, &scanner), 0);
	CHECK_EQ(scanner_feed(scanner, log, strlen(log)), 0);
	CHECK_EQ(scanner_finish(scanner, &summary), 0);
	CHECK_EQ(episodes.list.count, 1);
	CHECK_EQ(episodes.list.items[0].incidents, 4);
	CHECK_STR(episodes.list.items[0].kind->name, "oom.kill");
	CHECK_STR(episodes.list.items[0].comm, "victim");
	episodes_done(&episodes);
}

/* If a zone is not clear, the time is unknown: the local zone is never used instead. */
static void test_zones(void)
{
	static const char *const rows[][2] = {
		{ "Mar 12 07:41:09 UTC", "2025-03-12T07:41:09.000000Z" },
		{ "Mar 12 2025 07:41:09 UTC", "2025-03-12T07:41:09.000000Z" },
		{ "Mar 12 07:41:09 CET", "2025-03-12T06:41:09.000000Z" },
		{ "Wed 2025-03-12 07:41:09 CEST", "2025-03-12T05:41:09.000000Z" },
		{ "Wed Mar 12 07:41:09 MSK 2025", "2025-03-12T04:41:09.000000Z" },
		{ "2025-03-12 07:41:09 JST", "2025-03-11T22:41:09.000000Z" },
		{ "Wed, 12 Mar 2025 07:41:09 +0100", "2025-03-12T06:41:09.000000Z" },
		{ "12 Mar 2025 07:41:09.250 GMT", "2025-03-12T07:41:09.250000Z" },
		{ "Mar 12, 2025 7:41:09 AM UTC", "2025-03-12T07:41:09.000000Z" },
		{ "Mar 12, 2025, 7:41:09 PM UTC", "2025-03-12T19:41:09.000000Z" },
		{ "Mar 12, 2025 12:41:09 AM UTC", "2025-03-12T00:41:09.000000Z" },
		{ "2025-03-12 07:41:09 PM", "2025-03-12T18:41:09.000000Z" },
		{ "Mar 12 07:41:09 PST", "-" },
		{ "Mar 12 2025 07:41:09 PST", "-" },
		{ "Mar 12, 2025 7:41:09 AM PST", "-" },
		{ "Wed Mar 12 07:41:09 IST 2025", "-" },
		{ "Wed Mar 12 07:41:09 XYZ 2025", "-" },
		{ "Wed 2025-03-12 07:41:09 CST", "-" },
		{ "Wed 2025-03-12 07:41:09 XYZ", "-" },
		{ "2025-03-12T07:41:09 EST", "-" },
		{ "12/Mar/2025:07:41:09 BST", "-" },
		{ "Wed, 12 Mar 2025 07:41:09 EDT", "-" },
		/* a shipper's stamp shows which zone it is */
		{ "2025-03-12T15:41:10Z stdout F Mar 12 07:41:09 PST",
		  "2025-03-12T15:41:09.000000Z" },
		{ "2025-03-11T23:41:10Z stdout F Mar 12 07:41:09 PST",
		  "2025-03-11T23:41:09.000000Z" },
		/* words for levels and hosts are not zones */
		{ "2025-03-12T07:41:09Z ERROR", "2025-03-12T07:41:09.000000Z" },
		{ "2025-03-12 07:41:09 INFO", "2025-03-12T06:41:09.000000Z" },
		{ "Mar 12 07:41:09 NAS", "2025-03-12T06:41:09.000000Z" },
		{ "Mar 12 07:41:09 PST-1", "2025-03-12T06:41:09.000000Z" },
	};

	setenv("TZ", BERLIN, 1);
	tzset();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char line[200];

		snprintf(line, sizeof(line), "%s h kernel: " RESET "\n", rows[i][0]);
		printf("# %s\n", rows[i][0]);
		CHECK_STR(times_of(line, SCAN_END_NS, false), rows[i][1]);
	}
	/* the kernel's own stamp counts without a zone */
	CHECK_STR(times_of("Mar 12 07:41:09 UTC h kernel: [  100.000000] " RESET
			   "\nMar 12 07:41:19 PST h kernel: [  110.000000] " RESET "\n",
			   SCAN_END_NS, false),
		  "2025-03-12T07:41:09.000000Z 2025-03-12T07:41:19.000000Z");
	/* "PM:" begins a message */
	CHECK_STR(times_of("[Wed Mar 12 07:41:09 2025] PM: " RESET "\n", SCAN_END_NS, true),
		  "2025-03-12T07:41:09.000000Z");
}

CHECK_MAIN({ "zones and halves of the day", test_zones },
	   { "the year of stamps without a year", test_new_year },
	   { "stamps with a weekday", test_weekdays },
	   { "the hour that occurs twice in autumn", test_daylight_saving },
	   { "a logger that wrote late", test_late_logger },
	   { "several boots in one log", test_boots }, { "the length of a stall", test_stall },
	   { "the swapped arguments of ENA 2.17.0", test_swapped },
	   { "users cannot forge the kernel's lines", test_forged },
	   { "nor with newlines in names that the kernel quotes", test_continued },
	   { "lines of other programs are not incidents", test_others },
	   { "lines that were wrapped or truncated", test_wrapped },
	   { "pieces of any size give the same", test_pieces },
	   { "a storm is one row", test_storm }, { "a kill names the killed process", test_kill })
