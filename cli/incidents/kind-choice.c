// SPDX-License-Identifier: GPL-2.0-only
#include "cli/incidents/kind-choice.h"

#include <string.h>

#include "base/cleanup.h"

/* A list of names in the order in which they were added. */
struct kind_choice_names {
	struct buffer text;
	/* Names that are already in the list, each between two commas. */
	struct buffer seen;
	bool any;
};

static void kind_choice_names_done(struct kind_choice_names *names)
{
	buffer_done(&names->text);
	buffer_done(&names->seen);
}

/* Adds a name, or only its group: the part before the dot. */
static void kind_choice_add(struct kind_choice_names *names, const char *name, bool group)
{
	size_t size = group ? strcspn(name, ".") : strlen(name);
	_cleanup_(buffer_done) struct buffer key = { 0 };

	buffer_printf(&key, ",%.*s,", (int)size, name);
	if (buffer_failed(&key) ||
	    (names->seen.size && memmem(names->seen.data, names->seen.size, key.data, key.size)))
		return;
	buffer_bytes(&names->seen, key.data, key.size);
	buffer_printf(&names->text, "%s%.*s", names->any ? ", " : "", (int)size, name);
	names->any = true;
}

static bool kind_choice_is_known(const char *asked, const struct catalogue *catalogue,
				 const struct book *book)
{
	size_t size = strlen(asked);

	if (book_kind_is(STORE_MARK, asked, size))
		return true;
	for (size_t i = 0; i < catalogue_count(catalogue); i++)
		if (book_kind_is(catalogue_kind(catalogue, i)->name, asked, size))
			return true;
	for (size_t i = 0; book && i < book->kinds.count; i++)
		if (book_kind_is(book->kinds.items[i].name, asked, size))
			return true;
	return false;
}

int kind_choice_check(const struct invocation *invocation, const struct catalogue *catalogue,
		      const struct book *book)
{
	_cleanup_(kind_choice_names_done) struct kind_choice_names stored = { 0 }, groups = { 0 };
	const char *asked = option_value(invocation, "kind");

	if (!asked || kind_choice_is_known(asked, catalogue, book))
		return EXIT_DONE;
	for (size_t i = 0; book && i < book->kinds.count; i++)
		kind_choice_add(&stored, book->kinds.items[i].name, false);
	for (size_t i = 0; i < catalogue_count(catalogue); i++)
		kind_choice_add(&groups, catalogue_kind(catalogue, i)->name, true);
	buffer_u8(&stored.text, 0);
	buffer_u8(&groups.text, 0);
	return usage_error("--kind '%.60s' is not a kind of incident;%s%s%s known groups: %s",
			   asked, stored.any ? " the store has: " : "",
			   stored.any ? buffer_shown(&stored.text) : "", stored.any ? ";" : "",
			   buffer_shown(&groups.text));
}
