// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/number.h"
#include "base/size.h"
#include "cli/answer/coverage-line.h"
#include "cli/answer/dying-text.h"
#include "cli/answer/field-lines.h"
#include "cli/answer/host-name.h"
#include "cli/answer/screen.h"
#include "cli/options/command.h"
#include "cli/options/limit-options.h"
#include "cli/answer/recorder-text.h"
#include "draw/lines.h"
#include "query/read/recorded.h"
#include "store/read/store-reader.h"

#define DAY_NS (24 * 3600 * NSEC_PER_SEC)

static const struct option options[] = {
	JSON_OPTION,
	{ 0 },
};

static const char about[] =
	"Reports damage that shows without reading all bytes; verify finds changes inside a\n"
	"segment.\n";

struct status {
	const char *path;
	uint64_t now_ns;
	/* The pid of the recorder; 0: no recorder runs. */
	int pid;
	uint64_t since_ns;
	struct recorder_text recorder;
	struct store_totals totals;
	struct store_limits limits;
	struct store_removed_ranges gone;
	/* The next three members count segments that began within the last day. */
	uint64_t day_lost;
	uint64_t day_bytes;
	uint64_t day_ns;
	/* The gaps of the last day, if anything was recorded at all. */
	struct coverage day;
	/* Read only if no recorder runs: a recorder knows more. */
	struct dying_state dying;
	struct recorded_facts facts;
};

/* If there are more gaps than this, only the last ones are printed. */
#define GAPS_SHOWN 5

/*
 * Computes the coverage of the last day. It ends now, or at the end of what the recorder has
 * written. It begins at the end of the last recording if that was more than a day ago.
 */
static int cover_day(struct status *status, struct store_reader *reader,
		     const struct store_segments *segments, struct error *error)
{
	struct window window = {
		.from_ns = MAX(status->totals.begin_ns,
			       MIN(status->now_ns - DAY_NS, status->totals.end_ns)),
		.to_ns = status->pid && status->totals.unsealed ? status->totals.unsealed_end_ns
								: status->now_ns,
	};

	if (!status->totals.begin_ns || window.from_ns >= window.to_ns)
		return 0;
	return recorded_cover(reader, segments, &window, NULL, &status->day, error);
}

static int add_day(struct status *status, struct store_reader *reader, struct error *error)
{
	struct store_segments segments = { 0 };
	int r = store_reader_find(reader, status->now_ns - DAY_NS, status->now_ns, &segments,
				  error);

	for (size_t i = 0; i < segments.list.count; i++) {
		const struct store_segment *segment = &segments.list.items[i];

		status->day_lost += segment->lost;
		if (segment->unsealed || *segment->damage)
			continue;
		status->day_bytes += segment->bytes;
		status->day_ns += segment->end_ns - segment->begin_ns;
	}
	if (r == 0)
		r = cover_day(status, reader, &segments, error);
	array_done(&segments.list);
	return r;
}

static int read_status(struct status *status, struct store_reader *reader, struct error *error)
{
	static const struct window all = { .to_ns = UINT64_MAX };
	int r;

	status->path = store_reader_path(reader);
	status->now_ns = clock_ns(CLOCK_REALTIME);
	status->pid = store_reader_recorder(reader, &status->since_ns);
	r = recorder_text_read(reader, status->pid, &status->recorder);
	if (r == 0)
		r = store_reader_totals(reader, &status->totals, error);
	if (r == 0)
		r = store_reader_limits(reader, &status->limits, error);
	/* 1 tells that limits are noted */
	if (r >= 0)
		r = store_reader_removed(reader, 0, UINT64_MAX, &status->gone, error);
	if (r == 0 && !status->pid && status->totals.end_ns)
		r = dying_state_read(reader, status->totals.end_ns - 1, status->totals.end_ns + 1,
				     &status->dying, error);
	if (r == 0)
		r = host_name_find(reader, &all, &status->facts, error);
	return r < 0 ? r : add_day(status, reader, error);
}

/*
 * Returns the gap that lasts until now, or NULL. If a recorder runs, no gap lasts until now, even
 * if the recorder has not written anything yet.
 */
static const struct coverage_gap *last_gap(const struct status *status)
{
	size_t count = status->day.gaps.count;
	const struct coverage_gap *last = count ? &status->day.gaps.items[count - 1] : NULL;

	return !status->pid && last && last->to_ns == status->now_ns ? last : NULL;
}

/* Returns the bytes per day at the rate of the last day; 0: unknown. */
static uint64_t bytes_a_day(const struct status *status)
{
	return status->day_ns ? (double)status->day_bytes * DAY_NS / status->day_ns : 0;
}

/* Tells whether the recorder ended by itself, so that its last report says nothing more about it.
 */
static bool is_stop_known(const struct coverage_gap *last)
{
	return last &&
	       (last->cause == COVERAGE_CAUSE_STOPPED || last->cause == COVERAGE_CAUSE_DURATION ||
		last->cause == COVERAGE_CAUSE_ENDED);
}

static void put_state(const struct terminal *terminal, enum terminal_style style, const char *state,
		      struct buffer *text)
{
	terminal_style(terminal, style, text);
	buffer_printf(text, "%s%s", terminal->unicode ? "\u25cf " : "", state);
	terminal_style(terminal, STYLE_PLAIN, text);
}

/* Puts the first line: whether it records, and if not, why. */
static void status_put_state(const struct status *status, const struct terminal *terminal, bool utc,
			     struct buffer *text)
{
	const struct coverage_gap *last = last_gap(status);
	_cleanup_(buffer_done) struct buffer rest = { 0 };
	const char *state = "NOT RECORDING";
	char shown[TIME_TEXT_SIZE];

	if (status->pid) {
		bool stalled = recorder_text_is_stalled(&status->recorder, status->now_ns);

		state = stalled ? "STALLED" : "recording";
		put_state(terminal, stalled ? STYLE_WARNING : STYLE_GOOD, state, text);
		buffer_printf(&rest, ", process %d", status->pid);
		if (status->since_ns)
			buffer_printf(&rest, ", since %s",
				      time_format(status->since_ns, utc, 0, shown));
	} else if (last && last->cause == COVERAGE_CAUSE_NOT_IN_FILE) {
		state = "snapshot";
		put_state(terminal, STYLE_BOLD, state, text);
		buffer_printf(&rest, ", ends %s", time_format(last->from_ns, utc, 0, shown));
	} else {
		put_state(terminal, STYLE_ALERT, state, text);
		if (last)
			buffer_printf(&rest, ", since %s",
				      time_format(last->from_ns, utc, 0, shown));
		if (last && last->cause)
			buffer_printf(&rest, ": %s", last->why);
	}
	buffer_u8(&rest, 0);
	text->failed |= buffer_failed(&rest);
	if (!text->failed)
		lines_put(terminal,
			  (struct lines_shape){ .used = strlen(state) + 2 * terminal->unicode,
						.indent = HEAD_INDENT },
			  (const char *)rest.data, text);
}

static void print_reached(struct field_lines *fields, const struct status *status, bool utc)
{
	uint64_t end_ns = status->totals.unsealed_end_ns;
	char shown[TIME_TEXT_SIZE], age[32];

	if (status->pid && status->totals.unsealed)
		field_line(
			fields, "reaches", "%s, %s", time_format(end_ns, utc, 3, shown),
			age_format(status->now_ns - MIN(status->now_ns, end_ns), age, sizeof(age)));
}

static void print_size(struct field_lines *fields, const struct status *status)
{
	const struct store_totals *totals = &status->totals;
	char all[32], segments[32], spool[32], daily[32], left[32];
	uint64_t day_bytes = bytes_a_day(status);

	field_begin(fields, "size");
	field_add(fields, "%s: segments %s, spool %s", size_format(totals->bytes, all, sizeof(all)),
		  size_format(totals->segment_bytes, segments, sizeof(segments)),
		  size_format(totals->spool_bytes, spool, sizeof(spool)));
	if (day_bytes)
		field_add(fields, "; %s a day", size_format(day_bytes, daily, sizeof(daily)));
	field_add(fields, "; %s of the disk free",
		  size_format(totals->free_bytes, left, sizeof(left)));
	field_end(fields);
}

/*
 * Prints which data the store had once: removed ranges, and vanished files. Segments that vanished
 * since the last recorder ran are counted separately.
 */
static void print_gone(struct field_lines *fields, const struct status *status, bool utc)
{
	_cleanup_(buffer_done) struct buffer removed = { 0 }, vanished = { 0 };
	uint64_t count = status->totals.vanished;

	if (gone_describe(&status->gone, false, utc, &removed))
		field_line(fields, "removed", "by retention: %s", buffer_shown(&removed));
	if (gone_describe(&status->gone, true, utc, &vanished))
		field_line(fields, "vanished", "files of segments: %s", buffer_shown(&vanished));
	if (count)
		field_line(fields, "vanished",
			   "the file%s of %llu segment%s; perftape segments names them",
			   plural(count), (unsigned long long)count, plural(count));
}

/* Prints the last gaps, except the gap that lasts until now and the removed ranges. */
static void status_print_gaps(struct field_lines *fields, const struct status *status, bool utc)
{
	size_t count = status->day.gaps.count - (last_gap(status) != NULL), left = 0;
	char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE], length[32];

	for (size_t i = 0; i < count; i++)
		left += !status->day.gaps.items[i].until_ns;
	if (left > GAPS_SHOWN)
		field_line(fields, "gaps", "%zu in the last day; the last ones:", left);
	for (size_t i = 0; i < count; i++) {
		const struct coverage_gap *gap = &status->day.gaps.items[i];

		if (gap->until_ns || left-- > GAPS_SHOWN)
			continue;
		field_line(fields, "gap", "%s to %s (%s): %s",
			   time_format(gap->from_ns, utc, 0, from),
			   time_format(gap->to_ns, utc, 0, to),
			   duration_format(gap->to_ns - gap->from_ns, length, sizeof(length)),
			   gap->why);
	}
}

static int print_status(struct field_lines *fields, const struct status *status, bool utc)
{
	const struct store_totals *totals = &status->totals;
	_cleanup_(buffer_done) struct buffer limits = { 0 };
	char begin[TIME_TEXT_SIZE], end[TIME_TEXT_SIZE];

	field_line(fields, "store", "%s", status->path);
	if (*status->facts.host)
		field_line(fields, "host", "%s", status->facts.host);
	print_reached(fields, status, utc);
	recorder_text_print(fields, &status->recorder, is_stop_known(last_gap(status)),
			    status->now_ns, utc);
	/* a recorder that was killed left its last report */
	if (status->dying.at_ns && !status->recorder.progress.cgroup_count)
		dying_text_print(fields, &status->dying, utc);
	field_begin(fields, "segments");
	field_add(fields, "%llu", (unsigned long long)totals->segments);
	if (totals->unsealed)
		field_add(fields, ", %llu not sealed yet", (unsigned long long)totals->unsealed);
	field_end(fields);
	if (totals->begin_ns)
		field_line(fields, "from, to", "%s, %s",
			   time_format(totals->begin_ns, utc, 3, begin),
			   time_format(totals->end_ns, utc, 3, end));
	field_line(fields, "samples", "%llu, %llu lost, %llu lost in the last day",
		   (unsigned long long)totals->samples, (unsigned long long)totals->lost,
		   (unsigned long long)status->day_lost);
	print_size(fields, status);
	limits_describe(&status->limits, &limits);
	if (buffer_failed(&limits))
		return -ENOMEM;
	field_line(fields, "limits", "%.*s", (int)limits.size, (char *)limits.data);
	status_print_gaps(fields, status, utc);
	print_gone(fields, status, utc);
	if (totals->damaged)
		field_line(fields, "damaged", "%llu; perftape verify names them",
			   (unsigned long long)totals->damaged);
	return 0;
}

static void status_put_number(struct buffer *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_u64(json, value);
}

static void put_limit(struct buffer *json, const char *key, uint64_t limit)
{
	json_key(json, key);
	if (limit == UINT64_MAX)
		json_null(json);
	else
		json_u64(json, limit);
}

static void put_gone(struct buffer *json, const struct store_removed_ranges *gone)
{
	json_key(json, "gone");
	json_open(json, '[');
	for (size_t i = 0; i < gone->list.count; i++) {
		const struct store_removed_range *one = &gone->list.items[i];

		json_open(json, '{');
		json_time_or_null(json, "from", one->from_ns);
		json_time_or_null(json, "to", one->to_ns);
		json_key(json, "why");
		json_string(json, one->vanished ? "vanished" : "removed by retention");
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_stopped(struct buffer *json, const struct coverage_gap *last)
{
	if (!last) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_time_or_null(json, "since", last->from_ns);
	json_key(json, "why");
	json_string(json, last->why);
	json_key(json, "cause");
	json_string(json, coverage_cause_name(last->cause));
	json_close(json, '}');
}

static void put_status(struct buffer *json, const struct status *status)
{
	const struct store_totals *totals = &status->totals;
	const struct coverage_gap *last = last_gap(status);

	json_open(json, '{');
	json_key(json, "store");
	json_string(json, status->path);
	recorded_facts_put_host(&status->facts, json);
	json_time_or_null(json, "now", status->now_ns);
	status_put_number(json, "recorder", status->pid);
	json_time_or_null(json, "since", status->since_ns);
	json_time_or_null(json, "reaches", totals->unsealed_end_ns);
	status_put_number(json, "segments", totals->segments);
	status_put_number(json, "unsealed", totals->unsealed);
	json_time_or_null(json, "begin", totals->begin_ns);
	json_time_or_null(json, "end", totals->end_ns);
	status_put_number(json, "samples", totals->samples);
	status_put_number(json, "lost", totals->lost);
	status_put_number(json, "lost_last_day", status->day_lost);
	status_put_number(json, "bytes", totals->bytes);
	status_put_number(json, "segment_bytes", totals->segment_bytes);
	status_put_number(json, "spool_bytes", totals->spool_bytes);
	status_put_number(json, "bytes_a_day", bytes_a_day(status));
	status_put_number(json, "free_bytes", totals->free_bytes);
	put_limit(json, "max_age_ns", status->limits.max_age_ns);
	put_limit(json, "max_bytes", status->limits.max_bytes);
	put_limit(json, "keep_free_bytes", status->limits.keep_free_bytes);
	put_limit(json, "pin_ns", status->limits.pin_ns);
	status_put_number(json, "damaged", totals->damaged);
	status_put_number(json, "vanished", totals->vanished);
	put_gone(json, &status->gone);
	json_key(json, "gaps_last_day");
	coverage_put_gaps(&status->day, status->day.gaps.count - (last != NULL), json);
	json_key(json, "stopped");
	put_stopped(json, last);
	json_key(json, "dying_cgroups");
	dying_text_json(&status->dying, json);
	json_key(json, "recording");
	recorder_text_json(&status->recorder, status->now_ns, json);
	json_close(json, '}');
	buffer_text(json, "\n");
}

static int status_run(const struct invocation *invocation)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(field_lines_done) struct field_lines fields;
	struct status status = { 0 };
	struct error error = { 0 };
	struct terminal terminal;
	int r, code;

	field_lines_init(&fields);
	code = screen_read(invocation, &terminal);
	if (code != EXIT_DONE)
		return code;
	r = store_reader_open(store_path(invocation), &reader, &error);
	if (r == 0)
		r = read_status(&status, reader, &error);
	if (r == 0 && !option_given(invocation, "json"))
		status_put_state(&status, &terminal, option_given(invocation, "utc"),
				 &fields.lines);
	if (r == 0 && !option_given(invocation, "json"))
		r = print_status(&fields, &status, option_given(invocation, "utc"));
	else if (r == 0)
		put_status(&fields.lines, &status);
	array_done(&status.gone.list);
	array_done(&status.day.gaps);
	dying_state_done(&status.dying);
	if (r < 0)
		return fail(r, &error);
	return option_given(invocation, "json") ? screen_print(&fields.lines)
						: screen_print_drawing(&terminal, &fields.lines);
}

const struct command command_status = {
	.name = "status",
	.summary = "Show whether it records, what is stored, and what was lost",
	.about = about,
	.options = options,
	.run = status_run,
};
