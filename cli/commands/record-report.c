// SPDX-License-Identifier: GPL-2.0-only
#include "cli/commands/record-report.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include "base/size.h"
#include "cli/answer/host-name.h"
#include "cli/answer/progress-line.h"
#include "cli/answer/recovered-text.h"
#include "cli/options/print.h"

/*
 * The interval between reports of removals. A full store removes a segment every two minutes, which
 * is too often for a report.
 */
#define REMOVED_AGAIN_NS (3600 * NSEC_PER_SEC)

static const char unsaved_format[] =
	"%llu sample%s could not be sealed; the next recording recovers what it can";

static void record_report_message(bool live, const char *text, const char *more)
{
	if (live)
		progress_line_clear();
	warn("%s%s", text, more);
}

/* Reports once that the recorder cannot write the store, and once that it can again. */
static void record_report_stall(const struct recorder_progress *progress, bool live)
{
	static bool reported, reported_unsaved;

	/* while the recorder stops, leave the unsaved samples to the summary */
	if (progress->unsaved && !reported_unsaved && !progress->stopping)
		record_report_message(
			live, "no memory is left for waiting samples: the oldest stay unsaved", "");
	reported_unsaved = progress->unsaved;
	if (progress->store_blocked == reported)
		return;
	reported = progress->store_blocked;
	if (reported)
		record_report_message(
			live, progress->error.text,
			"; samples wait in memory, and writing is tried again each second");
	else
		record_report_message(live, "the store can be written again", "");
}

/* Prints each new warning once. A warning does not mean that samples are missing. */
static void record_report_warning(const struct recorder_progress *progress, bool live)
{
	static struct error reported;

	if (strcmp(reported.text, progress->warning.text) == 0)
		return;
	reported = progress->warning;
	record_report_message(live, reported.text, "");
}

static void record_report_recovered(const struct recorder_progress *progress, bool live)
{
	const struct store_recovered *recovered = &progress->recovered;
	uint64_t news = recovered->tapes + recovered->damaged + recovered->unread;
	static uint64_t reported;
	char text[256];

	if (news == reported)
		return;
	reported = news;
	recovered_text(recovered, text, sizeof(text));
	record_report_message(live, text, "");
}

static void record_report_log_trouble(const struct recorder_progress *progress, bool live)
{
	static struct error reported;

	if (strcmp(reported.text, progress->log_trouble.text) == 0)
		return;
	reported = progress->log_trouble;
	if (*reported.text)
		record_report_message(live, reported.text, "");
}

/*
 * Reports what the limits removed: the first time at once, then once per hour, and at the end.
 * Prints the report with -q, too, because a removal of data is never silent.
 */
static void record_report_removed(const struct recording *recording,
				  const struct recorder_progress *progress, bool live)
{
	const struct store_retained *retained = &progress->retained;
	static uint64_t reported, reported_ns;
	bool utc = option_given(recording->invocation, "utc");
	char size[32], from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE];
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (retained->removed == reported ||
	    (reported && !progress->stopping && now_ns - reported_ns < REMOVED_AGAIN_NS))
		return;
	reported = retained->removed;
	reported_ns = now_ns;
	if (live)
		progress_line_clear();
	warn("removed %llu segment%s so far to keep the limits, %s, %s to %s",
	     (unsigned long long)reported, plural(reported),
	     size_format(retained->removed_bytes, size, sizeof(size)),
	     time_format(retained->from_ns, utc, 0, from),
	     time_format(retained->to_ns, utc, 0, to));
}

void record_report_news(const struct recording *recording, const struct recorder_progress *progress)
{
	bool live = recording->live;

	record_report_recovered(progress, live);
	record_report_removed(recording, progress, live);
	record_report_stall(progress, live);
	record_report_warning(progress, live);
	record_report_log_trouble(progress, live);
}

void record_report_line(const struct recorder_progress *progress)
{
	double drained = (progress->end_ns - progress->begin_ns) / 1e9;
	uint64_t elapsed_ns =
		(progress->elapsed_ns + NSEC_PER_SEC / 2) / NSEC_PER_SEC * NSEC_PER_SEC;
	char elapsed[32] = "0 s", text[256], bytes[32];
	int size;

	/* elapsed_ns is rounded, because the report may come slightly before the second is over */
	if (elapsed_ns)
		duration_format(elapsed_ns, elapsed, sizeof(elapsed));
	/* the most important values come first, because the terminal's width limits the line */
	size = snprintf(text, sizeof(text),
			"%s  %llu samples (%.0f/s)  %llu lost  %s  own CPU %.2f %%", elapsed,
			(unsigned long long)progress->samples,
			progress->samples / MAX(drained, 0.1), (unsigned long long)progress->lost,
			size_format(progress->bytes, bytes, sizeof(bytes)),
			progress->cpu_ns / 1e7 / MAX(progress->elapsed_ns / 1e9, 0.1));
	snprintf(text + size, sizeof(text) - size, "  %s on %llu CPU%s, %llu segments",
		 progress->event, (unsigned long long)progress->cpus, plural(progress->cpus),
		 (unsigned long long)progress->segments);
	progress_line_line(progress->stopping ? "sealing the last samples" : text);
}

void record_report_end(const struct recording *recording, const struct recorder_progress *progress)
{
	struct recorder_progress last = *progress;

	last.stopping = 1;
	record_report_recovered(&last, false);
	record_report_removed(recording, &last, false);
	record_report_warning(&last, false);
	record_report_log_trouble(&last, false);
}

/* Quotes a word for a shell. */
static void record_report_put_word(const char *word, struct buffer *text)
{
	if (*word &&
	    !word[strspn(
		    word,
		    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-")]) {
		buffer_text(text, word);
		return;
	}
	buffer_u8(text, '\'');
	for (; *word; word++)
		buffer_text(text, *word == '\'' ? "'\\''" : (char[]){ *word, 0 });
	buffer_u8(text, '\'');
}

/* Prints a command to paste. */
static void record_report_command(const struct invocation *invocation, const char *command,
				  const char *options_of)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };

	record_report_put_word(program_name(), &text);
	buffer_printf(&text, " %s", command);
	if (option_given(invocation, "store")) {
		buffer_text(&text, " --store ");
		record_report_put_word(store_path(invocation), &text);
	}
	buffer_text(&text, options_of);
	buffer_u8(&text, 0);
	if (!buffer_failed(&text))
		print_shell_command((const char *)text.data);
	else
		warn("out of memory");
}

static const char commands_head[] =
	"The first command lists the recording, the second writes a file for Flamescope:\n";

static void record_report_commands(const struct invocation *invocation, uint64_t from_ns,
				   uint64_t to_ns)
{
	bool utc = option_given(invocation, "utc");
	char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE], window[256];

	snprintf(window, sizeof(window), " --from %s --to %s -o perftape.stacks",
		 time_format(from_ns, utc, 3, from), time_format(to_ns, utc, 3, to));
	print_string(stderr, commands_head);
	record_report_command(invocation, "segments", "");
	record_report_command(invocation, "query", window);
}

/* Prints that samples were not sealed. Samples in the spool are not lost. */
static void record_report_not_sealed(const struct invocation *invocation,
				     const struct recorder_progress *progress)
{
	if (progress->unsaved)
		return;
	if (progress->samples)
		say(invocation,
		    "%llu sample%s not sealed; the next recording recovers those in the spool",
		    (unsigned long long)progress->samples,
		    progress->samples == 1 ? " was" : "s were");
	else
		say(invocation, "nothing was recorded");
}

static void record_report_recorded(const struct invocation *invocation,
				   const struct recorder_progress *progress)
{
	uint64_t samples = progress->samples - MIN(progress->samples, progress->unsaved);
	char elapsed[32], taken[96], sealed[96], bytes[32], host[HOST_NAME_SIZE];

	snprintf(taken, sizeof(taken), "%llu sample%s, %llu lost%s", (unsigned long long)samples,
		 plural(samples), (unsigned long long)progress->lost,
		 progress->unsaved ? " by the kernel" : "");
	snprintf(sealed, sizeof(sealed), "%llu segment%s, %s",
		 (unsigned long long)progress->segments, plural(progress->segments),
		 size_format(progress->bytes, bytes, sizeof(bytes)));
	duration_format(progress->end_ns - progress->begin_ns, elapsed, sizeof(elapsed));
	say(invocation, "%srecorded %s of %llu CPU%s at %s: %s; %s in %s",
	    host_name_own_prefix(host), elapsed, (unsigned long long)progress->cpus,
	    plural(progress->cpus), progress->event, taken, sealed, store_path(invocation));
}

void record_report_summary(const struct invocation *invocation,
			   const struct recorder_progress *progress)
{
	char bytes[32];
	uint64_t span_ns = progress->end_ns - progress->begin_ns;
	uint64_t from_ns =
		progress->end_ns - (span_ns < RECORDER_SEGMENT_NS ? span_ns : RECORDER_SEGMENT_NS);

	if (access(store_path(invocation), F_OK) < 0) {
		warn("%s was removed, and its %llu sample%s with it", store_path(invocation),
		     (unsigned long long)progress->samples, plural(progress->samples));
		return;
	}
	if (progress->unsaved)
		warn(unsaved_format, (unsigned long long)progress->unsaved,
		     plural(progress->unsaved));
	if (!progress->samples || !progress->segments) {
		record_report_not_sealed(invocation, progress);
		return;
	}
	record_report_recorded(invocation, progress);
	if (progress->removed)
		say(invocation, "removed %llu segment%s again, %s, to keep the limits",
		    (unsigned long long)progress->removed, plural(progress->removed),
		    size_format(progress->removed_bytes, bytes, sizeof(bytes)));
	if (progress->away)
		say(invocation,
		    "%llu segment%s, %s, were lost with a store that was removed or replaced",
		    (unsigned long long)progress->away, plural(progress->away),
		    size_format(progress->away_bytes, bytes, sizeof(bytes)));
	if (progress->skipped)
		say(invocation, "%llu sample%s of busy CPUs skipped",
		    (unsigned long long)progress->skipped, plural(progress->skipped));
	if (progress->throttled)
		say(invocation, "the kernel throttled the sampling of a CPU %llu time%s",
		    (unsigned long long)progress->throttled, plural(progress->throttled));
	if (progress->lost_sideband || progress->damaged)
		say(invocation,
		    "%llu records of names and mappings were lost, %llu could not be read",
		    (unsigned long long)progress->lost_sideband,
		    (unsigned long long)progress->damaged);
	if (option_given(invocation, "quiet"))
		return;
	record_report_commands(invocation, from_ns, progress->end_ns);
}
