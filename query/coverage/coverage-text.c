// SPDX-License-Identifier: GPL-2.0-only
/* Texts and JSON about a window's coverage. */
#include <assert.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/number.h"
#include "query/coverage/coverage.h"

/* The largest number of offline stretches that a text lists. The text only counts more. */
#define OFFLINE_SHOWN 4

static const char in_part[] = " in part of the window";

const char *coverage_cause_name(enum coverage_cause cause)
{
	static const char *const names[] = {
		[COVERAGE_CAUSE_UNKNOWN] = "unknown",
		[COVERAGE_CAUSE_STOPPED] = "stopped",
		[COVERAGE_CAUSE_DURATION] = "duration",
		[COVERAGE_CAUSE_KILLED] = "killed",
		[COVERAGE_CAUSE_ENDED] = "ended",
		[COVERAGE_CAUSE_REBOOTED] = "rebooted",
		[COVERAGE_CAUSE_SUSPENDED] = "suspended",
		[COVERAGE_CAUSE_STALLED] = "stalled",
		[COVERAGE_CAUSE_UNSAVED] = "unsaved",
		[COVERAGE_CAUSE_NOT_BEGUN] = "not-begun",
		[COVERAGE_CAUSE_NOT_IN_FILE] = "not-in-file",
		[COVERAGE_CAUSE_FUTURE] = "future",
		[COVERAGE_CAUSE_UNWRITTEN] = "unwritten",
		[COVERAGE_CAUSE_REMOVED] = "removed",
		[COVERAGE_CAUSE_VANISHED] = "vanished",
		[COVERAGE_CAUSE_UNREADABLE] = "unreadable",
		[COVERAGE_CAUSE_DAMAGED] = "damaged",
		[COVERAGE_CAUSE_OFFLINE] = "offline",
	};

	assert((size_t)cause < ARRAY_SIZE(names));
	return names[cause];
}

static void put_percent(struct buffer *text, uint64_t part, uint64_t whole)
{
	char shown[SHARE_TEXT_SIZE];

	buffer_text(text, share_format(whole ? (double)part / (double)whole : 0, shown));
}

static void coverage_text_put_count(struct buffer *text, uint64_t count, const char *one,
				    const char *many, const char *what)
{
	if (count)
		buffer_printf(text, ", %" PRIu64 " %s%s", count, count == 1 ? one : many, what);
}

static void put_skipped(const struct coverage *coverage, struct buffer *text)
{
	if (coverage->skipped)
		buffer_printf(text, ", %s%" PRIu64 " sample%s skipped",
			      coverage->skipped_over_edge ? "about " : "", coverage->skipped,
			      plural(coverage->skipped));
}

/* Lists each offline stretch and its length, or only counts them if there are many. */
static void put_offline(const struct coverage *coverage, struct buffer *text)
{
	char length[64];
	size_t count = 0;

	for (size_t i = 0; i < coverage->gaps.count; i++)
		count += *coverage->gaps.items[i].cpus != 0;
	if (!count || count > OFFLINE_SHOWN) {
		coverage_text_put_count(text, coverage->offline, "time", "times",
					" a CPU was offline");
		return;
	}
	for (size_t i = 0; i < coverage->gaps.count; i++) {
		const struct coverage_gap *gap = &coverage->gaps.items[i];

		if (*gap->cpus)
			buffer_printf(
				text, ", %s for %s", gap->why,
				duration_format(gap->to_ns - gap->from_ns, length, sizeof(length)));
	}
}

static void put_stalled(struct buffer *text, uint64_t length_ns, const char *what)
{
	char length[32];

	if (length_ns)
		buffer_printf(text, ", %s for at least %s", what,
			      duration_format(length_ns, length, sizeof(length)));
}

void coverage_describe(const struct coverage *coverage, struct buffer *text)
{
	uint64_t gap_ns = coverage->window_ns - coverage->covered_ns;
	char shown[64], stacks[STACKS_TEXT_SIZE];

	buffer_text(text, "covered ");
	put_percent(text, coverage->covered_ns, coverage->window_ns);
	if (gap_ns)
		buffer_printf(text, " (%s not recorded)",
			      duration_format(gap_ns, shown, sizeof(shown)));
	buffer_printf(text, ", %s%" PRIu64 " sample%s lost%s",
		      coverage->lost_over_edge && coverage->lost_samples ? "about " : "",
		      coverage->lost_samples, plural(coverage->lost_samples),
		      coverage->lost_in_part && coverage->lost_samples ? in_part : "");
	if (coverage->unsaved)
		buffer_printf(text, ", %s%" PRIu64 " sample%s unsaved%s",
			      coverage->lost_over_edge ? "about " : "", coverage->unsaved,
			      plural(coverage->unsaved), coverage->lost_in_part ? in_part : "");
	put_skipped(coverage, text);
	coverage_text_put_count(text, coverage->lost_sideband, "record", "records",
				" of names lost (names may be wrong)");
	coverage_text_put_count(text, coverage->refused, "record", "records",
				" of names refused (a process made too many)");
	coverage_text_put_count(text, coverage->throttled, "time", "times", " throttled");
	if (coverage->limit)
		buffer_printf(text,
			      ", at most %" PRIu64 " samples a second allowed by the kernel%s",
			      coverage->limit, coverage->limit_in_part ? in_part : "");
	coverage_text_put_count(text, coverage->damaged, "part", "parts",
				" that could not be read");
	coverage_text_put_count(text, coverage->stalled, "time", "times", " the recorder stalled");
	put_stalled(text, coverage->stalled_signal_ns, "recorder stalled by a signal");
	put_stalled(text, coverage->stalled_cpu_ns, "recorder stalled without a CPU or frozen");
	put_offline(coverage, text);
	coverage_text_put_count(text, coverage->truncated, "callchain", "callchains", " truncated");
	if (*coverage->left_out)
		buffer_printf(text, ", CPU%s %s not recorded%s",
			      strpbrk(coverage->left_out, ",-") ? "s" : "", coverage->left_out,
			      coverage->left_out_in_part ? in_part : "");
	if (coverage->frames) {
		buffer_text(text, ", names: ");
		put_percent(text, coverage->named, coverage->frames);
	}
	if (coverage->stacks_read && *stacks_text(&coverage->stacks, stacks))
		buffer_printf(text, ", user stacks: %s", stacks);
	if (coverage->clock_error_ns)
		buffer_printf(text, ", times within %s",
			      duration_format(MAX(coverage->clock_error_ns, NSEC_PER_USEC), shown,
					      sizeof(shown)));
}

static void put_gap(const struct coverage_gap *gap, struct buffer *json)
{
	json_open(json, '{');
	json_time(json, "from", gap->from_ns);
	json_time(json, "to", gap->to_ns);
	json_key(json, "why");
	json_string(json, gap->why);
	json_key(json, "cause");
	json_string(json, coverage_cause_name(gap->cause));
	if (*gap->cpus) {
		json_key(json, "cpus");
		json_string(json, gap->cpus);
	}
	if (gap->until_ns) {
		json_time(json, "since", gap->since_ns);
		json_time(json, "until", gap->until_ns);
	}
	json_close(json, '}');
}

void coverage_put_gaps(const struct coverage *coverage, size_t count, struct buffer *json)
{
	json_open(json, '[');
	for (size_t i = 0; i < count; i++)
		put_gap(&coverage->gaps.items[i], json);
	json_close(json, ']');
}

void coverage_put_json(const struct coverage *coverage, const struct window *window,
		       struct buffer *json)
{
	const struct {
		const char *key;
		uint64_t value;
	} members[] = {
		{ "window_ns", coverage->window_ns },
		{ "covered_ns", coverage->covered_ns },
		{ "lost", coverage->lost_samples },
		{ "unsaved", coverage->unsaved },
		{ "skipped", coverage->skipped },
		{ "lost_names", coverage->lost_sideband },
		{ "throttled", coverage->throttled },
		{ "limit", coverage->limit },
		{ "damaged", coverage->damaged },
		{ "stalled", coverage->stalled },
		{ "stalled_signal_ns", coverage->stalled_signal_ns },
		{ "stalled_cpu_ns", coverage->stalled_cpu_ns },
		{ "offline", coverage->offline },
		{ "truncated", coverage->truncated },
		{ "lost_events", coverage->lost_events },
		{ "frames", coverage->frames },
		{ "named", coverage->named },
		{ "clock_error_ns", coverage->clock_error_ns },
	};

	json_open(json, '{');
	json_key(json, "coverage");
	json_open(json, '{');
	json_time(json, "from", window->from_ns);
	json_time(json, "to", window->to_ns);
	recorded_facts_put_host(&coverage->facts, json);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		json_key(json, members[i].key);
		json_u64(json, members[i].value);
	}
	if (coverage->refused) {
		json_key(json, "refused_names");
		json_u64(json, coverage->refused);
	}
	if (*coverage->left_out) {
		json_key(json, "cpus_left_out");
		json_string(json, coverage->left_out);
	}
	json_key(json, "unnamed");
	unnamed_text_put_json(&coverage->unnamed, json);
	if (coverage->stacks_read) {
		json_key(json, "user_stacks");
		stacks_text_put_json(&coverage->stacks, json);
	}
	json_key(json, "whole");
	json_bool(json, coverage_is_whole(coverage));
	json_key(json, "gaps");
	coverage_put_gaps(coverage, coverage->gaps.count, json);
	json_close(json, '}');
	json_close(json, '}');
	buffer_text(json, "\n");
}
