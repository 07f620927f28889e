// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's log while it is recorded: a socket that keeps the borders of records stands for
 * /dev/kmsg. */
#include "tests/check.h"

#include <sys/socket.h>

#include "base/clock.h"
#include "recorder/kmsg/kmsg-watch.h"
#include "store/disk/incident-notes.h"
#include "store/read/log-resume.h"
#include "tests/tapes.h"

#define BOOT "11111111-2222-3333-4444-555555555555"
#define BEGIN_NS TAPES_PERF
#define STALL                                                                                   \
	"ena 0000:20:03.0 eth0: TX q 5 is paused for too long (threshold 5000000). Time since " \
	"last napi 6596000 usec. napi scheduled: 1"

struct watching {
	struct tapes_store store;
	struct catalogue *catalogue;
	struct kmsg_options options;
	struct kmsg_watch *watch;
	struct tape_anchor anchor;
	struct tape *tape;
	/* the kernel's end */
	int log;
};

static struct store_writer *open_writer(const struct watching *watching)
{
	struct store_writer *writer = NULL;

	CHECK_EQ(store_writer_open(watching->store.path, &writer, NULL), 0);
	return writer;
}

/* The store and a tape of ten seconds from the begin on. */
static void init(struct watching *watching)
{
	*watching = (struct watching){ 0 };
	tapes_store_init(&watching->store);
	store_writer_close(open_writer(watching));
	CHECK_EQ(catalogue_new(NULL, &watching->catalogue, NULL), 0);
	watching->tape = tapes_new(0, 10);
	watching->anchor = watching->tape->anchors.items[0];
	watching->log = -1;
}

static void start(struct watching *watching, bool trust)
{
	int ends[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
	watching->log = ends[0];
	watching->options = (struct kmsg_options){
		.root = watching->options.root,
		.found = watching->options.found,
		.context = watching->options.context,
		.catalogue = watching->catalogue,
		.store = watching->store.path,
		.boot_id = BOOT,
		.trust_users = trust,
		.fd = ends[1],
	};
	CHECK_EQ(kmsg_watch_start(&watching->options, BEGIN_NS, &watching->watch), 0);
}

/* A record at so many milliseconds after the begin. */
static void log_as(const struct watching *watching, unsigned int priority, unsigned int sequence,
		   int ms, const char *text)
{
	char record[512];
	int size = snprintf(record, sizeof(record), "%u,%u,%llu,-;%s\n", priority, sequence,
			    (unsigned long long)(BEGIN_NS / 1000 + ms * 1000), text);

	while (send(watching->log, record, size, MSG_NOSIGNAL) < 0)
		usleep(1000);
}

static void log_line(const struct watching *watching, unsigned int sequence, int ms,
		     const char *text)
{
	log_as(watching, 3, sequence, ms, text);
}

static void take(struct watching *watching)
{
	CHECK_EQ(kmsg_watch_take(watching->watch, watching->tape, &watching->anchor), 0);
}

/* Until it is all taken, or for ten seconds. */
static void take_lines(struct watching *watching, size_t count)
{
	for (int i = 0; i < 10000 && watching->tape->lines.count < count; i++) {
		take(watching);
		usleep(1000);
	}
	CHECK_EQ(watching->tape->lines.count, count);
}

static void stop(struct watching *watching, bool sealed)
{
	CHECK_EQ(kmsg_watch_stop(watching->watch, 60 * NSEC_PER_SEC), 0);
	take(watching);
	watching->watch = kmsg_watch_close(watching->watch, sealed);
	close(watching->log);
	close(watching->options.fd);
}

static void done(struct watching *watching)
{
	tape_free(watching->tape);
	catalogue_free(watching->catalogue);
	tapes_store_done(&watching->store);
}

static const char *text_of(const struct watching *watching, size_t line)
{
	return tape_string(watching->tape, watching->tape->lines.items[line].text);
}

static const char *field_of(const struct watching *watching, size_t number, const char *name)
{
	const struct tape *tape = watching->tape;
	const struct tape_fields *fields = &tape->incidents.items[number].fields;

	for (uint32_t i = fields->first; i < fields->first + fields->count; i++)
		if (strcmp(tape_string(tape, tape->fields.items[i].key), name) == 0)
			return tape_string(tape, tape->fields.items[i].value);
	return "";
}

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

/* A queue that did not send is told by a trace event too, or by that alone. Once is enough. */
static void test_said(void)
{
	static const char said[] = "net:net_dev_xmit_timeout: dev=eth0 driver=ena queue=5";
	static const char logged[] =
		"NETDEV WATCHDOG: eth0 (ena): transmit queue 5 timed out 5016 ms";
	const struct tape_incident *incident;
	struct watching watching;

	init(&watching);
	start(&watching, false);
	kmsg_watch_say(watching.watch, BEGIN_NS + 1000 * NSEC_PER_MSEC, said);
	kmsg_watch_say(watching.watch, BEGIN_NS + 1000 * NSEC_PER_MSEC, "whatever");
	for (int i = 0; i < 10000 && !watching.tape->incidents.count; i++) {
		take(&watching);
		usleep(1000);
	}
	CHECK_EQ(watching.tape->incidents.count, 1);
	incident = &watching.tape->incidents.items[0];
	CHECK_STR(tape_string(watching.tape, incident->kind), "net.tx_watchdog");
	CHECK_STR(tape_string(watching.tape, incident->text), said);
	CHECK_STR(tape_string(watching.tape, incident->source), "trace");
	CHECK_EQ(incident->time_ns, BEGIN_NS + NSEC_PER_SEC);
	CHECK_STR(field_of(&watching, 0, "qid"), "5");
	CHECK_STR(field_of(&watching, 0, "ifname"), "eth0");
	/* the log's line of the same, and of another; and of that one the event */
	log_line(&watching, 1, 1001, logged);
	log_line(&watching, 2, 7000, logged);
	take_lines(&watching, 2);
	kmsg_watch_say(watching.watch, BEGIN_NS + 6999 * NSEC_PER_MSEC, said);
	stop(&watching, true);
	CHECK_EQ(watching.tape->lines.count, 2);
	CHECK_EQ(watching.tape->incidents.count, 2);
	CHECK_EQ(watching.tape->incidents.items[1].time_ns, BEGIN_NS + 7 * NSEC_PER_SEC);
	done(&watching);
}

/* The message names a queue: whose CPU that is, the table of interrupts says. */
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
	/* ten seconds later it is looked up again, and may be on several */
	log_line(&watching, 4, 16999, STALL);
	watching.tape->end_ns += 120 * NSEC_PER_SEC;
	log_line(&watching, 5, 17000, STALL);
	take_lines(&watching, 5);
	CHECK_STR(field_of(&watching, 3, "queue_cpu"), "12");
	CHECK_STR(field_of(&watching, 4, "queue_cpu"), "");
	stop(&watching, true);
	done(&watching);
}

static void test_users(void)
{
	struct watching watching;

	init(&watching);
	start(&watching, false);
	/* what says what the kernel would is kept, as theirs */
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
	/* what was read before somebody trusts stays out */
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

/* What was logged while nobody recorded is a note, once. */
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
		/* killed: no position is kept, and its tape is gone */
		stop(&watching, false);
		watching.tape->lines.count = 0;
	}
	CHECK_EQ(listed.time_ns, TAPES_REALTIME + 10 * NSEC_PER_SEC);
	CHECK_EQ(listed.time_ns - listed.stall_ns, 6596 * NSEC_PER_MSEC);
	CHECK(listed.error_ns >= 900 && listed.error_ns < 100 * NSEC_PER_MSEC);
	CHECK(strstr(listed.fields, "qid=5\n"));
	done(&watching);
}

/* Lines that are in a tape already, though nothing says so but the tape. */
static void test_killed(void)
{
	struct store_writer *writer;
	struct watching watching;

	init(&watching);
	start(&watching, false);
	log_line(&watching, 5, -1, "before the begin");
	log_line(&watching, 6, 100, "one");
	take_lines(&watching, 1);
	/* the first position comes at once, the next ones not before ten seconds */
	for (int i = 0; i < 5000; i++) {
		kmsg_watch_spooled(watching.watch, BEGIN_NS, BEGIN_NS);
		usleep(100);
	}
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

/* A flood is bounded and counted, and costs no incident of weight. */
static void test_flood(void)
{
	struct watching watching;
	unsigned long long passed = 0, incidents = 0;
	size_t kept = 0;

	init(&watching);
	start(&watching, false);
	for (int i = 0; i < 20000; i++)
		log_line(&watching, i, 100 + i / 10, "noise");
	log_line(&watching, 20000, 2200, STALL);
	for (int i = 0; i < 3000 && !watching.tape->incidents.count; i++) {
		take(&watching);
		usleep(1000);
	}
	stop(&watching, true);
	CHECK_EQ(watching.tape->incidents.count, 1);
	for (size_t i = 0; i < watching.tape->lines.count; i++) {
		unsigned long long lines, of_them;

		if (sscanf(text_of(&watching, i),
			   "perftape: %llu lines of the kernel's log passed over, %llu", &lines,
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

/* The first recording of a store finds what the kernel logged since it was booted, once: the
 * incidents, those that users forged, and no other line. */
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
		/* killed, with its tape; then it is taken once more, but for the incidents, and
		 * then no more */
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

/* What the tapes have is not taken again when the file is gone. */
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

/* Of another boot all is new, also what was logged before anybody recorded. */
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

/* Whatever comes is no reason to end. */
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

/* Who is told of an incident keeps the thread, until a byte comes. */
static void hang(void *context)
{
	const int *pipe = context;
	char byte;

	CHECK_EQ(read(*pipe, &byte, 1), 1);
}

/* What it has read by then is taken all the same. */
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
	CHECK_EQ(kmsg_watch_stop(watching.watch, 50 * NSEC_PER_MSEC), -ETIMEDOUT);
	CHECK(clock_ns(CLOCK_MONOTONIC) - begin_ns < 20 * NSEC_PER_SEC);
	take(&watching);
	CHECK_EQ(write(ends[1], "x", 1), 1);
	stop(&watching, true);
	CHECK_EQ(watching.tape->incidents.count, 1);
	close(ends[0]);
	close(ends[1]);
	done(&watching);
}

CHECK_MAIN({ "an incident, with its stall", test_incident }, { "the CPU of a queue", test_cpu },
	   { "what a trace event says, once", test_said },
	   { "what users write, and those who trust it", test_users },
	   { "a line of the next tape", test_next_tape },
	   { "what was logged while nobody recorded", test_late },
	   { "lines that a killed recorder took", test_killed },
	   { "lines that were overwritten", test_overrun }, { "a flood", test_flood },
	   { "a position that is lost", test_lost_position },
	   { "the first recording of a store", test_first }, { "another boot", test_other_boot },
	   { "records that are none", test_rubbish }, { "a thread that hangs", test_hangs })
