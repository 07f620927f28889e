// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/kmsg/kmsg-intake.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/mutation.h"
#include "incidents/patterns/queue-cpu.h"
#include "store/disk/incident-notes.h"

/*
 * The allowance of lines: a dump of ENA's counters has 1,100 lines, a warning of the kernel 40.
 * Incidents above a notice have a separate allowance, so that a flood of other lines does not
 * displace them. The stamps serve as clock, so lines that are read late count at their own time.
 */
#define BURST 3000
#define LINE_NS (40 * NSEC_PER_MSEC)

/* Least time between two reports of dropped lines. */
#define REPORT_NS NSEC_PER_SEC

/*
 * The number of incident ids that are reserved at first. Each further reservation takes twice as
 * many, up to IDS_MAX.
 */
#define IDS_FIRST 8
#define IDS_MAX 1024

/*
 * Least time, by the stamps, between two reads of the table of interrupts, because a storm must
 * cost little. irqbalance moves interrupts as often.
 */
#define INTERRUPTS_NS (10 * NSEC_PER_SEC)

/* The priority that syslog uses for messages of loggers about themselves. */
#define OWN_PRIORITY (5 << 3 | 4)

static bool kmsg_bucket_take(struct kmsg_bucket *bucket, uint64_t now_ns)
{
	if (now_ns > bucket->at_ns) {
		bucket->level_ns = MIN(bucket->level_ns + now_ns - bucket->at_ns, BURST * LINE_NS);
		bucket->at_ns = now_ns;
	}
	if (bucket->level_ns < LINE_NS)
		return false;
	bucket->level_ns -= LINE_NS;
	return true;
}

static void kmsg_intake_put(struct kmsg_intake *intake, struct kmsg_entry *entry)
{
	if (entry)
		intake->put(intake->context, entry);
}

static void drop_line(struct kmsg_intake *intake, uint64_t stamp_ns, bool incident)
{
	if (!intake->dropped++)
		intake->dropped_since_ns = stamp_ns;
	intake->dropped_incidents += incident;
}

static void kmsg_intake_starve(struct kmsg_intake *intake, uint64_t stamp_ns, bool incident)
{
	intake->starved = true;
	drop_line(intake, stamp_ns, incident);
}

void kmsg_intake_report_dropped(struct kmsg_intake *intake)
{
	struct kmsg_entry *entry;
	char text[128];
	int size = snprintf(
		text, sizeof(text),
		"perftape: %llu lines of the kernel's log dropped, %llu of them incidents",
		(unsigned long long)intake->dropped, (unsigned long long)intake->dropped_incidents);

	if (!intake->dropped)
		return;
	entry = kmsg_entry_new(intake->last_ns, intake->next_sequence - 1, OWN_PRIORITY, text,
			       size);
	intake->starved |= !entry;
	kmsg_intake_put(intake, entry);
	intake->dropped = intake->dropped_incidents = 0;
}

/*
 * Returns the next id. If reserving ids fails, returns an id that is not reserved, so that the
 * incident is recorded in any case.
 */
static uint64_t next_id(struct kmsg_intake *intake)
{
	uint64_t count = intake->ids_count ? MIN(2 * intake->ids_count, IDS_MAX) : IDS_FIRST;
	uint64_t least = MAX(intake->id, intake->before.ids_from);
	struct error error = { 0 };

	if (intake->id < intake->ids_end)
		return intake->id++;
	intake->id = least;
	if (incident_notes_reserve(intake->store, count, least, &intake->id, &error) < 0) {
		intake->trouble(intake->context, &error);
	} else {
		intake->ids_end = intake->id + count;
		intake->ids_count = count;
	}
	return intake->id++;
}

static bool is_noted(const struct kmsg_intake *intake, const struct kmsg_entry *entry)
{
	uint32_t hash;

	if (!intake->before.noted.count)
		return false;
	hash = log_resume_hash(entry->text);
	for (size_t i = 0; i < intake->before.noted.count; i++)
		if (intake->before.noted.items[i].stamp_ns == entry->stamp_ns &&
		    intake->before.noted.items[i].hash == hash)
			return true;
	return false;
}

static bool find_cpu(void *context, const char *device, uint64_t queue, uint32_t *ret_cpu)
{
	struct kmsg_intake *intake = context;
	uint64_t stamp_ns = intake->entry->stamp_ns;

	if (!intake->asked_ns || stamp_ns >= intake->asked_ns + INTERRUPTS_NS) {
		intake->asked_ns = stamp_ns;
		interrupts_done(&intake->interrupts);
		(void)interrupts_read(intake->root, &intake->interrupts);
	}
	return interrupts_find(&intake->interrupts, device, queue, ret_cpu);
}

/* The greatest distance between the log line and the trace event of one timeout. */
#define SAME_NS NSEC_PER_SEC

/*
 * Returns whether the other source has already reported this timeout. If not, remembers the
 * timeout.
 */
static bool kmsg_intake_note_timeout(struct kmsg_intake *intake, const struct incident *incident)
{
	const struct field *ifname = fields_find(&incident->fields, "ifname");
	const struct field *queue = fields_find(&incident->fields, "qid");
	struct kmsg_timeout now = { .stamp_ns = intake->entry->stamp_ns,
				    .traced = intake->entry->traced };

	if (strcmp(incident->kind->name, "net.tx_watchdog") != 0 || !ifname || !queue ||
	    ifname->size >= sizeof(now.ifname))
		return false;
	memcpy(now.ifname, ifname->value, ifname->size);
	now.queue = strtoull(queue->value, NULL, 10);
	for (size_t i = 0; i < KMSG_TIMEOUTS; i++) {
		const struct kmsg_timeout *then = &intake->timeouts[i];

		if (then->traced != now.traced && then->queue == now.queue && then->stamp_ns &&
		    strcmp(then->ifname, now.ifname) == 0 &&
		    now.stamp_ns + SAME_NS > then->stamp_ns &&
		    then->stamp_ns + SAME_NS > now.stamp_ns)
			return true;
	}
	intake->timeouts[intake->next_timeout++ % KMSG_TIMEOUTS] = now;
	return false;
}

/* Returns the thread that an incident names, "[kworker/3:1:4242]"; 0: none. */
static uint32_t kmsg_intake_named(const struct incident *incident)
{
	const struct field *pid = fields_find(&incident->fields, "pid");
	uint64_t tid;

	if (!pid || !pid->number || incident->kind->severity <= SEVERITY_NOTICE)
		return 0;
	tid = strtoull(pid->value, NULL, 10);
	return tid <= INT32_MAX ? tid : 0;
}

/* The scanner calls it when the current line is an incident. */
static void kmsg_intake_judged(void *context, const struct incident *given)
{
	struct kmsg_intake *intake = context;
	struct incident incident = *given;
	char queue_cpu[QUEUE_CPU_SIZE];
	bool weighs = incident.kind->severity > SEVERITY_NOTICE;
	struct kmsg_bucket *bucket = weighs ? &intake->incidents : &intake->lines;
	uint64_t entry_ns = intake->entry->stamp_ns;

	if (intake->from_user || is_noted(intake, intake->entry) ||
	    kmsg_intake_note_timeout(intake, &incident))
		return;
	/* before this recorder ran, the interrupt may have been on another CPU */
	if (entry_ns >= intake->begin_ns)
		queue_cpu_add(&incident.fields, queue_cpu, find_cpu, intake);
	if (!kmsg_bucket_take(bucket, intake->entry->stamp_ns)) {
		drop_line(intake, intake->entry->stamp_ns, true);
		intake->entry = kmsg_entry_free(intake->entry);
	} else if (kmsg_entry_classify(intake->entry, &incident, next_id(intake)) < 0) {
		kmsg_intake_starve(intake, intake->entry->stamp_ns, true);
		intake->entry = kmsg_entry_free(intake->entry);
	} else {
		intake->found++;
		/* the threads of an earlier time may be gone, and others may have their numbers */
		if (entry_ns >= intake->begin_ns)
			intake->named = kmsg_intake_named(&incident);
	}
}

/* Finds out whether the current line is an incident. Drops the line if memory is short. */
static void kmsg_intake_classify(struct kmsg_intake *intake, const char *data, size_t size,
				 uint64_t number)
{
	_cleanup_(log_prefix_done) struct log_prefix prefix = { 0 };

	log_prefix_init(&prefix);
	log_prefix_read(&prefix, data, size);
	if (buffer_failed(&prefix.scratch)) {
		kmsg_intake_starve(intake, intake->entry->stamp_ns, false);
		intake->entry = kmsg_entry_free(intake->entry);
		return;
	}
	classify_take(&intake->classify, &prefix,
		      &(struct line){ prefix.text, prefix.size, number });
}

void kmsg_intake_report(struct kmsg_intake *intake, struct kmsg_entry *entry)
{
	char line[512];
	int size = snprintf(line, sizeof(line), "0,%llu,%llu,-;%s",
			    (unsigned long long)intake->next_sequence,
			    (unsigned long long)(entry->stamp_ns / NSEC_PER_USEC), entry->text);

	entry->traced = true;
	entry->sequence = intake->next_sequence ? intake->next_sequence - 1 : 0;
	intake->entry = entry;
	kmsg_intake_classify(intake, line, MIN((size_t)size, sizeof(line) - 1), 0);
	if (intake->entry && intake->entry->id)
		kmsg_intake_put(intake, take_ptr(intake->entry));
	intake->entry = kmsg_entry_free(intake->entry);
}

/* Returns whether the line is older than the first recording into this store. */
static bool is_early(const struct kmsg_intake *intake, uint64_t stamp_ns)
{
	return intake->first && stamp_ns < intake->begin_ns;
}

static bool take_allowance(struct kmsg_intake *intake, struct kmsg_bucket *bucket,
			   uint64_t stamp_ns)
{
	if (kmsg_bucket_take(bucket, stamp_ns))
		return true;
	drop_line(intake, stamp_ns, false);
	return false;
}

/*
 * Returns whether to keep the current line, and counts it against its allowance. Keeps a user's
 * line only if it imitates the kernel, so that readers can recognise this line in other logs.
 */
static bool kmsg_intake_admit(struct kmsg_intake *intake, uint64_t stamp_ns,
			      const struct scan_summary *before)
{
	const struct scan_summary *now = &intake->classify.summary;

	if (intake->from_user)
		return now->forged > before->forged &&
		       take_allowance(intake, &intake->users, stamp_ns);
	if (now->incidents > before->incidents)
		return true;
	return !is_early(intake, stamp_ns) && take_allowance(intake, &intake->lines, stamp_ns);
}

static void kmsg_intake_take_line(struct kmsg_intake *intake, const struct kmsg_record *record,
				  const char *data, size_t size)
{
	const struct scan_summary before = intake->classify.summary;

	intake->entry = kmsg_entry_new(record->stamp_ns, record->sequence,
				       record->facility << 3 | record->level, record->text,
				       record->text_size);
	if (!intake->entry) {
		kmsg_intake_starve(intake, record->stamp_ns, false);
		return;
	}
	kmsg_intake_classify(intake, data, size, ++intake->classify.summary.lines);
	if (!intake->entry)
		return;
	if (!kmsg_intake_admit(intake, record->stamp_ns, &before))
		intake->entry = kmsg_entry_free(intake->entry);
	kmsg_intake_put(intake, take_ptr(intake->entry));
}

/*
 * Reports lines that the kernel overwrote before this thread read them, while it was busy or before
 * it ran.
 */
static void kmsg_intake_take_gap(struct kmsg_intake *intake, const struct kmsg_record *record)
{
	_cleanup_(buffer_done) struct buffer scratch = { 0 };
	struct kmsg_record own;
	char text[160];
	int size = snprintf(
		text, sizeof(text),
		"%u,%llu,%llu,-;perftape: %llu lines of the kernel's log were overwritten unread",
		OWN_PRIORITY, (unsigned long long)record->sequence - 1,
		(unsigned long long)(record->stamp_ns / NSEC_PER_USEC),
		(unsigned long long)(record->sequence - intake->next_sequence));

	if (kmsg_parse(text, size, &scratch, &own) == 0)
		kmsg_intake_take_line(intake, &own, text, size);
}

void kmsg_intake_take(struct kmsg_intake *intake, const char *data, size_t size)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	struct kmsg_record record;
	int r = kmsg_parse(data, size, &text, &record);

	if (r == -ENOMEM) {
		intake->next_sequence += intake->continues;
		kmsg_intake_starve(intake, intake->last_ns, false);
	}
	if (r < 0)
		return;
	if (intake->continues && record.sequence < intake->next_sequence)
		return;
	if (intake->continues && record.sequence > intake->next_sequence)
		kmsg_intake_take_gap(intake, &record);
	intake->next_sequence = record.sequence + 1;
	intake->last_ns = record.stamp_ns;
	intake->continues |= !is_early(intake, record.stamp_ns);
	intake->from_user = record.facility && !intake->trust_users;
	kmsg_intake_take_line(intake, &record, data, size);
	intake->from_user = false;
	if (intake->dropped && record.stamp_ns > intake->dropped_since_ns + REPORT_NS)
		kmsg_intake_report_dropped(intake);
}

int kmsg_intake_find(struct kmsg_intake *intake, const char *boot_id, struct error *error)
{
	struct log_position *position = &intake->before.position;
	int r = log_resume_find(intake->store, boot_id, &intake->before, error);

	if (r < 0)
		return r;
	if (mutated("forget-log-position"))
		position->boot_id[0] = 0;
	intake->continues = *position->boot_id != 0;
	intake->first = !intake->continues;
	if (strcmp(position->boot_id, boot_id) == 0)
		intake->next_sequence = position->sequence + 1;
	intake->id = MAX(position->next_id, intake->before.ids_from);
	intake->ids_end = MAX(position->below_id, intake->id);
	return 0;
}

void kmsg_intake_init(struct kmsg_intake *intake, const struct catalogue *catalogue)
{
	const struct scanner_options options = {
		.catalogue = catalogue,
		.trust_users = intake->trust_users,
		.own_words = true,
		.give = kmsg_intake_judged,
		.context = intake,
	};

	classify_init(&intake->classify, &options);
}

void kmsg_intake_done(struct kmsg_intake *intake)
{
	interrupts_done(&intake->interrupts);
	log_resume_done(&intake->before);
	classify_done(&intake->classify);
}
