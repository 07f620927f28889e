// SPDX-License-Identifier: GPL-2.0-only
#include "flamescope-export/header.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "flamescope-export/disguise.h"
#include "flamescope-export/sanitise.h"

#define RULER "# ========\n"

static void header_put_label(struct buffer *text, const char *label)
{
	buffer_printf(text, "# %-9s : ", label);
}

static void header_put_line(struct buffer *text, const char *label, const char *value)
{
	header_put_label(text, label);
	sanitise_put_value(text, value);
	buffer_text(text, "\n");
}

static void header_put_name(struct buffer *text, const char *label, const char *name)
{
	header_put_label(text, label);
	disguise_put_value(text, name);
	buffer_text(text, "\n");
}

/* Returns whether an earlier tape has the same value. */
static bool fact_is_known(const struct selection *selection, size_t tape, const char *key)
{
	const char *value = tape_fact(selection->tapes.items[tape], key);

	for (size_t i = 0; i < tape; i++)
		if (!strcmp(tape_fact(selection->tapes.items[i], key), value))
			return true;
	return false;
}

/*
 * Puts a fact about the host. If tapes differ in it, puts all values: boot IDs, for example, differ
 * after a restart.
 */
static void put_fact(struct buffer *text, const struct selection *selection, const char *label,
		     const char *key, const char *unit)
{
	bool first = true;

	for (size_t i = 0; i < selection->tapes.count; i++) {
		const char *value = tape_fact(selection->tapes.items[i], key);

		if (!*value || fact_is_known(selection, i, key))
			continue;
		if (first)
			header_put_label(text, label);
		else
			buffer_text(text, ", ");
		sanitise_put_value(text, value);
		buffer_text(text, unit);
		first = false;
	}
	if (!first)
		buffer_text(text, "\n");
}

static void put_epoch(struct buffer *text, uint64_t realtime_ns)
{
	uint64_t us = realtime_ns / NSEC_PER_USEC;

	buffer_printf(text, "%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
}

/*
 * Puts the moment. Flamescope's axis shows no times, so this line names the column of the moment,
 * counted from 0, and the place within that column.
 */
static void header_put_moment(struct buffer *text, const struct window *window)
{
	uint64_t column = window->at_ns / NSEC_PER_SEC - window->from_ns / NSEC_PER_SEC;
	uint64_t ms = window->at_ns % NSEC_PER_SEC / NSEC_PER_MSEC;
	char shown[TIME_TEXT_SIZE];

	if (!window->at_ns)
		return;
	header_put_label(text, "moment");
	buffer_printf(text, "%s, column %" PRIu64 ", %" PRIu64 " ms into it\n",
		      time_format(window->at_ns, false, 3, shown), column, ms);
}

static void put_window(struct buffer *text, const struct window *window)
{
	header_put_label(text, "window");
	window_describe(window, false, text);
	buffer_text(text, "\n");
	header_put_label(text, "epoch");
	put_epoch(text, window->from_ns);
	buffer_text(text, " to ");
	put_epoch(text, window->to_ns);
	buffer_text(text, "\n");
	if (*window->note)
		header_put_line(text, "note", window->note);
	header_put_moment(text, window);
}

static void header_put_coverage(struct buffer *text, const struct coverage *coverage, bool is_part)
{
	header_put_label(text, "coverage");
	coverage_describe(coverage, text);
	buffer_text(text, is_part ? " (of the whole window)\n" : "\n");
	for (size_t i = 0; i < coverage->gaps.count; i++) {
		const struct coverage_gap *gap = &coverage->gaps.items[i];
		char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE], length[64];

		header_put_label(text, "gap");
		buffer_printf(text, "%s to %s (%s), ", time_format(gap->from_ns, false, 3, from),
			      time_format(gap->to_ns, false, 3, to),
			      duration_format(gap->to_ns - gap->from_ns, length, sizeof(length)));
		sanitise_put_value(text, gap->why);
		buffer_text(text, "\n");
	}
}

/* Puts the filter's patterns, which may contain any text. */
static void header_put_threads(struct buffer *text, const struct filter *filter)
{
	_cleanup_(buffer_done) struct buffer threads = { 0 };

	filter_describe_threads(filter, &threads);
	if (!threads.size && !buffer_failed(&threads))
		return;
	buffer_u8(&threads, 0);
	header_put_name(text, "threads", buffer_failed(&threads) ? "" : (const char *)threads.data);
}

static void header_put_count(struct buffer *text, const char *label, uint64_t count,
			     const char *of_what)
{
	if (!count)
		return;
	header_put_label(text, label);
	buffer_printf(text, "%" PRIu64 " (%s)\n", count, of_what);
}

/* Puts a line for each kind of difference between this text and the store. */
static void put_changes(struct buffer *text, const struct header *header)
{
	header_put_count(text, "changed", header->changed,
			 "names changed, because Flamescope cannot read the original ones");
	header_put_count(
		text, "truncated", header->truncated,
		"samples with a stack too deep for Flamescope, without its outermost frames");
	header_put_count(text, "idle-irq", header->idle_irq,
			 "samples of interrupts on idle CPUs, shown under this name");
	if (header->moved_us) {
		header_put_label(text, "moved");
		buffer_printf(text, "%s shown %d us %s; Flamescope fails on a full second\n",
			      header->moved_us < 0 ? "the samples of the last microsecond are"
						   : "the last sample is",
			      header->moved_us < 0 ? -header->moved_us : header->moved_us,
			      header->moved_us < 0 ? "early" : "late");
	}
}

/* Flamescope draws no column after the last sample, even if the window is longer. */
static void put_columns(struct buffer *text, const struct header *header)
{
	const struct window *window = &header->selection->window;
	uint64_t all = (window->to_ns - 1) / NSEC_PER_SEC - window->from_ns / NSEC_PER_SEC + 1;

	if (!header->columns || header->columns >= all)
		return;
	header_put_label(text, "columns");
	buffer_printf(text,
		      "%" PRIu64 " of %" PRIu64 ", because the last sample is in column %" PRIu64
		      "\n",
		      header->columns, all, header->columns - 1);
}

static void put_disguise(struct buffer *text)
{
	header_put_label(text, "disguise");
	buffer_text(text, "blanks, because libmagic would not take a name below for plain text");
	while (text->size < DISGUISE_BYTES && !buffer_failed(text))
		buffer_u8(text, ' ');
	buffer_text(text, "\n");
}

void header_put(const struct header *header, struct buffer *text)
{
	const struct flamescope_options *options = header->options;
	const struct selection *selection = header->selection;

	buffer_text(text, RULER);
	header_put_line(text, "perftape", options->version);
	put_fact(text, selection, "host", "host", "");
	put_fact(text, selection, "kernel", "kernel", "");
	put_fact(text, selection, "boot", "boot_id", "");
	put_window(text, &selection->window);
	put_fact(text, selection, "event", "event", "");
	put_fact(text, selection, "frequency", "frequency", " Hz");
	header_put_label(text, "cpus");
	cpu_filter_describe(&options->filter->cpus, text);
	buffer_text(text, "\n");
	header_put_threads(text, options->filter);
	if (options->part)
		header_put_name(text, "part", options->part);
	header_put_label(text, "samples");
	buffer_printf(text, "%zu", selection->rows.count);
	if (options->part)
		buffer_printf(text, " of the window's %" PRIu64, options->of_samples);
	buffer_text(text, "\n");
	header_put_coverage(text, &selection->coverage, options->part);
	put_changes(text, header);
	put_columns(text, header);
	if (header->disguised)
		put_disguise(text);
	buffer_text(text, RULER);
}

void header_put_event(const struct selection *selection, struct buffer *text)
{
	const char *event = "";

	for (size_t i = 0; i < selection->tapes.count && !*event; i++)
		event = tape_fact(selection->tapes.items[i], "event");
	sanitise_put_event(text, event);
}
