// SPDX-License-Identifier: GPL-2.0-only
#include "cli/answer/coverage-line.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"

bool gone_describe(const struct store_gone_list *gone, bool vanished, bool utc, struct buffer *text)
{
	char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE];
	uint64_t from_ns = UINT64_MAX, to_ns = 0;
	size_t count = 0;

	for (size_t i = 0; i < gone->list.count; i++) {
		const struct store_gone *one = &gone->list.items[i];

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

/* How far what retention removed reaches beyond the window. */
static void say_removed(const struct invocation *invocation, const struct coverage_gap *gap)
{
	bool utc = option_given(invocation, "utc");
	char since[TIME_TEXT_SIZE], until[TIME_TEXT_SIZE];

	say(invocation, "retention removed what was recorded from %s to %s",
	    time_format(gap->since_ns, utc, 0, since), time_format(gap->until_ns, utc, 0, until));
}

/* Who wants it quiet has the sum of it, and is told what is damaged, which somebody has to look at.
 */
static void say_gaps(const struct invocation *invocation, const struct coverage *coverage)
{
	bool utc = option_given(invocation, "utc");

	for (size_t i = 0; i < coverage->gaps.count; i++) {
		const struct coverage_gap *gap = &coverage->gaps.items[i];
		char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE];

		if (option_given(invocation, "quiet") && !gap->unread)
			continue;
		fprintf(stderr, "perftape: gap: %s to %s: %s\n",
			time_format(gap->from_ns, utc, 3, from),
			time_format(gap->to_ns, utc, 3, to), gap->why);
		if (gap->until_ns > gap->to_ns || (gap->until_ns && gap->since_ns < gap->from_ns))
			say_removed(invocation, gap);
	}
}

/* No recorder is that late without being stopped, or kept from the CPUs or the disk. */
#define STALLED_NS (5 * NSEC_PER_SEC)

/* What is being recorded is in the spool a second later. */
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
		say(invocation,
		    "process %d, which records, has written nothing since %s, %s ago: it is stopped, it gets no CPU, or the disk hangs",
		    pid, time_format(reached_ns, option_given(invocation, "utc"), 0, shown),
		    duration_format(now_ns - reached_ns, age, sizeof(age)));
	else
		say(invocation,
		    "process %d is recording; what it takes can be asked for a second later", pid);
}

void say_gaps_and_recorder(const struct invocation *invocation, struct store_reader *reader,
			   const struct window *window, const struct coverage *coverage)
{
	say_gaps(invocation, coverage);
	say_recorder(invocation, reader, window);
}

/* Of the segments as wholes: a window's frames are not looked at that closely. */
static void say_nameless(const struct invocation *invocation, const struct unnamed_text *nameless)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };

	unnamed_text_describe(nameless, &text);
	if (text.size)
		say(invocation, "frames without a name in these segments: %.*s", (int)text.size,
		    (char *)text.data);
}

void say_coverage(const struct invocation *invocation, struct store_reader *reader,
		  const struct window *window, uint64_t samples, const struct coverage *coverage)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };

	if (!option_given(invocation, "quiet") || !coverage_is_whole(coverage)) {
		coverage_describe(coverage, &text);
		fprintf(stderr, "perftape: %llu sample%s; %.*s\n", (unsigned long long)samples,
			samples == 1 ? "" : "s", (int)text.size,
			text.data ? (char *)text.data : "");
	}
	if (option_given(invocation, "verbose"))
		say_nameless(invocation, &coverage->unnamed);
	say_gaps_and_recorder(invocation, reader, window, coverage);
}

static const struct coverage_gap *first_removed(const struct coverage *coverage)
{
	for (size_t i = 0; i < coverage->gaps.count; i++)
		if (coverage->gaps.items[i].until_ns)
			return &coverage->gaps.items[i];
	return NULL;
}

/* Why all of the window is a gap; NULL where nothing is known, or there are several reasons. */
static const char *only_reason(const struct coverage *coverage)
{
	const struct coverage_gap *gap = coverage->gaps.items;

	return coverage->gaps.count == 1 && gap->cause ? gap->why : NULL;
}

/* "nothing is recorded in that window; the nearest is ..." */
static int say_nearest(const struct invocation *invocation, struct store_reader *reader,
		       const struct window *window, const struct coverage *coverage)
{
	const struct coverage_gap *removed = first_removed(coverage);
	const char *why = removed ? NULL : only_reason(coverage);
	bool utc = option_given(invocation, "utc");
	char before[TIME_TEXT_SIZE], after[TIME_TEXT_SIZE];
	uint64_t before_ns, after_ns;
	struct error error = { 0 };
	int r = store_reader_near(reader, window->from_ns, window->to_ns, &before_ns, &after_ns,
				  &error);

	if (r < 0)
		return fail(r, &error);
	fprintf(stderr, "perftape: %s",
		removed ? "what was recorded in that window was removed by retention"
			: "nothing is recorded in that window");
	if (why)
		fprintf(stderr, ": %s", why);
	if (before_ns)
		fprintf(stderr, "; the last before it ends %s",
			time_format(before_ns, utc, 0, before));
	if (after_ns)
		fprintf(stderr, "; the first after it begins %s",
			time_format(after_ns, utc, 0, after));
	fputc('\n', stderr);
	if (removed)
		say_removed(invocation, removed);
	say_recorder(invocation, reader, window);
	return EXIT_NOTHING;
}

/* What was recorded and cannot be read; NULL where there is nothing of that kind. */
static const struct coverage_gap *first_unread(const struct coverage *coverage)
{
	for (size_t i = 0; i < coverage->gaps.count; i++)
		if (coverage->gaps.items[i].unread)
			return &coverage->gaps.items[i];
	return NULL;
}

/* CPUs that were asked for and were not there in all of the window; NULL where it is not for that.
 */
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

int coverage_line_nothing(const struct invocation *invocation, struct store_reader *reader,
			  const struct window *window, const struct coverage *coverage)
{
	const struct coverage_gap *unread = first_unread(coverage);
	const struct coverage_gap *offline = all_offline(coverage, window);
	uint64_t lost = coverage->lost_samples + coverage->unsaved;

	if (!option_given(invocation, "quiet") && (coverage->covered_ns || unread))
		say_coverage(invocation, reader, window, 0, coverage);
	if (unread) {
		fprintf(stderr, "perftape: what was recorded in that window cannot be read: %s\n",
			unread->why);
		return EXIT_FAILED;
	}
	if (offline)
		fprintf(stderr, "perftape: %s in all of that window\n", offline->why);
	else if (coverage->left_out_all && coverage->covered_ns)
		fprintf(stderr,
			"perftape: CPU%s %s %s not recorded in that window, only CPU%s %s\n",
			coverage_line_plural(coverage->left_out), coverage->left_out,
			*coverage_line_plural(coverage->left_out) ? "were" : "was",
			coverage_line_plural(coverage->recorded), coverage->recorded);
	else if (lost)
		fprintf(stderr,
			"perftape: no sample that passes is left of that window: %s%llu of it were lost\n",
			coverage->lost_over_edge ? "about " : "", (unsigned long long)lost);
	else if (coverage->covered_ns)
		fprintf(stderr, "perftape: that window was recorded, but holds no sample%s\n",
			option_given(invocation, "cpu") ? " of these CPUs"
			: option_given(invocation, "pid") || option_given(invocation, "tid") ||
					option_given(invocation, "comm") ||
					option_given(invocation, "cgroup")
				? " of such a thread"
				: "");
	else
		return say_nearest(invocation, reader, window, coverage);
	return EXIT_NOTHING;
}

int coverage_line_code(const struct invocation *invocation, const struct coverage *coverage)
{
	if (!option_given(invocation, "strict") || coverage_is_whole(coverage))
		return EXIT_DONE;
	if (coverage->covered_ns == coverage->window_ns)
		say(invocation,
		    "--strict: all of the window is covered, but not each sample that was due is there (above)");
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
