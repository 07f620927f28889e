// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/progress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json.h"

#define NUMBER_OF(type, name)                  \
	{                                      \
#name, offsetof(type, name), 0 \
	}
#define NUMBER(name) NUMBER_OF(struct recorder_progress, name)
#define TEXT(name, at)                                                 \
	{                                                              \
		name, offsetof(struct recorder_progress, at),          \
			sizeof(((struct recorder_progress *)NULL)->at) \
	}

struct member {
	const char *name;
	size_t at;
	size_t size; /* of a text; 0: it is a number */
};

static const struct member members[] = {
	TEXT("version", version),
	TEXT("event", event),
	NUMBER(frequency),
	NUMBER(cpus),
	NUMBER(segment_ns),
	TEXT("missing", missing),
	NUMBER(elapsed_ns),
	NUMBER(begin_ns),
	NUMBER(end_ns),
	NUMBER(stopping),
	NUMBER(samples),
	NUMBER(lost),
	NUMBER(lost_sideband),
	NUMBER(lost_events),
	NUMBER(missed),
	NUMBER(throttled),
	NUMBER(limit),
	NUMBER(offline),
	NUMBER(offline_now),
	NUMBER(damaged),
	NUMBER(cut),
	NUMBER(given_up),
	NUMBER(segments),
	NUMBER(bytes),
	NUMBER(waiting),
	NUMBER(spool_lag_ns),
	NUMBER(stalled),
	TEXT("error", error.text),
	TEXT("warning", warning.text),
	TEXT("log_trouble", log_trouble.text),
	TEXT("dying", dying),
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
	NUMBER(ring_peak_bytes),
	NUMBER(sideband_peak_bytes),
	NUMBER(rides_out_ns),
	NUMBER(late_ns),
	NUMBER(late_peak_ns),
	NUMBER(held_ns),
	NUMBER(starved_ns),
	NUMBER(drain_ns),
	NUMBER(drain_peak_ns),
};

/* An array of objects, one a source. */
static const char sources_name[] = "figures";
static const struct member source_members[] = {
	{ "source", offsetof(struct progress_source, name),
		sizeof(((struct progress_source *)NULL)->name) },
	NUMBER_OF(struct progress_source, reads),
	NUMBER_OF(struct progress_source, failures),
	NUMBER_OF(struct progress_source, cpu_ns),
	NUMBER_OF(struct progress_source, longest_ns),
};

static void write_members(
	const struct member *list, size_t count, const void *of, struct buffer *json)
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

void progress_write(const struct recorder_progress *progress, struct buffer *json)
{
	json_open(json, '{');
	write_members(members, ARRAY_SIZE(members), progress, json);
	json_key(json, sources_name);
	json_open(json, '[');
	for (size_t i = 0; i < progress->source_count; i++) {
		json_open(json, '{');
		write_members(
			source_members, ARRAY_SIZE(source_members), &progress->sources[i], json);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

/* Cut where there is no room for all of it. */
static int read_text(const struct json_token *token, char *text, size_t size)
{
	_cleanup_(buffer_done) struct buffer plain = { 0 };

	json_unescape(token, &plain);
	if (buffer_failed(&plain))
		return -ENOMEM;
	snprintf(text, size, "%.*s", (int)MIN(plain.size, size - 1),
		plain.data ? (const char *)plain.data : "");
	return 0;
}

static void read_number(const struct json_token *token, char *at)
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
		return read_text(token, at, member->size);
	if (!member->size && token->type == JSON_OTHER)
		read_number(token, at);
	return 0;
}

static const struct member *find_member(
	const struct member *list, size_t count, const struct json_token *key)
{
	for (size_t i = 0; i < count; i++)
		if (json_is(key, list[i].name))
			return &list[i];
	return NULL;
}

/* Where the reading stands: in the object itself, or in one of its sources. */
struct place {
	struct recorder_progress *progress;
	const struct member *member; /* whose key came last */
	bool in_sources;
};

static void see_key(struct place *place, unsigned int depth, const struct json_token *token)
{
	place->member = NULL;
	if (depth == 1) {
		place->member = find_member(members, ARRAY_SIZE(members), token);
		place->in_sources = json_is(token, sources_name);
	} else if (depth == 3 && place->in_sources && place->progress->source_count) {
		place->member = find_member(source_members, ARRAY_SIZE(source_members), token);
	}
}

/* What stands under another name is passed over, however deep. */
static int see_token(struct place *place, unsigned int depth, const struct json_token *token)
{
	struct recorder_progress *progress = place->progress;
	const struct member *member = place->member;

	if (token->type == JSON_KEY) {
		see_key(place, depth, token);
		return 0;
	}
	place->member = NULL;
	if (token->type == JSON_OPEN && *token->text == '{' && depth == 3 && place->in_sources) {
		/* the last place is for all that there is no room for */
		progress->source_count += progress->source_count < PROGRESS_SOURCES_MAX;
		progress->sources[progress->source_count - 1] =
			(struct progress_source){ .reads = 0 };
	}
	if (!member || (depth != 1 && depth != 3))
		return 0;
	return read_member(member, token,
		depth == 1 ? (void *)progress : &progress->sources[progress->source_count - 1]);
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
	while ((r = json_next(&reader, &token)) == 1 && !token.cut) {
		r = see_token(&place, reader.depth, &token);
		if (r < 0)
			return r;
	}
	if (r != 0 || reader.depth)
		return r < 0 ? r : -EBADMSG;
	*ret_progress = progress;
	return 0;
}
