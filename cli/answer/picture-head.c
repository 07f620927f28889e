// SPDX-License-Identifier: GPL-2.0-only
#include "cli/answer/picture-head.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include "cli/answer/screen.h"
#include "cli/window/incident-book.h"
#include "cli/window/incident-window.h"

/* More incidents than this would push the picture off the screen. */
#define INCIDENTS_SHOWN 4

/* Returns true for events that count the time of a CPU. */
static bool picture_head_is_cpu(const char *event)
{
	static const char *const names[] = { "", "cpu-clock", "task-clock", "cpu-cycles",
					     "cycles" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(event, names[i]) == 0)
			return true;
	return false;
}

/*
 * Returns the episode at the window's moment, or NULL. --incident and --line put the moment at an
 * incident.
 */
static const struct episode *picture_head_find(const struct book *book, const struct window *window)
{
	for (size_t i = 0; window->at_ns && i < book->rows.count; i++)
		if (book->rows.items[i].time_ns == window->at_ns)
			return &book->episodes.list.items[book->rows.items[i].episode];
	return NULL;
}

/* Puts "HOST: CPU stacks, ena.reset of ens5 at TIME". */
static void put_title(const struct invocation *invocation, const struct window *window,
		      const struct recorded_facts *facts, const struct episode *episode,
		      struct buffer *text)
{
	const char *given = option_value(invocation, "title");
	char time[TIME_TEXT_SIZE];

	if (given) {
		buffer_text(text, given);
		return;
	}
	if (*facts->host)
		buffer_printf(text, "%s: ", facts->host);
	buffer_printf(text, "%s stacks", picture_head_is_cpu(facts->event) ? "CPU" : facts->event);
	if (episode)
		buffer_printf(text, ", %s%s%s", episode->kind->name, *episode->device ? " of " : "",
			      episode->device);
	time_format(window->at_ns ? window->at_ns : window->from_ns,
		    option_given(invocation, "utc"), 0, time);
	buffer_printf(text, " %s %s", window->at_ns ? "at" : "from", time);
}

static void put_facts(const struct recorded_facts *facts, struct buffer *text)
{
	if (*facts->event)
		buffer_printf(text, "event %s", facts->event);
	if (*facts->frequency)
		buffer_printf(text, "%s%s Hz", *facts->event ? " at " : "", facts->frequency);
	if (*facts->event || *facts->frequency)
		buffer_u8(text, '\n');
}

/*
 * Returns true if the incident belongs in the head. Informational incidents do not, because they
 * would hide the others.
 */
static bool picture_head_has(const struct window *window, const struct episode *episode)
{
	return episode->kind->severity > SEVERITY_INFO &&
	       episode->first.realtime_ns < window->to_ns &&
	       episode->last.realtime_ns >= window->from_ns;
}

/* Puts the incidents of the window except `noted`, which the window's note describes. */
static void put_incidents(const struct invocation *invocation, const struct window *window,
			  const struct book *book, const struct episode *noted, struct buffer *text)
{
	size_t found = 0;

	for (size_t i = 0; i < book->episodes.list.count; i++) {
		const struct episode *episode = &book->episodes.list.items[i];
		char line[384], time[TIME_TEXT_SIZE];

		if (episode == noted || !picture_head_has(window, episode) ||
		    ++found > INCIDENTS_SHOWN)
			continue;
		incident_describe(episode, line, sizeof(line));
		time_format(episode->first.realtime_ns, option_given(invocation, "utc"), 3, time);
		buffer_printf(text, "%s, at %s\n", line, time);
	}
	if (found > INCIDENTS_SHOWN)
		buffer_printf(text, "and %zu more incident%s\n", found - INCIDENTS_SHOWN,
			      plural(found - INCIDENTS_SHOWN));
}

static void picture_head_put_all(const struct invocation *invocation,
				 const struct question *question, const struct fold *fold,
				 const struct book *book, struct picture_head *head)
{
	const struct window *window = &question->window;
	const struct recorded_facts *facts = &fold->coverage.facts;
	const struct episode *episode = picture_head_find(book, window);

	put_title(invocation, window, facts, episode, &head->title);
	put_facts(facts, &head->lines);
	screen_put_head(invocation, window, fold->samples, &fold->coverage, &head->lines);
	put_incidents(invocation, window, book,
		      option_given(invocation, "incident") ? episode : NULL, &head->lines);
	screen_put_filter(question->filter, &head->lines);
	buffer_u8(&head->title, 0);
	buffer_u8(&head->lines, 0);
}

int picture_head_put(const struct invocation *invocation, struct store_reader *reader,
		     const struct question *question, const struct fold *fold,
		     struct picture_head *head, struct error *error)
{
	struct book book;
	int r = book_open(reader, &book, error);

	if (r < 0)
		return r;
	picture_head_put_all(invocation, question, fold, &book, head);
	book_done(&book);
	return buffer_failed(&head->title) || buffer_failed(&head->lines) ? -ENOMEM : 0;
}

void picture_head_done(struct picture_head *head)
{
	buffer_done(&head->title);
	buffer_done(&head->lines);
}
