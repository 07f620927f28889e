// SPDX-License-Identifier: GPL-2.0-only
#include "cli/answer/dying-text.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/number.h"
#include "draw/text.h"

/* The number that a running recorder reports. */
#define KINDS_PRINTED 8

static void put_actor(const char *what, const char *comm, uint64_t pid, struct buffer *text)
{
	if (!*comm)
		return;
	buffer_printf(text, ", %s by %s", what, comm);
	if (pid)
		buffer_printf(text, " (process %" PRIu64 ")", pid);
}

static void dying_text_put_kind(const struct dying_state_kind *kind, struct buffer *text)
{
	char age[32];

	buffer_printf(text, "%" PRIu64 " dying cgroup%s under %s", kind->count,
		      kind->count == 1 ? "" : "s", *kind->prefix ? kind->prefix : "/");
	put_actor("made", kind->made_by, kind->made_by_pid, text);
	put_actor("removed", kind->removed_by, kind->removed_by_pid, text);
	if (kind->oldest_s)
		buffer_printf(text, ", the oldest for %s",
			      duration_format(MIN(kind->oldest_s, UINT64_MAX / NSEC_PER_SEC) *
						      NSEC_PER_SEC,
					      age, sizeof(age)));
}

void dying_text_kind(const struct dying_state_kind *kind, const struct terminal *terminal,
		     struct buffer *text)
{
	_cleanup_(buffer_done) struct buffer raw = { 0 };

	dying_text_put_kind(kind, &raw);
	buffer_u8(&raw, 0);
	if (buffer_failed(&raw))
		text->failed = true;
	else
		text_put_short(terminal, (const char *)raw.data, UINT32_MAX, text);
}

void dying_text_lines(const struct dying_state *state, size_t limit,
		      const struct terminal *terminal, struct buffer *text)
{
	uint64_t shown = 0;
	size_t count = MIN(state->kinds.count, limit), others = state->kinds.count - count;

	for (size_t i = 0; i < count; i++) {
		dying_text_kind(&state->kinds.items[i], terminal, text);
		buffer_u8(text, '\n');
		shown += state->kinds.items[i].count;
	}
	if (others)
		buffer_printf(text, "%" PRIu64 " dying cgroups under %zu other path%s\n",
			      state->count - shown, others, others == 1 ? "" : "s");
}

void dying_text_two_counts(struct buffer *text)
{
	buffer_text(text, "(those that the recorder saw removed; memory_cgroups/dying has all)\n");
}

void dying_text_print(struct field_lines *fields, const struct dying_state *state, bool utc)
{
	char time[TIME_TEXT_SIZE];

	field_line(fields, "dying",
		   "%" PRIu64 " cgroup%s that the recorder saw removed, not gone at %s",
		   state->count, plural(state->count), time_format(state->at_ns, utc, 0, time));
	for (size_t i = 0; i < MIN(state->kinds.count, (size_t)KINDS_PRINTED); i++) {
		_cleanup_(buffer_done) struct buffer text = { 0 };

		dying_text_kind(&state->kinds.items[i], &fields->terminal, &text);
		field_line(fields, "", "%s", buffer_shown(&text));
	}
}

static void put_number(struct buffer *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_u64(json, value);
}

static void put_process(struct buffer *json, const char *key, const char *comm, uint64_t pid)
{
	json_key(json, key);
	if (!*comm) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_key(json, "comm");
	json_string(json, comm);
	if (pid)
		put_number(json, "pid", pid);
	json_close(json, '}');
}

void dying_text_json(const struct dying_state *state, struct buffer *json)
{
	if (!state->at_ns) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_time(json, "time", state->at_ns);
	put_number(json, "count", state->count);
	put_number(json, "counted_s", state->counted_s);
	put_number(json, "unsure", state->unsure);
	json_key(json, "paths");
	json_open(json, '[');
	for (size_t i = 0; i < state->kinds.count; i++) {
		const struct dying_state_kind *kind = &state->kinds.items[i];

		json_open(json, '{');
		json_key(json, "prefix");
		json_string(json, kind->prefix);
		put_number(json, "count", kind->count);
		put_number(json, "oldest_s", kind->oldest_s);
		put_process(json, "made_by", kind->made_by, kind->made_by_pid);
		put_process(json, "removed_by", kind->removed_by, kind->removed_by_pid);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}
