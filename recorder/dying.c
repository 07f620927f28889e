// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/dying.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/table.h"
#include "tape/events.h"

/*
 * Invariants:
 * (1) an entry is alive (its prefix is NONE) or dying, and counted in its prefix then;
 * (2) a prefix's count is that of its entries and of those for which there was no room, `beyond`;
 * (3) gauge rows are of the tape of `tape_sequence`.
 */

#define NONE UINT32_MAX

/* Shorter is the usual way of going. */
#define SETTLE_NS NSEC_PER_SEC
#define GAUGE_NS (10 * NSEC_PER_SEC)
#define EVENT_NS (60 * NSEC_PER_SEC)

/* So many of a prefix's makers and removers are told apart; who comes when all places are taken takes the one that counts least. */
#define WHOS 4

/* A host that gives each process a name of its own: beyond so many the makers of those that still live are mixed up, which costs a name. */
#define COMMS_MAX 65536

struct who {
	char comm[DYING_COMM_SIZE];
	uint64_t count;
};

struct entry {
	struct dying_key key;
	uint64_t removed_ns;
	uint32_t prefix;
	uint32_t maker; /* a string, 0: not seen */
};

struct prefix {
	char text[DYING_PREFIX_SIZE];
	uint64_t count;
	uint64_t beyond;
	struct who makers[WHOS], removers[WHOS];
	uint32_t count_row, oldest_row; /* + 1 */
	bool told; /* the gauges' last points were not 0 */
	uint64_t told_count; /* in the last event */
};

struct dying {
	array_of(struct entry) entries;
	array_of(uint32_t) free_entries;
	struct table table;
	array_of(struct prefix) prefixes;
	struct strings comms; /* of makers */
	uint64_t tape_sequence; /* + 1 */
	uint64_t gauged_ns, told_ns;
	char text[DYING_TEXT_SIZE]; /* as it was at the last gauges */
};

int dying_new(struct dying **ret_dying)
{
	*ret_dying = calloc(1, sizeof(**ret_dying));
	return *ret_dying ? 0 : -ENOMEM;
}

struct dying *dying_free(struct dying *dying)
{
	if (!dying)
		return NULL;
	dying_forget(dying);
	array_done(&dying->prefixes);
	free(dying);
	return NULL;
}

void dying_forget(struct dying *dying)
{
	array_done(&dying->entries);
	array_done(&dying->free_entries);
	table_done(&dying->table);
	strings_done(&dying->comms);
	for (size_t i = 0; i < dying->prefixes.count; i++)
		dying->prefixes.items[i].count = dying->prefixes.items[i].beyond = 0;
}

static uint64_t hash_key(const struct dying_key *key)
{
	return hash_u64(key->id * 0x9e3779b97f4a7c15ull + key->root);
}

static bool key_equal(const void *context, uint32_t at, const void *key)
{
	const struct dying_key *a = &((const struct dying *)context)->entries.items[at].key,
			       *b = key;

	return a->id == b->id && a->root == b->root;
}

static struct entry *find(const struct dying *dying, const struct dying_key *key)
{
	uint32_t at = table_find(&dying->table, hash_key(key), key_equal, dying, key);

	return at == TABLE_NONE ? NULL : &dying->entries.items[at];
}

/* 1 with an entry of that key, which is new; 0 where there is no room for more. */
static int add(struct dying *dying, const struct dying_key *key, struct entry **ret_entry)
{
	uint32_t at = dying->entries.count;

	if (dying->free_entries.count)
		at = dying->free_entries.items[dying->free_entries.count - 1];
	else if (at == DYING_MAX)
		return 0;
	if (array_reserve(&dying->entries, at + 1) < 0 ||
		array_reserve(&dying->free_entries, dying->entries.capacity) < 0 ||
		table_add(&dying->table, hash_key(key), at) < 0)
		return -ENOMEM;
	if (at == dying->entries.count)
		dying->entries.count++;
	else
		dying->free_entries.count--;
	dying->entries.items[at] = (struct entry){ .key = *key, .prefix = NONE };
	*ret_entry = &dying->entries.items[at];
	return 1;
}

static void drop(struct dying *dying, struct entry *entry)
{
	uint32_t at = entry - dying->entries.items;

	table_remove(&dying->table, hash_key(&entry->key), at);
	entry->prefix = NONE;
	entry->removed_ns = 0;
	dying->free_entries.items[dying->free_entries.count++] = at;
}

static uint32_t find_prefix(const struct dying *dying, const char *text)
{
	for (size_t i = 0; i < dying->prefixes.count; i++)
		if (strcmp(dying->prefixes.items[i].text, text) == 0)
			return i;
	return NONE;
}

/* A place that nobody needs any more, or a new one. */
static int add_prefix(struct dying *dying, const char *text, uint32_t *ret_prefix)
{
	static const struct prefix fresh;
	size_t at = 0;

	while (at < dying->prefixes.count &&
		(dying->prefixes.items[at].count || dying->prefixes.items[at].told))
		at++;
	if (at == DYING_PREFIXES) {
		/* the last one is that of all others */
		*ret_prefix = DYING_PREFIXES - 1;
		return 0;
	}
	if (at == dying->prefixes.count && array_push(&dying->prefixes, fresh) < 0)
		return -ENOMEM;
	dying->prefixes.items[at] = fresh;
	snprintf(dying->prefixes.items[at].text, DYING_PREFIX_SIZE, "%s",
		at == DYING_PREFIXES - 1 ? "/(others)" : text);
	*ret_prefix = at;
	return 0;
}

static int get_prefix(struct dying *dying, const char *path, uint32_t *ret_prefix)
{
	char text[DYING_PREFIX_SIZE];

	dying_fold(path, text);
	*ret_prefix = find_prefix(dying, text);
	return *ret_prefix == NONE ? add_prefix(dying, text, ret_prefix) : 0;
}

static void count_who(struct who whos[WHOS], const char *comm)
{
	struct who *least = &whos[0];

	if (!*comm)
		return;
	for (size_t i = 0; i < WHOS; i++) {
		if (strcmp(whos[i].comm, comm) == 0) {
			whos[i].count++;
			return;
		}
		if (whos[i].count < least->count)
			least = &whos[i];
	}
	*least = (struct who){ .count = 1 };
	snprintf(least->comm, sizeof(least->comm), "%s", comm);
}

static const char *most(const struct who whos[WHOS])
{
	const struct who *best = &whos[0];

	for (size_t i = 1; i < WHOS; i++)
		if (whos[i].count > best->count)
			best = &whos[i];
	return best->comm;
}

/* Those of a leak that is over. */
static void forget_whos(struct prefix *prefix)
{
	memset(prefix->makers, 0, sizeof(prefix->makers));
	memset(prefix->removers, 0, sizeof(prefix->removers));
}

int dying_made(struct dying *dying, const struct dying_key *key, const char *comm)
{
	struct entry *entry = find(dying, key);
	int r = entry ? 1 : add(dying, key, &entry);

	if (r <= 0)
		return r;
	if (strings_count(&dying->comms) >= COMMS_MAX)
		strings_done(&dying->comms);
	return strings_add(&dying->comms, comm, strlen(comm), &entry->maker);
}

int dying_removed(struct dying *dying, const struct dying_key *key, const char *path,
	const char *comm, uint64_t time_ns)
{
	struct entry *entry = find(dying, key);
	struct prefix *prefix;
	uint32_t at;
	int r = entry ? 1 : add(dying, key, &entry);

	if (r < 0 || (entry && entry->prefix != NONE))
		return MIN(r, 0);
	if (get_prefix(dying, path, &at) < 0)
		return -ENOMEM;
	prefix = &dying->prefixes.items[at];
	if (!prefix->count)
		forget_whos(prefix);
	prefix->count++;
	count_who(prefix->removers, comm);
	if (r == 0) {
		prefix->beyond++;
		return 0;
	}
	count_who(prefix->makers, strings_at(&dying->comms, entry->maker));
	entry->prefix = at;
	entry->removed_ns = time_ns;
	return 0;
}

void dying_gone(struct dying *dying, const struct dying_key *key, const char *path)
{
	struct entry *entry = find(dying, key);
	char text[DYING_PREFIX_SIZE];
	uint32_t at;

	if (entry) {
		if (entry->prefix != NONE)
			dying->prefixes.items[entry->prefix].count--;
		drop(dying, entry);
		return;
	}
	/* one that was removed before we looked, unless there was no room for it */
	dying_fold(path, text);
	at = find_prefix(dying, text);
	if (at == NONE || !dying->prefixes.items[at].beyond)
		return;
	dying->prefixes.items[at].beyond--;
	dying->prefixes.items[at].count--;
}

/* When the oldest of each prefix was removed; 0: none is remembered. */
static void find_oldest(const struct dying *dying, uint64_t oldest[DYING_PREFIXES])
{
	memset(oldest, 0, DYING_PREFIXES * sizeof(*oldest));
	for (size_t i = 0; i < dying->entries.count; i++) {
		const struct entry *entry = &dying->entries.items[i];
		uint64_t *at = entry->prefix == NONE ? NULL : &oldest[entry->prefix];

		if (at && (!*at || entry->removed_ns < *at))
			*at = entry->removed_ns;
	}
}

static int compare_counts(const void *a, const void *b)
{
	const struct dying_sum *one = a, *other = b;

	return (one->count < other->count) - (one->count > other->count);
}

size_t dying_sums(const struct dying *dying, struct dying_sum *sums, size_t limit)
{
	struct dying_sum all[DYING_PREFIXES];
	uint64_t oldest[DYING_PREFIXES];
	size_t count = 0;

	find_oldest(dying, oldest);
	for (size_t i = 0; i < dying->prefixes.count; i++) {
		const struct prefix *prefix = &dying->prefixes.items[i];
		struct dying_sum *sum = &all[count];

		if (!prefix->count)
			continue;
		*sum = (struct dying_sum){ .count = prefix->count, .since_ns = oldest[i] };
		memcpy(sum->prefix, prefix->text, sizeof(sum->prefix));
		memcpy(sum->made_by, most(prefix->makers), sizeof(sum->made_by));
		memcpy(sum->removed_by, most(prefix->removers), sizeof(sum->removed_by));
		count++;
	}
	qsort(all, count, sizeof(*all), compare_counts);
	memcpy(sums, all, MIN(count, limit) * sizeof(*sums));
	return count;
}

static int put_point(struct tape *tape, const struct prefix *prefix, const char *end, uint32_t *row,
	uint64_t time_ns, int64_t value)
{
	char name[sizeof(TAPE_GAUGE_DYING) + DYING_PREFIX_SIZE + sizeof(TAPE_GAUGE_OLDEST)];
	int r = 0;

	if (!*row) {
		snprintf(name, sizeof(name), "%s%s%s", TAPE_GAUGE_DYING, prefix->text, end);
		r = tape_add_gauge(tape, name, row);
		*row = r == 0 ? *row + 1 : 0;
	}
	return r == 0 ? tape_add_point(tape, *row - 1, time_ns, value) : r;
}

/* Also that there are none any more, once. */
static int put_gauges(struct prefix *prefix, struct tape *tape, uint64_t since_ns, uint64_t now_ns)
{
	bool old = prefix->count && since_ns && now_ns >= since_ns + SETTLE_NS;
	uint64_t age_ns = prefix->count && since_ns ? now_ns - MIN(since_ns, now_ns) : 0;
	int r;

	if (!old && !prefix->told)
		return 0;
	prefix->told = old;
	prefix->told_count = old ? prefix->told_count : 0;
	r = put_point(tape, prefix, "", &prefix->count_row, now_ns, prefix->count);
	if (r == 0)
		r = put_point(tape, prefix, TAPE_GAUGE_OLDEST, &prefix->oldest_row, now_ns,
			age_ns / NSEC_PER_SEC);
	return r;
}

static int put_event(struct prefix *prefix, struct tape *tape, uint64_t since_ns, uint64_t now_ns)
{
	struct tape_event event = { .time_ns = now_ns };
	const char *maker = most(prefix->makers), *remover = most(prefix->removers);
	uint64_t age_s = (now_ns - MIN(since_ns, now_ns)) / NSEC_PER_SEC;

	if (!prefix->told)
		return 0;
	prefix->told_count = prefix->count;
	if (tape_add_no_thread(tape, &event.thread) < 0 ||
		tape_add_event(tape, &event, TAPE_EVENT_DYING) < 0 ||
		tape_add_event_field(tape, TAPE_DYING_PREFIX, prefix->text, strlen(prefix->text)) <
			0 ||
		tape_add_event_number(tape, TAPE_DYING_COUNT, prefix->count) < 0 ||
		tape_add_event_number(tape, TAPE_DYING_OLDEST, age_s) < 0 ||
		tape_add_event_field(tape, TAPE_DYING_MADE_BY, maker, strlen(maker)) < 0 ||
		tape_add_event_field(tape, TAPE_DYING_REMOVED_BY, remover, strlen(remover)) < 0)
		return -ENOMEM;
	return 0;
}

/* Who looks now is not to wait for a leak's name until the minute is over. */
static bool is_news(const struct dying *dying)
{
	for (size_t i = 0; i < dying->prefixes.count; i++) {
		const struct prefix *prefix = &dying->prefixes.items[i];

		if (prefix->told && prefix->count >= 2 * prefix->told_count)
			return true;
	}
	return false;
}

static void meet_tape(struct dying *dying, const struct tape *tape)
{
	if (dying->tape_sequence == tape->sequence + 1)
		return;
	dying->tape_sequence = tape->sequence + 1;
	for (size_t i = 0; i < dying->prefixes.count; i++)
		dying->prefixes.items[i].count_row = dying->prefixes.items[i].oldest_row = 0;
}

static void describe(struct dying *dying, uint64_t now_ns)
{
	struct dying_sum sum;
	char age[32];
	size_t kinds = dying_sums(dying, &sum, 1);

	*dying->text = 0;
	if (!kinds || !sum.since_ns || now_ns < sum.since_ns + SETTLE_NS)
		return;
	duration_format((now_ns - sum.since_ns) / NSEC_PER_SEC * NSEC_PER_SEC, age, sizeof(age));
	snprintf(dying->text, sizeof(dying->text), "%llu under %s%s%s, the oldest for %s%s",
		(unsigned long long)sum.count, sum.prefix, *sum.made_by ? ", made by " : "",
		sum.made_by, age, kinds > 1 ? "; and others" : "");
}

int dying_give(struct dying *dying, struct tape *tape, uint64_t now_ns)
{
	uint64_t oldest[DYING_PREFIXES];
	bool event;
	int r = 0;

	meet_tape(dying, tape);
	if (now_ns < dying->gauged_ns + GAUGE_NS)
		return 0;
	dying->gauged_ns = now_ns;
	find_oldest(dying, oldest);
	for (size_t i = 0; r == 0 && i < dying->prefixes.count; i++)
		r = put_gauges(&dying->prefixes.items[i], tape, oldest[i], now_ns);
	event = now_ns >= dying->told_ns + EVENT_NS || is_news(dying);
	if (event)
		dying->told_ns = now_ns;
	for (size_t i = 0; r == 0 && event && i < dying->prefixes.count; i++)
		r = put_event(&dying->prefixes.items[i], tape, oldest[i], now_ns);
	describe(dying, now_ns);
	return r;
}

const char *dying_text(const struct dying *dying)
{
	return dying->text;
}
