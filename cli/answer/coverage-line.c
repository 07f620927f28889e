// SPDX-License-Identifier: GPL-2.0-only
#include "cli/answer/coverage-line.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include "cli/answer/host-name.h"
#include "cli/answer/name-hints.h"
#include "query/coverage/stacks-text.h"
#include "query/read/program-ends.h"
#include "query/read/store-host.h"

bool gone_describe(const struct store_removed_ranges *gone, bool vanished, bool utc,
		   struct buffer *text)
{
	char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE];
	uint64_t from_ns = UINT64_MAX, to_ns = 0;
	size_t count = 0;

	for (size_t i = 0; i < gone->list.count; i++) {
		const struct store_removed_range *one = &gone->list.items[i];

		if (one->vanished != vanished)
			continue;
		from_ns = MIN(from_ns, one->from_ns);
		to_ns = MAX(to_ns, one->to_ns);
		count++;
	}
	if (!count)
		return false;
	buffer_printf(text, "%s to %s", time_format(from_ns, utc, 0, from),
		      time_format(to_ns, utc, 0, to));
	if (count > 1)
		buffer_printf(text, ", in %zu stretches", count);
	return true;
}

/* Enough for two times and a reason. */
#define GAP_TEXT_SIZE 512

/*
 * Prints the whole range that retention removed, for a gap whose range reaches beyond the window.
 */
static void say_removed(const struct invocation *invocation, const struct coverage_gap *gap)
{
	bool utc = option_given(invocation, "utc");
	char since[TIME_TEXT_SIZE], until[TIME_TEXT_SIZE];

	say(invocation, "retention removed what was recorded from %s to %s",
	    time_format(gap->since_ns, utc, 0, since), time_format(gap->until_ns, utc, 0, until));
}

static const char *gap_text(const struct coverage_gap *gap, bool utc, char text[GAP_TEXT_SIZE])
{
	char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE];

	snprintf(text, GAP_TEXT_SIZE, "gap: %s to %s: %s", time_format(gap->from_ns, utc, 3, from),
		 time_format(gap->to_ns, utc, 3, to), gap->why);
	return text;
}

/* Print only the first damaged segments, because a hostile store may have any number of them. */
#define UNREAD_GAPS_MAX 3

/* Counts the damaged gaps. Returns whether the gap has a line of its own. */
static bool gap_is_said(const struct coverage_gap *gap, size_t *unread)
{
	*unread += gap->unread;
	return !gap->unread || *unread <= UNREAD_GAPS_MAX;
}

/*
 * Prints the gaps. With -q, prints only gaps that count as damage: the summary line already
 * includes the others.
 */
static void say_gaps(const struct invocation *invocation, const struct coverage *coverage)
{
	bool utc = option_given(invocation, "utc");
	size_t unread = 0;

	for (size_t i = 0; i < coverage->gaps.count; i++) {
		const struct coverage_gap *gap = &coverage->gaps.items[i];
		char text[GAP_TEXT_SIZE];

		if (option_given(invocation, "quiet") && !gap->unread)
			continue;
		if (!gap_is_said(gap, &unread))
			continue;
		warn("%s", gap_text(gap, utc, text));
		if (gap->until_ns > gap->to_ns || (gap->until_ns && gap->since_ns < gap->from_ns))
			say_removed(invocation, gap);
	}
	if (unread > UNREAD_GAPS_MAX)
		warn("%zu more gaps that cannot be read; verify lists all damage",
		     unread - UNREAD_GAPS_MAX);
}

unsigned int gaps_rows(const struct invocation *invocation, const struct coverage *coverage)
{
	bool utc = option_given(invocation, "utc");
	unsigned int rows = 0;
	size_t unread = 0;

	for (size_t i = 0; i < coverage->gaps.count && rows < UINT16_MAX; i++) {
		const struct coverage_gap *gap = &coverage->gaps.items[i];
		char text[GAP_TEXT_SIZE];

		if (!gap_is_said(gap, &unread))
			continue;
		rows += message_rows(gap_text(gap, utc, text));
		/* the message about the recorder is about as long as the gap's message */
		if (gap->cause == COVERAGE_CAUSE_UNWRITTEN)
			rows += message_rows(text);
	}
	rows += unread > UNREAD_GAPS_MAX;
	return rows;
}

/* A recorder that is not stalled writes more often than this. */
#define STALLED_NS (5 * NSEC_PER_SEC)

static const char stalled_format[] =
	"process %d, the recorder, is stalled: it wrote nothing since %s, %s ago";

/*
 * For a window that ends after the stored samples, prints that a recorder runs, or that it is
 * stalled. A reader sees samples about a second after the recorder took them.
 */
static void say_recorder(const struct invocation *invocation, struct store_reader *reader,
			 const struct window *window)
{
	uint64_t reached_ns = 0, after_ns, now_ns, since_ns = 0;
	char shown[TIME_TEXT_SIZE], age[32];
	int pid = store_reader_recorder(reader, &since_ns);

	if (!pid ||
	    store_reader_near(reader, UINT64_MAX, UINT64_MAX, &reached_ns, &after_ns, NULL) < 0 ||
	    window->to_ns <= reached_ns)
		return;
	now_ns = clock_ns(CLOCK_REALTIME);
	reached_ns = MAX(reached_ns, since_ns);
	if (reached_ns && now_ns > reached_ns + STALLED_NS)
		say(invocation, stalled_format, pid,
		    time_format(reached_ns, option_given(invocation, "utc"), 0, shown),
		    duration_format(now_ns - reached_ns, age, sizeof(age)));
	else
		say(invocation, "process %d is recording; its samples can be read a second later",
		    pid);
}

void say_gaps_and_recorder(const struct invocation *invocation, struct store_reader *reader,
			   const struct window *window, const struct coverage *coverage)
{
	say_gaps(invocation, coverage);
	say_recorder(invocation, reader, window);
}

static void say_unnamed(const struct invocation *invocation, const struct unnamed_text *unnamed)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };

	unnamed_text_describe(unnamed, &text);
	if (text.size)
		say(invocation, "frames without a name: %.*s", (int)text.size, (char *)text.data);
}

void say_coverage(const struct invocation *invocation, struct store_reader *reader,
		  const struct window *window, uint64_t samples, const struct coverage *coverage)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	char host[HOST_NAME_SIZE];

	if (!option_given(invocation, "quiet") || !coverage_is_whole(coverage)) {
		coverage_describe(coverage, &text);
		warn("%s%llu sample%s; %s", host_name_prefix(&coverage->facts, host),
		     (unsigned long long)samples, plural(samples), buffer_shown(&text));
	}
	if (option_given(invocation, "verbose"))
		say_unnamed(invocation, &coverage->unnamed);
	say_gaps_and_recorder(invocation, reader, window, coverage);
}

static void say_program_stacks(const struct invocation *invocation, const struct program_ends *ends,
			       const struct program_ends_row *row)
{
	unsigned long long samples = program_ends_samples(row);
	char text[STACKS_TEXT_SIZE];

	say(invocation, "user stacks of %s: %s of %llu sample%s",
	    strings_at(&ends->names, row->name), stacks_text(&row->shares, text), samples,
	    plural(samples));
}

/* Enough for the programs that matter, and they fit on a screen. */
#define STACKS_ROWS 20

int say_stacks(const struct invocation *invocation, struct store_reader *reader,
	       const struct question *question, unsigned int threads, size_t rows,
	       struct error *error)
{
	_cleanup_(program_ends_done) struct program_ends ends = { 0 };
	int r = program_ends_read(reader, question, threads, &ends, error);
	size_t most = rows ? rows : STACKS_ROWS;

	for (size_t i = 0; r == 0 && i < MIN(ends.rows.count, most); i++)
		say_program_stacks(invocation, &ends, &ends.rows.items[i]);
	if (r < 0)
		return r;
	if (ends.rows.count > most)
		say(invocation, "user stacks of %zu more programs: raise --rows to see them",
		    ends.rows.count - most);
	return 0;
}

static const struct coverage_gap *first_removed(const struct coverage *coverage)
{
	for (size_t i = 0; i < coverage->gaps.count; i++)
		if (coverage->gaps.items[i].until_ns)
			return &coverage->gaps.items[i];
	return NULL;
}

/*
 * Returns the reason why the whole window is a gap, or NULL if the causes are several or unknown.
 */
static const char *only_reason(const struct coverage *coverage)
{
	const struct coverage_gap *gap = coverage->gaps.items;

	return coverage->gaps.count == 1 && gap->cause ? gap->why : NULL;
}

/* Names the nearest recorded times. */
static int say_nearest(const struct invocation *invocation, struct store_reader *reader,
		       const struct window *window, const struct coverage *coverage)
{
	const struct coverage_gap *removed = first_removed(coverage);
	const char *why = removed ? NULL : only_reason(coverage);
	bool utc = option_given(invocation, "utc");
	char before[TIME_TEXT_SIZE], after[TIME_TEXT_SIZE];
	_cleanup_(buffer_done) struct buffer text = { 0 };
	uint64_t before_ns, after_ns;
	struct recorded_facts facts = { 0 };
	struct error error = { 0 };
	int r = store_reader_near(reader, window->from_ns, window->to_ns, &before_ns, &after_ns,
				  &error);

	if (r < 0)
		return fail(r, &error);
	r = store_host_find_all(reader, &facts, &error);
	if (r < 0)
		return fail(r, &error);
	if (*facts.host)
		buffer_printf(&text, "host %s: ", facts.host);
	buffer_text(&text, removed ? "retention removed the recording of that window"
				   : "nothing is recorded in that window");
	if (why)
		buffer_printf(&text, ": %s", why);
	if (before_ns)
		buffer_printf(&text, "; the recording before it ends %s",
			      time_format(before_ns, utc, 0, before));
	if (after_ns)
		buffer_printf(&text, "; the recording after it begins %s",
			      time_format(after_ns, utc, 0, after));
	warn("%s", buffer_shown(&text));
	if (removed)
		say_removed(invocation, removed);
	say_recorder(invocation, reader, window);
	return EXIT_NOTHING;
}

/* Returns the first gap whose samples cannot be read, or NULL. */
static const struct coverage_gap *first_unread(const struct coverage *coverage)
{
	for (size_t i = 0; i < coverage->gaps.count; i++)
		if (coverage->gaps.items[i].unread)
			return &coverage->gaps.items[i];
	return NULL;
}

/* Returns the gap of CPUs that were offline in the whole window, or NULL. */
static const struct coverage_gap *all_offline(const struct coverage *coverage,
					      const struct window *window)
{
	for (size_t i = 0; coverage->asked_offline && i < coverage->gaps.count; i++) {
		const struct coverage_gap *gap = &coverage->gaps.items[i];

		if (*gap->cpus && gap->from_ns == window->from_ns && gap->to_ns == window->to_ns)
			return gap;
	}
	return NULL;
}

static const char *coverage_line_plural(const char *cpus)
{
	return strpbrk(cpus, ",-") ? "s" : "";
}

/* Explains an empty answer about a window that was recorded. */
static int say_none_passes(const struct invocation *invocation, struct store_reader *reader,
			   const struct window *window)
{
	struct error error = { 0 };
	int r = name_hints_say(invocation, reader, window, &error);

	if (r < 0)
		return fail(r, &error);
	if (r == 0)
		warn("that window was recorded, but has no sample%s",
		     option_given(invocation, "cpu") ? " on these CPUs" : "");
	return EXIT_NOTHING;
}

/*
 * Prints why nothing can be read. A store may have thousands of damaged segments, so one line
 * counts them and names the first. Returns EXIT_FAILED.
 */
static int say_unreadable(const struct coverage *coverage, const struct coverage_gap *unread)
{
	const char *what = coverage->covered_ns
				   ? "no such sample in what can be read of that window"
				   : "the recording of that window cannot be read";

	if (coverage->damaged > 1)
		warn("%s: %llu parts are damaged, the first: %s; verify lists all damage", what,
		     (unsigned long long)coverage->damaged, unread->why);
	else
		warn("%s: %s; verify lists all damage", what, unread->why);
	return EXIT_FAILED;
}

int coverage_line_nothing(const struct invocation *invocation, struct store_reader *reader,
			  const struct window *window, const struct coverage *coverage)
{
	const struct coverage_gap *unread = first_unread(coverage);
	const struct coverage_gap *offline = all_offline(coverage, window);
	uint64_t lost = coverage->lost_samples + coverage->unsaved;

	if (unread)
		return say_unreadable(coverage, unread);
	if (!option_given(invocation, "quiet") && coverage->covered_ns)
		say_coverage(invocation, reader, window, 0, coverage);
	if (offline)
		warn("%s in all of that window", offline->why);
	else if (coverage->left_out_all && coverage->covered_ns)
		warn("CPU%s %s %s not recorded in that window, only CPU%s %s",
		     coverage_line_plural(coverage->left_out), coverage->left_out,
		     *coverage_line_plural(coverage->left_out) ? "were" : "was",
		     coverage_line_plural(coverage->recorded), coverage->recorded);
	else if (lost)
		warn("no such sample in that window: %s%llu sample%s lost",
		     coverage->lost_over_edge ? "about " : "", (unsigned long long)lost,
		     lost == 1 ? " was" : "s were");
	else if (coverage->covered_ns)
		return say_none_passes(invocation, reader, window);
	else
		return say_nearest(invocation, reader, window, coverage);
	return EXIT_NOTHING;
}

int coverage_line_code(const struct invocation *invocation, const struct coverage *coverage)
{
	if (!option_given(invocation, "strict") || coverage_is_whole(coverage))
		return EXIT_DONE;
	if (coverage->covered_ns == coverage->window_ns)
		say(invocation, "--strict: the window is covered, but samples are missing (above)");
	return EXIT_PARTIAL;
}

int coverage_line_commit(const struct invocation *invocation, struct output *output, int r,
			 const struct coverage *coverage)
{
	struct error error = { 0 };

	if (r == 0)
		r = output_commit(output, &error);
	output_done(output);
	return r < 0 && r != -EPIPE ? fail(r, &error) : coverage_line_code(invocation, coverage);
}
