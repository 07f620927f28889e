// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/progress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json.h"

#define NUMBER(name)                                               \
	{                                                          \
#name, offsetof(struct recorder_progress, name), 0 \
	}
#define TEXT(name, at)                                                 \
	{                                                              \
		name, offsetof(struct recorder_progress, at),          \
			sizeof(((struct recorder_progress *)NULL)->at) \
	}

static const struct member {
	const char *name;
	size_t at;
	size_t size; /* of a text; 0: it is a number */
} members[] = {
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
	NUMBER(missed),
	NUMBER(throttled),
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
	NUMBER(cpu_ns),
	NUMBER(recent_ns),
	NUMBER(recent_cpu_ns),
	NUMBER(recent_samples),
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
	NUMBER(drain_ns),
	NUMBER(drain_peak_ns),
};

void progress_write(const struct recorder_progress *progress, struct buffer *json)
{
	json_open(json, '{');
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		const char *at = (const char *)progress + members[i].at;
		uint64_t number;

		json_key(json, members[i].name);
		if (members[i].size) {
			json_string(json, at);
			continue;
		}
		memcpy(&number, at, sizeof(number));
		json_u64(json, number);
	}
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

static int read_member(const struct member *member, const struct json_token *token,
	struct recorder_progress *progress)
{
	char *at = (char *)progress + member->at;

	if (member->size && token->type == JSON_STRING)
		return read_text(token, at, member->size);
	if (!member->size && token->type == JSON_OTHER)
		read_number(token, at);
	return 0;
}

static const struct member *find_member(const struct json_token *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (json_is(key, members[i].name))
			return &members[i];
	return NULL;
}

int progress_read(const char *json, size_t size, struct recorder_progress *ret_progress)
{
	struct recorder_progress progress = { 0 };
	const struct member *member = NULL;
	struct json_reader reader;
	struct json_token token;
	int r;

	json_reader_init(&reader, json, size);
	r = json_next(&reader, &token);
	if (r != 1 || token.type != JSON_OPEN || *token.text != '{')
		return -EBADMSG;
	while ((r = json_next(&reader, &token)) == 1 && !token.cut) {
		if (token.type == JSON_KEY && reader.depth == 1) {
			member = find_member(&token);
			continue;
		}
		r = member && reader.depth == 1 ? read_member(member, &token, &progress) : 0;
		if (r < 0)
			return r;
		member = NULL;
	}
	if (r != 0 || reader.depth)
		return r < 0 ? r : -EBADMSG;
	*ret_progress = progress;
	return 0;
}
