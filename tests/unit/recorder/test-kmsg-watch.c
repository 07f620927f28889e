// SPDX-License-Identifier: GPL-2.0-only
/* A socket that keeps records apart stands for /dev/kmsg. Only the test moves the clock. */
#include "tests/check.h"

#include "base/clock.h"
#include "store/disk/incident-notes.h"
#include "store/read/log-resume.h"
#define FAKE_CLOCK_RUNS_REALTIME
#define FAKE_CLOCK_WAITS
#include "tests/fake-clock.h"
#include "tests/watching.h"

static void test_incident(void)
{
	struct watching watching;
	const struct tape_incident *incident;

	init(&watching);
	start(&watching, false);
	log_line(&watching, 0, -5000, "eth0: link down");
	log_line(&watching, 1, 7000, STALL);
	log_line(&watching, 2, 7001, "eth0: link up");
	take_lines(&watching, 2);
	CHECK_EQ(watching.tape->incidents.count, 1);
	incident = &watching.tape->incidents.items[0];
	CHECK_STR(tape_string(watching.tape, incident->kind), "ena.tx_stall");
	CHECK_STR(tape_string(watching.tape, incident->text), STALL);
	CHECK_STR(tape_string(watching.tape, incident->source), "kmsg");
	CHECK_EQ(incident->severity, SEVERITY_CRIT);
	CHECK_EQ(incident->time_ns, BEGIN_NS + 7 * NSEC_PER_SEC);
	CHECK_EQ(incident->stall_ns, BEGIN_NS + 404 * NSEC_PER_MSEC);
	CHECK_STR(field_of(&watching, 0, "qid"), "5");
	CHECK_STR(field_of(&watching, 0, "bdf"), "0000:20:03.0");
	CHECK_STR(field_of(&watching, 0, TAPE_INCIDENT_ID), "1");
	CHECK_STR(text_of(&watching, 1), "eth0: link up");
	CHECK_EQ(watching.tape->lines.items[1].sequence, 2);
	CHECK_EQ(watching.tape->lines.items[1].priority, 3);
	stop(&watching, true);
	done(&watching);
}

static void write_file(const struct watching *watching, const char *name, const char *text)
{
	char command[512];

	snprintf(command, sizeof(command), "mkdir -p '%s/proc/irq/%s'; printf '%s' > '%s/proc/%s'",
		 watching->store.path, "31", text, watching->store.path, name);
	CHECK_EQ(system(command), 0);
}

/* A trace event and a line of the log about the same queue are one incident. */
static void test_said(void)
{
	static const char said[] = "net:net_dev_xmit_timeout: dev=eth0 driver=ena queue=5";
	static const char logged[] =
		"NETDEV WATCHDOG: eth0 (ena): transmit queue 5 timed out 5016 ms";
	const struct tape_incident *incident;
	struct watching watching;

	init(&watching);
	start(&watching, false);
	kmsg_watch_report(watching.watch, BEGIN_NS + 1000 * NSEC_PER_MSEC, said);
	kmsg_watch_report(watching.watch, BEGIN_NS + 1000 * NSEC_PER_MSEC, "whatever");
	take_incident(&watching);
	CHECK_EQ(watching.tape->incidents.count, 1);
	incident = &watching.tape->incidents.items[0];
	CHECK_STR(tape_string(watching.tape, incident->kind), "net.tx_watchdog");
	CHECK_STR(tape_string(watching.tape, incident->text), said);
	CHECK_STR(tape_string(watching.tape, incident->source), "trace");
	CHECK_EQ(incident->time_ns, BEGIN_NS + NSEC_PER_SEC);
	CHECK_STR(field_of(&watching, 0, "qid"), "5");
	CHECK_STR(field_of(&watching, 0, "ifname"), "eth0");
	/* the log's line about the same timeout, then a line about another timeout and its event */
	log_line(&watching, 1, 1001, logged);
	log_line(&watching, 2, 7000, logged);
	take_lines(&watching, 2);
	kmsg_watch_report(watching.watch, BEGIN_NS + 6999 * NSEC_PER_MSEC, said);
	stop(&watching, true);
	CHECK_EQ(watching.tape->lines.count, 2);
	CHECK_EQ(watching.tape->incidents.count, 2);
	CHECK_EQ(watching.tape->incidents.items[1].time_ns, BEGIN_NS + 7 * NSEC_PER_SEC);
	done(&watching);
}

/* The message names a queue. The table of interrupts says which CPU serves it. */
static void test_cpu(void)
{
	struct watching watching;

	init(&watching);
	write_file(&watching, "interrupts",
		   "           CPU0       CPU1\n"
		   " 30:   1   0  IR-PCI-MSI 81921-edge      ena-mgmnt@pci:0000:20:03.0\n"
		   " 31:   1   7  IR-PCI-MSI 81922-edge      eth0-Tx-Rx-5\n"
		   "NMI:   0   0  Non-maskable interrupts\n");
	write_file(&watching, "irq/31/effective_affinity_list", "12\n");
	watching.options.root = watching.store.path;
	start(&watching, false);
	log_line(&watching, 1, 7000, STALL);
	log_line(&watching, 2, 7000,
		 "ena 0000:20:03.0 eth0: TX q 6 is paused for too long "
		 "(threshold 5000000). Time since last napi 1 usec. napi "
		 "scheduled: 1");
	log_line(&watching, 3, 9000, "ena 0000:20:03.0 eth0: Trigger reset is on");
	take_lines(&watching, 3);
	write_file(&watching, "irq/31/effective_affinity_list", "3-7\n");
	CHECK_STR(field_of(&watching, 0, "queue_cpu"), "12");
	CHECK_STR(field_of(&watching, 1, "queue_cpu"), "");
	CHECK_STR(field_of(&watching, 2, "queue_cpu"), "");
	/* ten seconds later the table is read again; then the queue may have several CPUs */
	log_line(&watching, 4, 16999, STALL);
	watching.tape->end_ns += 120 * NSEC_PER_SEC;
	log_line(&watching, 5, 17000, STALL);
	take_lines(&watching, 5);
	CHECK_STR(field_of(&watching, 3, "queue_cpu"), "12");
	CHECK_STR(field_of(&watching, 4, "queue_cpu"), "");
	stop(&watching, true);
	done(&watching);
}

static void keep_named(void *context, uint32_t tid)
{
	_Atomic uint64_t *sum = context;

	*sum += tid;
}

/* The watch names the threads of this recording's incidents; an earlier number may be reused. */
static void test_named(void)
{
	struct watching watching;
	_Atomic uint64_t sum = 0;

	init(&watching);
	watching.options.named = keep_named;
	watching.options.named_context = (void *)&sum;
	start(&watching, false);
	log_line(&watching, 0, -5000,
		 "watchdog: BUG: soft lockup - CPU#3 stuck for 23s! [raylet:9]");
	log_line(&watching, 1, 100, STALL);
	log_line(&watching, 2, 110, "INFO: task raylet:4242 blocked for more than 120 seconds.");
	log_as(&watching, 11, 3, 115, "INFO: task raylet:7 blocked for more than 120 seconds.");
	log_line(&watching, 4, 120,
		 "watchdog: BUG: soft lockup - CPU#3 stuck for 23s! [kworker/3:1:5000]");
	WAIT_UNTIL(sum == 4242 + 5000);
	stop(&watching, true);
	CHECK_EQ(sum, 4242 + 5000);
	done(&watching);
}

static void test_users(void)
{
	struct watching watching;

	init(&watching);
	start(&watching, false);
	/* a line that a user wrote in the kernel's form is kept as a user's line */
	log_as(&watching, 11, 7, 100, STALL);
	log_as(&watching, 11, 8, 110, "hello");
	log_as(&watching, 43, 9, 120,
	       "perftape: 40 lines of the kernel's log were overwritten unread");
	log_as(&watching, 27, 10, 130, "systemd[1]: a.service: Failed with result 'exit-code'.");
	log_line(&watching, 11, 200, "eth0: link up");
	take_lines(&watching, 2);
	CHECK_EQ(watching.tape->lines.items[0].priority, 11);
	CHECK_STR(text_of(&watching, 0), STALL);
	CHECK_STR(text_of(&watching, 1), "eth0: link up");
	CHECK_EQ(watching.tape->incidents.count, 0);
	log_as(&watching, 11, 12, 300, "hello");
	stop(&watching, true);
	/* lines that were read before users were trusted are not read again */
	start(&watching, true);
	log_as(&watching, 11, 12, 300, "hello");
	log_as(&watching, 11, 13, 400, STALL);
	take_lines(&watching, 3);
	CHECK_EQ(watching.tape->incidents.count, 1);
	CHECK_EQ(watching.tape->lines.items[2].priority, 11);
	stop(&watching, true);
	done(&watching);
}

static void test_next_tape(void)
{
	struct watching watching;
	struct tape *before;

	init(&watching);
	start(&watching, false);
	log_line(&watching, 0, 9999, "in this one");
	log_line(&watching, 1, 10000, STALL);
	take_lines(&watching, 1);
	before = watching.tape;
	watching.tape = tapes_new(10, 20);
	take_lines(&watching, 1);
	CHECK_EQ(watching.tape->incidents.count, 1);
	CHECK_EQ(before->incidents.count, 0);
	tape_free(before);
	stop(&watching, true);
	done(&watching);
}

struct listed {
	size_t count;
	uint64_t ids[8];
	uint64_t time_ns, stall_ns, error_ns;
	char fields[256];
};

static int see(void *context, const struct store_incident *incident)
{
	struct listed *listed = context;

	CHECK_STR(incident->segment, "");
	CHECK_STR(incident->boot_id, BOOT);
	listed->ids[listed->count++] = incident->id;
	listed->time_ns = incident->time_ns;
	listed->stall_ns = incident->stall_ns;
	listed->error_ns = incident->error_ns;
	snprintf(listed->fields, sizeof(listed->fields), "%s", incident->fields);
	return 0;
}

static struct listed list(const struct watching *watching)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct listed listed = { 0 };

	CHECK_EQ(store_reader_open(watching->store.path, &reader, NULL), 0);
	CHECK_EQ(store_reader_incidents(reader, 0, UINT64_MAX, see, &listed, NULL), 0);
	return listed;
}

/* A line that was logged while no recorder ran becomes a note, once. */
static void test_late(void)
{
	struct watching watching;
	struct listed listed;

	init(&watching);
	start(&watching, false);
	log_line(&watching, 0, 100, "before");
	take_lines(&watching, 1);
	stop(&watching, true);
	tape_free(watching.tape);
	watching.tape = tapes_new(20, 30);
	watching.anchor.perf_ns += 20 * NSEC_PER_SEC;
	watching.anchor.realtime_ns += 20 * NSEC_PER_SEC;
	for (int restart = 0; restart < 2; restart++) {
		start(&watching, false);
		log_line(&watching, 0, 100, "before");
		log_line(&watching, 1, 10000, STALL);
		log_line(&watching, 2, 21000, "after");
		take_lines(&watching, 2);
		CHECK_EQ(watching.tape->incidents.count, 0);
		listed = list(&watching);
		CHECK_EQ(listed.count, 1);
		/* the recorder is killed: it writes no position, and its tape is lost */
		stop(&watching, false);
		watching.tape->lines.count = 0;
	}
	CHECK_EQ(listed.time_ns, TAPES_REALTIME + 10 * NSEC_PER_SEC);
	CHECK_EQ(listed.time_ns - listed.stall_ns, 6596 * NSEC_PER_MSEC);
	CHECK(listed.error_ns >= 900 && listed.error_ns < 100 * NSEC_PER_MSEC);
	CHECK(strstr(listed.fields, "qid=5\n"));
	done(&watching);
}

static uint64_t spool_and_read_position(struct watching *watching)
{
	struct log_position position = { .sequence = 0 };

	kmsg_watch_spooled(watching->watch, BEGIN_NS, BEGIN_NS);
	(void)log_position_read(watching->store.path, &position, NULL);
	return position.sequence;
}

/* A sealed tape contains lines after the position that the killed recorder wrote last. */
static void test_killed(void)
{
	struct store_writer *writer;
	struct watching watching;

	init(&watching);
	start(&watching, false);
	log_line(&watching, 5, -1, "before the begin");
	log_line(&watching, 6, 100, "one");
	take_lines(&watching, 1);
	/* the first position is written at once, the next one after ten seconds */
	WAIT_UNTIL(spool_and_read_position(&watching) == 6);
	log_line(&watching, 7, 200, STALL);
	take_lines(&watching, 2);
	stop(&watching, false);
	writer = open_writer(&watching);
	CHECK_EQ(store_writer_seal(writer, watching.tape, SEGMENT_HASTY, NULL, NULL), 0);
	store_writer_close(writer);
	tape_free(watching.tape);
	watching.tape = tapes_new(20, 30);
	start(&watching, false);
	log_line(&watching, 6, 100, "one");
	log_line(&watching, 7, 200, STALL);
	log_line(&watching, 8, 21000, STALL);
	take_lines(&watching, 1);
	CHECK_EQ(watching.tape->incidents.count, 1);
	CHECK_STR(field_of(&watching, 0, TAPE_INCIDENT_ID), "2");
	stop(&watching, true);
	done(&watching);
}

static void test_overrun(void)
{
	struct watching watching;

	init(&watching);
	start(&watching, false);
	log_line(&watching, 1, 100, "one");
	log_line(&watching, 42, 200, "forty-two");
	take_lines(&watching, 3);
	CHECK_STR(text_of(&watching, 1),
		  "perftape: 40 lines of the kernel's log were overwritten unread");
	CHECK_EQ(watching.tape->incidents.count, 1);
	CHECK_STR(tape_string(watching.tape, watching.tape->incidents.items[0].kind),
		  "kmsg.overrun");
	CHECK_STR(field_of(&watching, 0, "n"), "40");
	stop(&watching, true);
	done(&watching);
}

/*
 * From a flood of lines, the recorder keeps a limited number. It counts the other lines, which are
 * not incidents.
 */
static void test_flood(void)
{
	struct watching watching;
	unsigned long long passed = 0, incidents = 0, kept = 0;

	init(&watching);
	start(&watching, false);
	for (int i = 0; i < 20000; i++)
		log_line(&watching, i, 100 + i / 10, "noise");
	log_line(&watching, 20000, 2200, STALL);
	take_incident(&watching);
	stop(&watching, true);
	CHECK_EQ(watching.tape->incidents.count, 1);
	for (size_t i = 0; i < watching.tape->lines.count; i++) {
		unsigned long long lines, of_them;

		if (sscanf(text_of(&watching, i),
			   "perftape: %llu lines of the kernel's log dropped, %llu", &lines,
			   &of_them) == 2) {
			passed += lines;
			incidents += of_them;
		} else {
			kept++;
		}
	}
	CHECK_EQ(kept + passed, 20001);
	CHECK_EQ(incidents, 0);
	CHECK(kept > 3000 && kept < 3200);
	done(&watching);
}

/* The first recording finds all incidents since the boot, but keeps no other lines. */
static void test_first(void)
{
	struct watching watching;
	struct listed listed;

	init(&watching);
	for (int restart = 0; restart < 3; restart++) {
		start(&watching, false);
		log_line(&watching, 3, -50000, "eth0: link up");
		log_line(&watching, 4, -40000, STALL);
		log_as(&watching, 1 << 3, 5, -30000, STALL);
		log_line(&watching, 6, -20000, STALL);
		log_line(&watching, 7, -10000, "eth0: link up");
		log_line(&watching, 8, 1000, "after");
		/* killed with its tape: the second recorder reads the lines again, the third not */
		take_lines(&watching, restart < 2 ? 4 : 0);
		CHECK_EQ(watching.tape->incidents.count, 0);
		listed = list(&watching);
		CHECK_EQ(listed.count, 2);
		CHECK_EQ(listed.ids[0], 1);
		CHECK_EQ(listed.ids[1], 2);
		CHECK_EQ(listed.time_ns, TAPES_REALTIME - 20 * NSEC_PER_SEC);
		stop(&watching, restart == 1);
		watching.tape->lines.count = 0;
	}
	done(&watching);
}

/* If the file with the position is lost, lines that are in tapes are not added again. */
static void test_lost_position(void)
{
	struct store_writer *writer;
	struct log_resume found;
	struct watching watching;
	char file[128];

	init(&watching);
	snprintf(file, sizeof(file), "%s/kernel-log", watching.store.path);
	start(&watching, false);
	log_line(&watching, 8, 100, "the last");
	take_lines(&watching, 1);
	stop(&watching, false);
	writer = open_writer(&watching);
	CHECK_EQ(store_writer_seal(writer, watching.tape, SEGMENT_HASTY, NULL, NULL), 0);
	store_writer_close(writer);
	CHECK(unlink(file) == 0 || errno == ENOENT);
	CHECK_EQ(log_resume_find(watching.store.path, BOOT, &found, NULL), 0);
	CHECK_STR(found.position.boot_id, BOOT);
	CHECK_EQ(found.position.sequence, 8);
	CHECK_EQ(found.position.stamp_ns, BEGIN_NS + 100 * NSEC_PER_MSEC);
	log_resume_done(&found);
	done(&watching);
}

/* After another boot all lines are new, also those that were logged before the recording. */
static void test_other_boot(void)
{
	struct watching watching;

	init(&watching);
	CHECK_EQ(log_position_keep(watching.store.path,
				   &(struct log_position){ "99999999-8888-7777-6666-555555555555",
							   7000, 8, 1, 1 },
				   NULL),
		 0);
	start(&watching, false);
	log_line(&watching, 0, -500000, STALL);
	log_line(&watching, 1, 100, STALL);
	take_lines(&watching, 2);
	CHECK_EQ(watching.tape->incidents.count, 1);
	CHECK_EQ(list(&watching).count, 1);
	stop(&watching, true);
	done(&watching);
}

/* Records that are not valid do not end the thread. */
static void test_rubbish(void)
{
	struct watching watching;

	init(&watching);
	start(&watching, false);
	for (int i = 0; i < 10; i++)
		CHECK(send(watching.log, "7,x;\n" + i / 3, 5 - i / 3, 0) > 0);
	log_line(&watching, 1, 100, "one");
	take_lines(&watching, 1);
	stop(&watching, true);
	done(&watching);
}

/* Blocks the thread that reports an incident until a byte comes. */
static void hang(void *context)
{
	const int *pipe = context;
	char byte;

	CHECK_EQ(read(*pipe, &byte, 1), 1);
}

/* Lines that the thread read before it hung are added to the tape. */
static void test_hangs(void)
{
	struct watching watching;
	uint64_t begin_ns;
	int ends[2];

	init(&watching);
	CHECK_EQ(pipe(ends), 0);
	watching.options.found = hang;
	watching.options.context = &ends[0];
	start(&watching, false);
	log_line(&watching, 0, 100, STALL);
	take_lines(&watching, 1);
	begin_ns = clock_ns(CLOCK_MONOTONIC);
	fake_clock->waits_pass = true;
	CHECK_EQ(kmsg_watch_stop(watching.watch, 50 * NSEC_PER_MSEC), -ETIMEDOUT);
	fake_clock->waits_pass = false;
	CHECK_EQ(clock_ns(CLOCK_MONOTONIC) - begin_ns, 50 * NSEC_PER_MSEC);
	take(&watching);
	CHECK_EQ(write(ends[1], "x", 1), 1);
	stop(&watching, true);
	CHECK_EQ(watching.tape->incidents.count, 1);
	close(ends[0]);
	close(ends[1]);
	done(&watching);
}

CHECK_MAIN({ "an incident has its stall", test_incident },
	   { "the CPU of a queue is found", test_cpu },
	   { "the watch names the threads of incidents", test_named },
	   { "a trace event and its line are one incident", test_said },
	   { "lines of users count only if they are trusted", test_users },
	   { "a line of the next tape waits", test_next_tape },
	   { "incidents that were logged while nobody recorded become notes", test_late },
	   { "lines that a killed recorder took are not taken twice", test_killed },
	   { "overwritten lines are reported", test_overrun },
	   { "a flood is bounded and counted", test_flood },
	   { "a lost position is found in the tapes", test_lost_position },
	   { "the first recording takes earlier incidents", test_first },
	   { "another boot starts anew", test_other_boot },
	   { "records that are not valid are skipped", test_rubbish },
	   { "a thread that hangs keeps no lines", test_hangs })
