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
#include "cli/status/metrics.h"
#include "cli/answer/screen.h"
#include "cli/options/command.h"
#include "cli/status/recording-state.h"
#include "cli/options/limit-options.h"
#include "draw/lines.h"
#include "store/read/store-reader.h"

static const struct option options[] = {
	JSON_OPTION,
	{ "openmetrics", 0, NULL, "print metrics for a monitoring system" },
	{ 0 },
};

static const char about[] =
	"Reports damage that shows without reading all bytes; verify finds changes inside a\n"
	"segment.\n";

/* With more gaps than this, print only the last ones. */
#define GAPS_SHOWN 5

/*
 * Returns whether the store states how the recorder ended, so that its last report does not add
 * anything.
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

/* Puts the first line: whether a recorder runs, and if not, why. */
static void status_put_state(const struct store_status *status, const struct terminal *terminal,
			     bool utc, struct buffer *text)
{
	static const enum terminal_style styles[] = {
		[RECORDING_GOOD] = STYLE_GOOD,	   [RECORDING_STALLED] = STYLE_WARNING,
		[RECORDING_BLOCKED] = STYLE_ALERT, [RECORDING_HELD] = STYLE_ALERT,
		[RECORDING_NOT] = STYLE_ALERT,	   [RECORDING_SNAPSHOT] = STYLE_BOLD,
	};
	enum recording_state state = recording_state_of(status);
	const char *name = recording_state_name(state);
	_cleanup_(buffer_done) struct buffer rest = { 0 };

	put_state(terminal, styles[state], name, text);
	recording_state_explain(status, utc, &rest);
	buffer_u8(&rest, 0);
	text->failed |= buffer_failed(&rest);
	if (!text->failed)
		lines_put(terminal,
			  (struct lines_shape){ .used = strlen(name) + 2 * terminal->unicode,
						.indent = HEAD_INDENT },
			  (const char *)rest.data, text);
}

static void print_reached(struct field_lines *fields, const struct store_status *status, bool utc)
{
	uint64_t end_ns = status->totals.unsealed_end_ns;
	char shown[TIME_TEXT_SIZE], age[32];

	if (status->pid && status->totals.unsealed)
		field_line(
			fields, "reaches", "%s, %s", time_format(end_ns, utc, 3, shown),
			age_format(status->now_ns - MIN(status->now_ns, end_ns), age, sizeof(age)));
}

static void print_size(struct field_lines *fields, const struct store_status *status)
{
	const struct store_totals *totals = &status->totals;
	char all[32], segments[32], spool[32], daily[32], left[32];
	uint64_t day_bytes = store_status_bytes_a_day(status);

	if (recording_state_of(status) == RECORDING_SNAPSHOT) {
		field_line(fields, "size", "%s", size_format(totals->bytes, all, sizeof(all)));
		return;
	}
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
 * Prints which data the store had before: removed ranges, and vanished files. Counts segments
 * separately that vanished since the last recorder ran.
 */
static void print_gone(struct field_lines *fields, const struct store_status *status, bool utc)
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
static void status_print_gaps(struct field_lines *fields, const struct store_status *status,
			      bool utc)
{
	size_t count = status->day.gaps.count - (store_status_last_gap(status) != NULL), left = 0;
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

/* Prints the limits. A snapshot has none. */
static int status_print_limits(struct field_lines *fields, const struct store_status *status)
{
	_cleanup_(buffer_done) struct buffer limits = { 0 };

	if (recording_state_of(status) == RECORDING_SNAPSHOT)
		return 0;
	limits_describe(&status->limits, &limits);
	if (buffer_failed(&limits))
		return -ENOMEM;
	field_line(fields, "limits", "%.*s", (int)limits.size, (char *)limits.data);
	return 0;
}

static void status_print_samples(struct field_lines *fields, const struct store_status *status)
{
	field_begin(fields, "samples");
	field_add(fields, "%llu, %llu lost", (unsigned long long)status->totals.samples,
		  (unsigned long long)status->totals.lost);
	if (recording_state_of(status) != RECORDING_SNAPSHOT)
		field_add(fields, ", %llu lost in the last day",
			  (unsigned long long)status->day_lost);
	field_end(fields);
}

static int print_status(struct field_lines *fields, const struct store_status *status, bool utc)
{
	const struct store_totals *totals = &status->totals;
	char begin[TIME_TEXT_SIZE], end[TIME_TEXT_SIZE];

	field_line(fields, "store", "%s", status->path);
	if (*status->facts.host)
		field_line(fields, "host", "%s", status->facts.host);
	/* first, because all that follows leaves it out */
	if (totals->damaged)
		field_line(fields, "damaged", "%llu; perftape verify names them",
			   (unsigned long long)totals->damaged);
	print_reached(fields, status, utc);
	recorder_text_print(fields, &status->recorder, is_stop_known(store_status_last_gap(status)),
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
	status_print_samples(fields, status);
	print_size(fields, status);
	if (status_print_limits(fields, status) < 0)
		return -ENOMEM;
	status_print_gaps(fields, status, utc);
	print_gone(fields, status, utc);
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

static void status_put_all(struct buffer *json, const struct store_status *status)
{
	const struct store_totals *totals = &status->totals;
	const struct coverage_gap *last = store_status_last_gap(status);

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
	status_put_number(json, "bytes_a_day", store_status_bytes_a_day(status));
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

static int status_print_metrics(struct store_reader *reader)
{
	_cleanup_(cleanup_metrics_kept) struct metrics_kept *kept = metrics_kept_new();
	_cleanup_(buffer_done) struct buffer text = { 0 };
	struct error error = { 0 };
	int r = kept ? metrics_put(kept, reader, METRICS_OPENMETRICS, &text, &error) : -ENOMEM;

	return r < 0 ? fail(r, &error) : screen_print(&text);
}

static int status_print_all(const struct invocation *invocation, struct store_reader *reader,
			    const struct terminal *terminal)
{
	_cleanup_(cleanup_store_listing) struct store_listing *listing = store_listing_new();
	_cleanup_(field_lines_done) struct field_lines fields = { 0 };
	bool utc = option_given(invocation, "utc"), json = option_given(invocation, "json");
	_cleanup_(store_status_done) struct store_status status = { 0 };
	struct error error = { 0 };
	int r = listing ? 0 : -ENOMEM;

	/* one look answers all questions */
	store_reader_use_listing(reader, listing);
	if (r == 0)
		r = store_status_read(reader, &status, &error);
	store_reader_use_listing(reader, NULL);
	field_lines_init(&fields);
	if (r < 0)
		return fail(r, &error);
	if (json)
		status_put_all(&fields.lines, &status);
	if (!json) {
		status_put_state(&status, terminal, utc, &fields.lines);
		r = print_status(&fields, &status, utc);
	}
	if (r < 0)
		return fail(r, &error);
	return json ? screen_print(&fields.lines) : screen_print_drawing(terminal, &fields.lines);
}

static int status_run(const struct invocation *invocation)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct error error = { 0 };
	struct terminal terminal;
	int r = screen_read(invocation, &terminal);

	if (r != EXIT_DONE)
		return r;
	if (option_given(invocation, "json") && option_given(invocation, "openmetrics"))
		return usage_error("--json and --openmetrics exclude each other; give one");
	r = store_reader_open(store_path(invocation), &reader, &error);
	if (r < 0)
		return fail(r, &error);
	return option_given(invocation, "openmetrics")
		       ? status_print_metrics(reader)
		       : status_print_all(invocation, reader, &terminal);
}

const struct command command_status = {
	.name = "status",
	.summary = "Show whether it records, what is stored, and what was lost",
	.about = about,
	.options = options,
	.run = status_run,
};
