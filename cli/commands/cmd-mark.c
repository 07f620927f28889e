// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mutation.h"
#include "cli/answer/host-name.h"
#include "cli/options/command.h"
#include "query/read/store-host.h"
#include "query/read/uptime.h"
#include "query/window/when.h"
#include "store/disk/incident-notes.h"
#include "store/disk/notes.h"
#include "store/read/store-reader.h"

static const struct option options[] = {
	{ "at", 0, "TIME", "moment of the mark (default: now)" },
	{ 0 },
};

static const char about[] =
	"Adds a marker to the store's notes, also while a recorder runs. perftape incidents lists\n"
	"it with the kind mark; --incident mark, or its number, selects a window around it.\n"
	"Retention does not spare the samples around it.\n";

/*
 * Converts an uptime. The uptime belongs to the latest boot in the store, as in the kernel's log.
 */
static int mark_find_uptime(const struct invocation *invocation, uint64_t uptime_ns,
			    uint64_t *ret_ns, struct error *error)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct uptime_moment moment;
	int r = store_reader_open(store_path(invocation), &reader, error);

	if (r == 0)
		r = uptime_find(reader, uptime_ns, NULL, &moment, error);
	if (r < 0)
		return error_prefix(error, r, "--at");
	*ret_ns = moment.realtime_ns;
	return 0;
}

static int parse_moment(const struct invocation *invocation, uint64_t *ret_ns, struct error *error)
{
	const char *text = option_value(invocation, "at");
	uint64_t now_ns = clock_ns(CLOCK_REALTIME);
	struct when when;
	int r;

	*ret_ns = now_ns;
	if (!text)
		return 0;
	r = when_parse(text, now_ns, option_given(invocation, "utc"), &when, error);
	if (r < 0)
		return error_prefix(error, r, "--at");
	if (when.is_uptime)
		return mark_find_uptime(invocation, when.uptime_ns, ret_ns, error);
	*ret_ns = when.realtime_ns;
	return 0;
}

/* Joins all words with blanks, as echo does. */
static void join_words(const struct invocation *invocation, struct buffer *text)
{
	for (size_t i = 0; i < invocation->word_count; i++)
		buffer_printf(text, "%s%s", i ? " " : "", invocation->words[i]);
	buffer_u8(text, 0);
}

/* Refuses a store that does not exist, because a mistyped name must not become a new store. */
static int check_store(const struct invocation *invocation, struct recorded_facts *facts,
		       struct error *error)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	int r = store_reader_open(store_path(invocation), &reader, error);

	return r < 0 ? r : store_host_find_all(reader, facts, error);
}

/* Also reads the host of the store. */
static int mark_write(const struct invocation *invocation, const char *text, uint64_t time_ns,
		      struct recorded_facts *facts, uint64_t *ret_id, struct error *error)
{
	char id[24];
	const struct notes_field fields[] = { { "text", text }, { "id", id } };
	const struct note note = {
		.kind = NOTES_MARK,
		.realtime_ns = time_ns,
		.fields = fields,
		.field_count = ARRAY_SIZE(fields),
	};
	int r = check_store(invocation, facts, error);

	if (r < 0)
		return r;
	r = incident_notes_reserve(store_path(invocation), 1, 1, ret_id, error);
	if (r < 0)
		return r;
	snprintf(id, sizeof(id), "%llu", (unsigned long long)*ret_id);
	if (mutated("forget-mark"))
		return 0;
	return notes_append(store_path(invocation), &note, error);
}

static int mark_run(const struct invocation *invocation)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	char shown[TIME_TEXT_SIZE], host[HOST_NAME_SIZE];
	struct recorded_facts facts = { 0 };
	struct error error = { 0 };
	uint64_t time_ns, id;
	bool empty = true;
	int r;

	for (size_t i = 0; i < invocation->word_count; i++)
		empty = empty && !invocation->words[i][strspn(invocation->words[i], " \t\n")];
	if (empty)
		return usage_error("a mark needs a text: perftape mark 'deploy 1.2'");
	r = parse_moment(invocation, &time_ns, &error);
	if (r == -ENOMEM)
		return fail(r, &error);
	if (r < 0)
		return usage_error("%s", error.text);
	join_words(invocation, &text);
	if (buffer_failed(&text))
		return fail(-ENOMEM, NULL);
	r = mark_write(invocation, (const char *)text.data, time_ns, &facts, &id, &error);
	if (r < 0)
		return fail(r, &error);
	say(invocation, "%smark %llu at %s", host_name_prefix(&facts, host), (unsigned long long)id,
	    time_format(time_ns, option_given(invocation, "utc"), 3, shown));
	return EXIT_DONE;
}

const struct command command_mark = {
	.name = "mark",
	.arguments = "TEXT",
	.summary = "Put a marker on the tape",
	.about = about,
	.options = options,
	.writes = true,
	.run = mark_run,
};
