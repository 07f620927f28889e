// SPDX-License-Identifier: GPL-2.0-only
#include "cli/window/incident-choice.h"

#include <ctype.h>

#include "base/cleanup.h"
#include "base/number.h"

#define KINDS_SHOWN 12

static bool incident_choice_weighs(const struct episode *episode)
{
	return episode->kind->severity > SEVERITY_INFO;
}

static int choose_last(const struct book *book, const struct episode **ret_episode,
		       struct error *error)
{
	const struct episode *last = NULL;

	for (size_t i = 0; i < book->episodes.list.count; i++) {
		const struct episode *episode = &book->episodes.list.items[i];

		if (!last || incident_choice_weighs(episode) >= incident_choice_weighs(last))
			last = episode;
	}
	if (!last)
		return error_set(
			error, -ENOENT,
			"no incident is known; add a log: perftape incidents scan --add FILE");
	*ret_episode = last;
	return 0;
}

/* Explains an ID between two IDs of the store: a recorder reserves IDs and may not use them. */
static int no_such_id(uint64_t id, uint64_t before, uint64_t after, struct error *error)
{
	return error_set(
		error, -ENOENT, "no incident has the number %llu; the nearest have %llu and %llu",
		(unsigned long long)id, (unsigned long long)before, (unsigned long long)after);
}

static int choose_id(const struct book *book, uint64_t id, const struct episode **ret_episode,
		     struct error *error)
{
	uint64_t least = UINT64_MAX, most = 0, before = 0, after = UINT64_MAX;

	for (size_t i = 0; i < book->rows.count; i++) {
		const struct book_row *row = &book->rows.items[i];

		if (id && row->id == id) {
			*ret_episode = &book->episodes.list.items[row->episode];
			return 0;
		}
		least = row->id ? MIN(least, row->id) : least;
		most = MAX(most, row->id);
		before = row->id < id ? MAX(before, row->id) : before;
		after = row->id > id ? MIN(after, row->id) : after;
	}
	if (!most)
		return choose_last(book, ret_episode, error) < 0
			       ? -ENOENT
			       : error_set(error, -ENOENT, "no incident has the number %llu",
					   (unsigned long long)id);
	if (id > least && id < most)
		return no_such_id(id, before, after, error);
	if (least == most)
		return error_set(error, -ENOENT,
				 "no incident has the number %llu; the store has only %llu",
				 (unsigned long long)id, (unsigned long long)most);
	/* not "%llu to %llu", because numbers between may be missing */
	return error_set(error, -ENOENT,
			 "no incident has the number %llu; the %s is %llu, see perftape incidents",
			 (unsigned long long)id, id > most ? "last" : "first",
			 (unsigned long long)(id > most ? most : least));
}

/* Puts the kinds of the store, such as "a, b, c". */
static void list_kinds(const struct book *book, struct buffer *text)
{
	size_t shown = 0;

	for (size_t i = 0; i < book->kinds.count; i++) {
		bool before = false;

		for (size_t k = 0; k < i; k++)
			before |= strcmp(book->kinds.items[k].name, book->kinds.items[i].name) == 0;
		if (before || ++shown > KINDS_SHOWN)
			continue;
		buffer_text(text, shown > 1 ? ", " : "");
		buffer_text(text, book->kinds.items[i].name);
	}
	if (shown > KINDS_SHOWN)
		buffer_text(text, ", ...");
	buffer_u8(text, 0);
}

static int no_kind(const struct book *book, const char *asked, size_t size, struct error *error)
{
	_cleanup_(buffer_done) struct buffer kinds = { 0 };
	const struct episode *any;

	if (choose_last(book, &any, error) < 0)
		return -ENOENT;
	list_kinds(book, &kinds);
	return error_set(error, -ENOENT, "no incident of kind %.*s is known; the store has: %s",
			 (int)size, asked, buffer_shown(&kinds));
}

/*
 * Returns the number of episodes with a line of that kind. Sets the episode with `number`, or the
 * last one if `number` is 0.
 */
static size_t incident_choice_find_kind(const struct book *book, const char *asked, size_t size,
					uint64_t number, const struct episode **ret_episode)
{
	size_t episodes = book->episodes.list.count, count = 0;
	_cleanup_free_ bool *has = calloc(episodes + 1, sizeof(*has));

	for (size_t i = 0; has && i < book->rows.count; i++) {
		const struct book_row *row = &book->rows.items[i];

		has[row->episode] |= book_kind_is(book->kinds.items[row->kind].name, asked, size);
	}
	for (size_t at = 0; has && at < episodes; at++)
		if (has[at] && (++count == number || !number))
			*ret_episode = &book->episodes.list.items[at];
	return count;
}

static int choose_kind(const struct book *book, const char *asked, size_t size, uint64_t number,
		       const struct episode **ret_episode, struct error *error)
{
	size_t count = incident_choice_find_kind(book, asked, size, number, ret_episode);

	if (!count)
		return no_kind(book, asked, size, error);
	if (number > count)
		return error_set(error, -ENOENT,
				 "%.*s: the store has %zu such incident%s, not %llu", (int)size,
				 asked, count, plural(count), (unsigned long long)number);
	return 0;
}

static bool incident_choice_is_number(const char *text, uint64_t *ret_number)
{
	size_t size = strspn(text, "0123456789");

	*ret_number = strtoull(text, NULL, 10);
	return size && size < 19 && !text[size];
}

int incident_choose(const struct book *book, const char *asked, const struct episode **ret_episode,
		    struct error *error)
{
	size_t size = strcspn(asked, ":");
	const char *which = asked + size + (asked[size] == ':');
	uint64_t number = 0;

	if (strcmp(asked, "last") == 0)
		return choose_last(book, ret_episode, error);
	if (incident_choice_is_number(asked, &number))
		return choose_id(book, number, ret_episode, error);
	if (size && isalpha((unsigned char)*asked) &&
	    (!asked[size] || strcmp(which, "last") == 0 ||
	     (incident_choice_is_number(which, &number) && number)))
		return choose_kind(book, asked, size, number, ret_episode, error);
	return error_set(error, -EINVAL,
			 "'%s' does not name an incident; use 42, last, ena_reset or ena_reset:3",
			 asked);
}
