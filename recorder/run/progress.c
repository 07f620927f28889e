// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/progress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/foreign.h"
#include "base/json.h"

/* U+FFFD */
#define REPLACEMENT "\xef\xbf\xbd"

#define NUMBER_OF(type, name)                  \
	{                                      \
#name, offsetof(type, name), 0 \
	}
#define TEXT_OF(type, name, at)                                      \
	{                                                            \
		name, offsetof(type, at), sizeof(((type *)NULL)->at) \
	}
#define NUMBER(name) NUMBER_OF(struct recorder_progress, name)
#define TEXT(name, at) TEXT_OF(struct recorder_progress, name, at)

struct member {
	const char *name;
	size_t at;
	/* size of a text; 0: a number */
	size_t size;
};

static const struct member members[] = {
	TEXT("version", version),
	TEXT("event", event),
	NUMBER(frequency),
	NUMBER(cpus),
	NUMBER(segment_ns),
	TEXT("lacks", lacks),
	NUMBER(elapsed_ns),
	NUMBER(begin_ns),
	NUMBER(end_ns),
	NUMBER(stopping),
	NUMBER(samples),
	NUMBER(lost),
	NUMBER(lost_sideband),
	NUMBER(refused),
	TEXT("refused_most", refused_most),
	NUMBER(cut),
	TEXT("cut_most", cut_most),
	NUMBER(lost_events),
	NUMBER(skipped),
	NUMBER(throttled),
	NUMBER(limit),
	NUMBER(offline),
	NUMBER(offline_now),
	NUMBER(damaged),
	NUMBER(truncated),
	NUMBER(unsaved),
	NUMBER(segments),
	NUMBER(bytes),
	NUMBER(waiting),
	TEXT("naming", naming),
	NUMBER(naming_ns),
	NUMBER(spool_lag_ns),
	NUMBER(store_blocked),
	TEXT("error", error.text),
	TEXT("warning", warning.text),
	TEXT("log_trouble", log_trouble.text),
	TEXT("dying", dying),
	NUMBER(dying_ns),
	NUMBER(dying_since_ns),
	NUMBER(dying_count),
	NUMBER(dying_prefixes),
	NUMBER(dying_unsure),
	NUMBER(dying_lost),
	NUMBER(files_held),
	NUMBER(cpu_ns),
	NUMBER(recent_ns),
	NUMBER(recent_cpu_ns),
	NUMBER(recent_samples),
	NUMBER(now_ns),
	NUMBER(now_samples),
	NUMBER(memory_bytes),
	NUMBER(resident_bytes),
	NUMBER(sample_bytes),
	NUMBER(sampling_ns),
	NUMBER(ring_bytes),
	NUMBER(rings_bytes),
	NUMBER(ring_peak_bytes),
	NUMBER(sideband_peak_bytes),
	NUMBER(rides_out_ns),
	NUMBER(rides_out_least_ns),
	NUMBER(late_ns),
	NUMBER(late_peak_ns),
	NUMBER(stalled_signal_ns),
	NUMBER(stalled_cpu_ns),
	NUMBER(drain_ns),
	NUMBER(drain_peak_ns),
	NUMBER(stack_bytes),
	NUMBER(stack_ring_bytes),
	NUMBER(stacks_whole),
	NUMBER(stacks_cut),
	NUMBER(stacks_small),
	NUMBER(stacks_frame_pointers),
	NUMBER(stacks_lost),
	TEXT("stacks_cut_by", stacks_cut_by),
	NUMBER(stacks_aligned),
	NUMBER(stacks_spliced),
	NUMBER(callers_unmapped),
	NUMBER(unwind_tables),
	NUMBER(unwind_tables_bytes),
	NUMBER(unwind_tables_longest_ns),
	NUMBER(unwind_tables_failed),
};

static const struct member source_members[] = {
	TEXT_OF(struct progress_source, "source", name), NUMBER_OF(struct progress_source, reads),
	NUMBER_OF(struct progress_source, failures),	 NUMBER_OF(struct progress_source, cpu_ns),
	NUMBER_OF(struct progress_source, longest_ns),
};

static const struct member dying_members[] = {
	TEXT_OF(struct progress_dying, "prefix", prefix),
	NUMBER_OF(struct progress_dying, count),
	NUMBER_OF(struct progress_dying, since_ns),
	NUMBER_OF(struct progress_dying, oldest_ns),
	TEXT_OF(struct progress_dying, "made_by", made_by),
	NUMBER_OF(struct progress_dying, made_by_pid),
	TEXT_OF(struct progress_dying, "removed_by", removed_by),
	NUMBER_OF(struct progress_dying, removed_by_pid),
};

/* Arrays of objects: sources, and kinds of paths. */
static const struct list {
	const char *name;
	const struct member *members;
	size_t member_count;
	size_t at, size, max;
	size_t count_at;
} lists[] = {
	{ "figures", source_members, ARRAY_SIZE(source_members),
	  offsetof(struct recorder_progress, sources), sizeof(struct progress_source),
	  PROGRESS_SOURCES_MAX, offsetof(struct recorder_progress, source_count) },
	{ "dying_cgroups", dying_members, ARRAY_SIZE(dying_members),
	  offsetof(struct recorder_progress, cgroups), sizeof(struct progress_dying),
	  PROGRESS_DYING_MAX, offsetof(struct recorder_progress, cgroup_count) },
};

bool progress_naming_hangs(const struct recorder_progress *progress)
{
	return progress->naming_ns > MAX(3 * progress->segment_ns, 60 * NSEC_PER_SEC);
}

static void write_members(const struct member *list, size_t count, const void *of,
			  struct buffer *json)
{
	for (size_t i = 0; i < count; i++) {
		const char *at = (const char *)of + list[i].at;
		uint64_t number;

		json_key(json, list[i].name);
		if (list[i].size) {
			json_string(json, at);
			continue;
		}
		memcpy(&number, at, sizeof(number));
		json_u64(json, number);
	}
}

static void write_list(const struct list *list, const struct recorder_progress *progress,
		       struct buffer *json)
{
	const char *item = (const char *)progress + list->at;
	size_t count;

	memcpy(&count, (const char *)progress + list->count_at, sizeof(count));
	json_key(json, list->name);
	json_open(json, '[');
	for (; count; count--, item += list->size) {
		json_open(json, '{');
		write_members(list->members, list->member_count, item, json);
		json_close(json, '}');
	}
	json_close(json, ']');
}

void progress_write(const struct recorder_progress *progress, struct buffer *json)
{
	json_open(json, '{');
	write_members(members, ARRAY_SIZE(members), progress, json);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		write_list(&lists[i], progress, json);
	json_close(json, '}');
}

/*
 * Copies the characters that fit, with U+FFFD for bytes that are not UTF-8. The JSON writer would
 * replace such bytes later, so the text would grow and be cut at another place.
 */
static void copy_characters(const struct buffer *from, char *text, size_t size)
{
	const char *at = (const char *)from->data;
	size_t left = from->size, used = 0;

	while (left) {
		uint32_t code;
		size_t taken = foreign_take(at, left, &code);
		bool broken = code == FOREIGN_BROKEN;
		size_t put = broken ? strlen(REPLACEMENT) : taken;

		if (!code || put >= size - used)
			break;
		memcpy(text + used, broken ? REPLACEMENT : at, put);
		used += put;
		at += taken;
		left -= taken;
	}
	text[used] = 0;
}

static int progress_read_text(const struct json_token *token, char *text, size_t size)
{
	_cleanup_(buffer_done) struct buffer plain = { 0 };

	json_unescape(token, &plain);
	if (buffer_failed(&plain))
		return -ENOMEM;
	copy_characters(&plain, text, size);
	return 0;
}

static void progress_read_number(const struct json_token *token, char *at)
{
	char digits[24];
	uint64_t number;

	snprintf(digits, sizeof(digits), "%.*s", (int)MIN(token->size, sizeof(digits) - 1),
		 token->text);
	number = strtoull(digits, NULL, 10);
	memcpy(at, &number, sizeof(number));
}

static int read_member(const struct member *member, const struct json_token *token, void *of)
{
	char *at = (char *)of + member->at;

	if (member->size && token->type == JSON_STRING)
		return progress_read_text(token, at, member->size);
	if (!member->size && token->type == JSON_OTHER)
		progress_read_number(token, at);
	return 0;
}

static const struct member *find_member(const struct member *list, size_t count,
					const struct json_token *key)
{
	for (size_t i = 0; i < count; i++)
		if (json_is(key, list[i].name))
			return &list[i];
	return NULL;
}

/* The position of the reader in the status: in the object itself, or in an item of a list. */
struct place {
	struct recorder_progress *progress;
	/* the member of the last key */
	const struct member *member;
	const struct list *list;
	/* the last item; NULL: none so far */
	void *item;
};

static const struct list *find_list(const struct json_token *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (json_is(key, lists[i].name))
			return &lists[i];
	return NULL;
}

static void see_key(struct place *place, unsigned int depth, const struct json_token *token)
{
	place->member = NULL;
	if (depth == 1) {
		place->member = find_member(members, ARRAY_SIZE(members), token);
		place->list = find_list(token);
		place->item = NULL;
	} else if (depth == 3 && place->item) {
		place->member = find_member(place->list->members, place->list->member_count, token);
	}
}

/* Items that do not fit overwrite the last one. */
static void add_item(struct place *place)
{
	const struct list *list = place->list;
	char *progress = (char *)place->progress;
	size_t count;

	memcpy(&count, progress + list->count_at, sizeof(count));
	count += count < list->max;
	memcpy(progress + list->count_at, &count, sizeof(count));
	place->item = progress + list->at + (count - 1) * list->size;
	memset(place->item, 0, list->size);
}

/* Skips members with unknown names, at any depth. */
static int see_token(struct place *place, unsigned int depth, const struct json_token *token)
{
	const struct member *member = place->member;

	if (token->type == JSON_KEY) {
		see_key(place, depth, token);
		return 0;
	}
	place->member = NULL;
	if (token->type == JSON_OPEN && *token->text == '{' && depth == 3 && place->list)
		add_item(place);
	if (!member || (depth != 1 && depth != 3))
		return 0;
	return read_member(member, token, depth == 1 ? (void *)place->progress : place->item);
}

int progress_read(const char *json, size_t size, struct recorder_progress *ret_progress)
{
	struct recorder_progress progress = { 0 };
	struct place place = { .progress = &progress };
	struct json_reader reader;
	struct json_token token;
	int r;

	json_reader_init(&reader, json, size);
	r = json_next(&reader, &token);
	if (r != 1 || token.type != JSON_OPEN || *token.text != '{')
		return -EBADMSG;
	while ((r = json_next(&reader, &token)) == 1 && !token.truncated) {
		r = see_token(&place, reader.depth, &token);
		if (r < 0)
			return r;
	}
	if (r != 0 || reader.depth)
		return r < 0 ? r : -EBADMSG;
	*ret_progress = progress;
	return 0;
}
