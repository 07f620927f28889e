// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/trace/dead-cgroups.h"

#include <assert.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mutation.h"
#include "base/table.h"
#include "tape/tape-events.h"

/*
 * Invariants:
 * (1) an entry is alive (its kind is NONE); or the entry is dying, and its kind counts it;
 * (2) a kind's count is the number of its entries plus `beyond`, the cgroups without an entry;
 * (3) gauge rows belong to the tape of `tape_sequence`.
 */

#define NONE DYING_NO_KIND

/* A removed cgroup usually disappears within this time. */
#define SETTLE_NS NSEC_PER_SEC
#define GAUGE_NS (10 * NSEC_PER_SEC)
#define EVENT_NS (60 * NSEC_PER_SEC)

/* The counting starts over when more than 1/UNSURE_PART of the count is unsure. */
#define UNSURE_PART 10

/*
 * Bounds the names of makers on a host where each process has a different name. At this number, the
 * object forgets the makers of all living cgroups.
 */
#define COMMS_MAX 65536

struct entry {
	struct dead_cgroups_key key;
	uint64_t removed_ns;
	uint32_t kind;
	/* the maker's name, as an index of `comms`; 0: not seen */
	uint32_t maker;
	uint32_t maker_pid;
};

struct dead_cgroups {
	array_of(struct entry) entries;
	array_of(uint32_t) free_entries;
	struct table table;
	struct dead_cgroups_kinds kinds;
	/* names of makers */
	struct strings comms;
	/* the sequence number of the tape of the gauge rows, + 1 */
	uint64_t tape_sequence;
	uint64_t gauged_ns, event_ns;
	/* the begin of the counting; 0: not begun */
	uint64_t since_ns;
	/* records that were lost since the counting began */
	uint64_t unsure;
	/* lost records that made the counting start over; 0: it did not start over */
	uint64_t lost;
	/* the state at the time of the last gauges */
	struct dead_cgroups_report report;
	char text[DEAD_CGROUPS_TEXT_SIZE];
};

int dead_cgroups_new(struct dead_cgroups **ret_dying)
{
	*ret_dying = calloc(1, sizeof(**ret_dying));
	return *ret_dying ? 0 : -ENOMEM;
}

/*
 * Forgets all cgroups. Does not put a 0 into the gauges, because these cgroups may still be dying.
 */
static void dead_cgroups_forget(struct dead_cgroups *dying)
{
	array_done(&dying->entries);
	array_done(&dying->free_entries);
	table_done(&dying->table);
	strings_done(&dying->comms);
	for (size_t i = 0; i < dying->kinds.list.count; i++) {
		struct dying_kind *kind = &dying->kinds.list.items[i];

		kind->count = kind->beyond = kind->event_count = 0;
		kind->gauged = false;
	}
}

struct dead_cgroups *dead_cgroups_free(struct dead_cgroups *dying)
{
	if (!dying)
		return NULL;
	dead_cgroups_forget(dying);
	dead_cgroups_kinds_done(&dying->kinds);
	free(dying);
	return NULL;
}

static void dead_cgroups_begin(struct dead_cgroups *dying, uint64_t time_ns)
{
	dying->since_ns = dying->since_ns ? dying->since_ns : time_ns;
}

static uint64_t count_all(const struct dead_cgroups *dying)
{
	uint64_t count = 0;

	for (size_t i = 0; i < dying->kinds.list.count; i++)
		count += dying->kinds.list.items[i].count;
	return count;
}

void dead_cgroups_lost(struct dead_cgroups *dying, uint64_t count, uint64_t time_ns)
{
	dying->unsure += count;
	if (dying->unsure <= count_all(dying) / UNSURE_PART)
		return;
	/* report the losses only if there were counts to forget */
	dying->lost = count_all(dying) ? dying->unsure : dying->lost;
	dead_cgroups_forget(dying);
	dying->since_ns = time_ns;
	dying->unsure = 0;
}

static uint64_t hash_key(const struct dead_cgroups_key *key)
{
	return hash_numbers(key->id, key->root);
}

static bool key_equal(const void *context, uint32_t at, const void *key)
{
	const struct dead_cgroups_key
		*a = &((const struct dead_cgroups *)context)->entries.items[at].key,
		*b = key;

	return a->id == b->id && a->root == b->root;
}

static struct entry *dead_cgroups_find(const struct dead_cgroups *dying,
				       const struct dead_cgroups_key *key)
{
	uint32_t at = table_find(&dying->table, hash_key(key), key_equal, dying, key);

	return at == TABLE_NONE ? NULL : &dying->entries.items[at];
}

/* Returns 1 with a new entry for the key, 0 when the table is full, or -ENOMEM. */
static int dead_cgroups_add(struct dead_cgroups *dying, const struct dead_cgroups_key *key,
			    struct entry **ret_entry)
{
	uint32_t at = dying->entries.count;

	if (dying->free_entries.count)
		at = dying->free_entries.items[dying->free_entries.count - 1];
	else if (at == DEAD_CGROUPS_MAX)
		return 0;
	if (array_reserve(&dying->entries, at + 1) < 0 ||
	    array_reserve(&dying->free_entries, dying->entries.capacity) < 0 ||
	    table_add(&dying->table, hash_key(key), at) < 0)
		return -ENOMEM;
	if (at == dying->entries.count)
		dying->entries.count++;
	else
		dying->free_entries.count--;
	dying->entries.items[at] = (struct entry){ .key = *key, .kind = NONE };
	*ret_entry = &dying->entries.items[at];
	return 1;
}

static void dead_cgroups_drop(struct dead_cgroups *dying, struct entry *entry)
{
	uint32_t at = entry - dying->entries.items;

	table_remove(&dying->table, hash_key(&entry->key), at);
	entry->kind = NONE;
	entry->removed_ns = 0;
	dying->free_entries.items[dying->free_entries.count++] = at;
}

/* Forgets the makers and removers of an earlier leak, because a new leak begins. */
static void forget_actors(struct dying_kind *kind)
{
	memset(kind->makers, 0, sizeof(kind->makers));
	memset(kind->removers, 0, sizeof(kind->removers));
}

static int get_kind(struct dead_cgroups *dying, const char *path, uint32_t *ret_kind)
{
	uint32_t joined[DEAD_CGROUPS_KINDS], to[DEAD_CGROUPS_KINDS];
	size_t count;
	int r = dead_cgroups_kinds_get(&dying->kinds, path, ret_kind, joined, &count);

	if (r < 0 || !count)
		return r;
	for (size_t i = 0; i < DEAD_CGROUPS_KINDS; i++)
		to[i] = i;
	for (size_t i = 0; i < count; i++)
		to[joined[i]] = *ret_kind;
	for (size_t i = 0; i < dying->entries.count; i++)
		if (dying->entries.items[i].kind != NONE)
			dying->entries.items[i].kind = to[dying->entries.items[i].kind];
	return 0;
}

static void end_entry(struct dead_cgroups *dying, struct entry *entry)
{
	if (entry->kind != NONE) {
		assert(dying->kinds.list.items[entry->kind].count);
		dying->kinds.list.items[entry->kind].count--;
	}
	dead_cgroups_drop(dying, entry);
}

/*
 * Ends the entry of a dying cgroup whose number a new cgroup has. Kernels before 5.5 reuse a number
 * at once, and the old cgroup is gone without an event.
 */
static void end_reused_number(struct dead_cgroups *dying, const struct dead_cgroups_key *key)
{
	struct entry *entry = dead_cgroups_find(dying, key);

	if (entry && entry->kind != NONE)
		end_entry(dying, entry);
}

static void forget_makers(struct dead_cgroups *dying)
{
	for (size_t i = 0; i < dying->entries.count; i++)
		dying->entries.items[i].maker = 0;
	strings_done(&dying->comms);
}

int dead_cgroups_made(struct dead_cgroups *dying, const struct dead_cgroups_key *key,
		      const struct dying_process *by)
{
	struct entry *entry;
	int r;

	end_reused_number(dying, key);
	entry = dead_cgroups_find(dying, key);
	r = entry ? 1 : dead_cgroups_add(dying, key, &entry);

	if (r <= 0)
		return r;
	if (strings_count(&dying->comms) >= COMMS_MAX)
		forget_makers(dying);
	if (mutated("forget-maker"))
		return 0;
	entry->maker_pid = by->pid;
	return strings_add(&dying->comms, by->comm, strlen(by->comm), &entry->maker);
}

int dead_cgroups_removed(struct dead_cgroups *dying, const struct dead_cgroups_key *key,
			 const char *path, const struct dying_process *by, uint64_t time_ns)
{
	struct entry *entry = dead_cgroups_find(dying, key);
	struct dying_kind *kind;
	uint32_t at;
	int r = entry ? 1 : dead_cgroups_add(dying, key, &entry);

	if (r < 0 || (entry && entry->kind != NONE))
		return MIN(r, 0);
	dead_cgroups_begin(dying, time_ns);
	if (get_kind(dying, path, &at) < 0)
		return -ENOMEM;
	kind = &dying->kinds.list.items[at];
	if (!kind->count)
		forget_actors(kind);
	kind->count++;
	dying_actors_count(kind->removers, by, 1);
	if (r == 0) {
		kind->beyond++;
		return 0;
	}
	dying_actors_count(kind->makers,
			   &(struct dying_process){ strings_at(&dying->comms, entry->maker),
						    entry->maker_pid },
			   1);
	entry->kind = at;
	entry->removed_ns = time_ns;
	return 0;
}

/* Decreases `beyond` of a kind by one. Returns false when `beyond` is 0 already. */
static bool take_beyond(struct dead_cgroups *dying, uint32_t at)
{
	struct dying_kind *kind = at == NONE ? NULL : &dying->kinds.list.items[at];

	if (!kind || !kind->beyond)
		return false;
	assert(kind->beyond <= kind->count);
	kind->beyond--;
	kind->count--;
	return true;
}

void dead_cgroups_gone(struct dead_cgroups *dying, const struct dead_cgroups_key *key,
		       const char *path)
{
	struct entry *entry = dead_cgroups_find(dying, key);

	if (entry) {
		end_entry(dying, entry);
		return;
	}
	/* a cgroup without an entry was removed before this object began, or the table was full */
	if (!take_beyond(dying, dead_cgroups_kinds_find(&dying->kinds, path)))
		take_beyond(dying, dead_cgroups_kinds_others(&dying->kinds));
}

/* Sets the time at which the oldest dying cgroup of each kind was removed; 0: no entry. */
static void find_oldest(const struct dead_cgroups *dying, uint64_t oldest[DEAD_CGROUPS_KINDS])
{
	memset(oldest, 0, DEAD_CGROUPS_KINDS * sizeof(*oldest));
	for (size_t i = 0; i < dying->entries.count; i++) {
		const struct entry *entry = &dying->entries.items[i];
		uint64_t *at = entry->kind == NONE ? NULL : &oldest[entry->kind];

		if (at && (!*at || entry->removed_ns < *at))
			*at = entry->removed_ns;
	}
}

static int compare_counts(const void *a, const void *b)
{
	const struct dead_cgroups_sum *one = a, *other = b;

	return (one->count < other->count) - (one->count > other->count);
}

/*
 * Sets `all` to the sums of the kinds, with the highest count first. With `gauged`, takes only
 * kinds whose gauges are not 0.
 */
static size_t sum_up(const struct dead_cgroups *dying, bool gauged,
		     struct dead_cgroups_sum all[DEAD_CGROUPS_KINDS])
{
	uint64_t oldest[DEAD_CGROUPS_KINDS];
	size_t count = 0;

	find_oldest(dying, oldest);
	for (size_t i = 0; i < dying->kinds.list.count; i++) {
		const struct dying_kind *kind = &dying->kinds.list.items[i];
		struct dead_cgroups_sum *sum = &all[count];

		if (!kind->count || (gauged && !kind->gauged))
			continue;
		*sum = (struct dead_cgroups_sum){
			.count = kind->count,
			.since_ns = oldest[i],
			.made_by = *dying_actors_most(kind->makers),
			.removed_by = *dying_actors_most(kind->removers),
		};
		memcpy(sum->prefix, kind->text, sizeof(sum->prefix));
		count++;
	}
	qsort(all, count, sizeof(*all), compare_counts);
	return count;
}

size_t dead_cgroups_sums(const struct dead_cgroups *dying, struct dead_cgroups_sum *sums,
			 size_t limit)
{
	struct dead_cgroups_sum all[DEAD_CGROUPS_KINDS];
	size_t count = sum_up(dying, false, all);

	memcpy(sums, all, MIN(count, limit) * sizeof(*sums));
	return count;
}

static int put_point(struct tape *tape, const struct dying_kind *kind, const char *end,
		     uint32_t *row, uint64_t time_ns, int64_t value)
{
	char name[sizeof(TAPE_GAUGE_DYING) + DYING_PREFIX_SIZE + sizeof(TAPE_GAUGE_OLDEST)];
	uint32_t added;
	int r;

	if (!*row) {
		snprintf(name, sizeof(name), "%s%s%s", TAPE_GAUGE_DYING, kind->text, end);
		r = tape_add_gauge(tape, name, &added);
		if (r < 0)
			return r;
		*row = added + 1;
	}
	return tape_add_point(tape, *row - 1, time_ns, value);
}

/*
 * Returns whether a kind has been dying for at least SETTLE_NS. Cgroups without an entry count,
 * because the time of their removal is not known.
 */
static bool is_settled(const struct dying_kind *kind, uint64_t since_ns, uint64_t now_ns)
{
	return since_ns ? now_ns >= since_ns + SETTLE_NS : kind->beyond > 0;
}

/*
 * Puts points into the two gauges of a kind. When its last dying cgroup is gone, puts one point of
 * 0.
 */
static int put_gauges(struct dying_kind *kind, struct tape *tape, uint64_t since_ns,
		      uint64_t now_ns)
{
	bool old = kind->count && is_settled(kind, since_ns, now_ns);
	uint64_t age_ns = kind->count && since_ns ? now_ns - MIN(since_ns, now_ns) : 0;
	int r;

	if (!old && !kind->gauged)
		return 0;
	kind->gauged = old;
	kind->event_count = old ? kind->event_count : 0;
	r = put_point(tape, kind, "", &kind->count_row, now_ns, kind->count);
	if (r < 0)
		return r;
	return put_point(tape, kind, TAPE_GAUGE_OLDEST, &kind->oldest_row, now_ns,
			 age_ns / NSEC_PER_SEC);
}

/* Puts the name of a process, which may be "", and its pid if the name is not "". */
static int dead_cgroups_put_actor(struct tape *tape, const char *key, const char *pid_key,
				  const struct dying_actor *actor)
{
	int r = tape_add_event_field(tape, key, actor->comm, strlen(actor->comm));

	return r < 0 || !*actor->comm ? r : tape_add_event_number(tape, pid_key, actor->pid);
}

static int dead_cgroups_put_event(const struct dead_cgroups *dying, struct dying_kind *kind,
				  struct tape *tape, uint64_t since_ns, uint64_t now_ns)
{
	struct tape_event event = { .time_ns = now_ns };
	const struct dying_actor *maker = dying_actors_most(kind->makers),
				 *remover = dying_actors_most(kind->removers);
	uint64_t age_ns = since_ns ? now_ns - MIN(since_ns, now_ns) : 0;
	uint64_t counted_ns = now_ns - MIN(dying->since_ns, now_ns);

	if (!kind->gauged)
		return 0;
	kind->event_count = kind->count;
	memcpy(kind->event_maker, maker->comm, sizeof(kind->event_maker));
	if (tape_add_no_thread(tape, &event.thread) < 0 ||
	    tape_add_event(tape, &event, TAPE_EVENT_DYING) < 0 ||
	    tape_add_event_field(tape, TAPE_DYING_PREFIX, kind->text, strlen(kind->text)) < 0 ||
	    tape_add_event_number(tape, TAPE_DYING_COUNT, kind->count) < 0 ||
	    tape_add_event_number(tape, TAPE_DYING_OLDEST, age_ns / NSEC_PER_SEC) < 0 ||
	    dead_cgroups_put_actor(tape, TAPE_DYING_MADE_BY, TAPE_DYING_MADE_BY_PID, maker) < 0 ||
	    dead_cgroups_put_actor(tape, TAPE_DYING_REMOVED_BY, TAPE_DYING_REMOVED_BY_PID,
				   remover) < 0 ||
	    tape_add_event_number(tape, TAPE_DYING_COUNTED, counted_ns / NSEC_PER_SEC) < 0 ||
	    tape_add_event_number(tape, TAPE_DYING_UNSURE, dying->unsure) < 0)
		return -ENOMEM;
	return 0;
}

/*
 * Returns whether a leak has grown or has another maker, and so needs an event before the end of
 * the minute.
 */
static bool dead_cgroups_has_news(const struct dead_cgroups *dying)
{
	for (size_t i = 0; i < dying->kinds.list.count; i++) {
		const struct dying_kind *kind = &dying->kinds.list.items[i];
		const char *maker = dying_actors_most(kind->makers)->comm;

		if (kind->gauged &&
		    (kind->count >= 2 * kind->event_count || strcmp(maker, kind->event_maker) != 0))
			return true;
	}
	return false;
}

/*
 * Makes each tape begin with gauges and events. So each tape alone shows the makers of the cgroups,
 * even if earlier and later tapes are removed or lost.
 */
static void begin_tape(struct dead_cgroups *dying, const struct tape *tape)
{
	if (dying->tape_sequence == tape->sequence + 1)
		return;
	dying->tape_sequence = tape->sequence + 1;
	dying->gauged_ns = dying->event_ns = 0;
	for (size_t i = 0; i < dying->kinds.list.count; i++)
		dying->kinds.list.items[i].count_row = dying->kinds.list.items[i].oldest_row = 0;
}

static const char *format_age(const struct dead_cgroups_report *report, uint64_t since_ns,
			      char age[32])
{
	uint64_t age_ns = report->at_ns - MIN(since_ns, report->at_ns);

	return duration_format(age_ns / NSEC_PER_SEC * NSEC_PER_SEC, age, 32);
}

static void describe_most(const struct dead_cgroups_report *report, struct buffer *text)
{
	const struct dead_cgroups_sum *sum = &report->sums[0];
	char age[32];

	buffer_printf(text, "%llu under %s", (unsigned long long)sum->count, sum->prefix);
	if (*sum->made_by.comm)
		buffer_printf(text, ", made by %s", sum->made_by.comm);
	if (sum->since_ns)
		buffer_printf(text, ", the oldest for %s", format_age(report, sum->since_ns, age));
	if (report->kinds > 1)
		buffer_text(text, "; and others");
	if (report->unsure)
		buffer_printf(text, "; %llu lost trace events may change that",
			      (unsigned long long)report->unsure);
}

static void describe_lost(const struct dead_cgroups_report *report, struct buffer *text)
{
	char age[32];

	buffer_printf(text, "%s%llu trace events were lost %s ago; older removals are not counted",
		      text->size ? "; " : "", (unsigned long long)report->lost,
		      format_age(report, report->since_ns, age));
}

/* Writes the report and the text for the present gauges. */
static void dead_cgroups_describe(struct dead_cgroups *dying, uint64_t now_ns)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	struct dead_cgroups_report *report = &dying->report;
	struct dead_cgroups_sum all[DEAD_CGROUPS_KINDS];

	*report = (struct dead_cgroups_report){
		.at_ns = now_ns,
		.since_ns = dying->since_ns,
		.kinds = sum_up(dying, true, all),
		.unsure = dying->unsure,
		.lost = dying->lost,
	};
	for (size_t i = 0; i < report->kinds; i++)
		report->count += all[i].count;
	memcpy(report->sums, all,
	       MIN(report->kinds, (size_t)DEAD_CGROUPS_REPORT_MAX) * sizeof(*all));
	if (report->kinds)
		describe_most(report, &text);
	if (report->lost)
		describe_lost(report, &text);
	snprintf(dying->text, sizeof(dying->text), "%.*s", (int)text.size,
		 text.data ? (const char *)text.data : "");
}

int dead_cgroups_give(struct dead_cgroups *dying, struct tape *tape, uint64_t now_ns)
{
	uint64_t oldest[DEAD_CGROUPS_KINDS];
	bool event;
	int r = 0;

	begin_tape(dying, tape);
	dead_cgroups_begin(dying, now_ns);
	if (now_ns < dying->gauged_ns + GAUGE_NS)
		return 0;
	dying->gauged_ns = now_ns;
	find_oldest(dying, oldest);
	for (size_t i = 0; r == 0 && i < dying->kinds.list.count; i++)
		r = put_gauges(&dying->kinds.list.items[i], tape, oldest[i], now_ns);
	event = now_ns >= dying->event_ns + EVENT_NS || dead_cgroups_has_news(dying);
	if (event)
		dying->event_ns = now_ns;
	for (size_t i = 0; r == 0 && event && i < dying->kinds.list.count; i++)
		r = dead_cgroups_put_event(dying, &dying->kinds.list.items[i], tape, oldest[i],
					   now_ns);
	dead_cgroups_describe(dying, now_ns);
	return r;
}

const char *dead_cgroups_text(const struct dead_cgroups *dying)
{
	return dying->text;
}

const struct dead_cgroups_report *dead_cgroups_report(const struct dead_cgroups *dying)
{
	return &dying->report;
}
