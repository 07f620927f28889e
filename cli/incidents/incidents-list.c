// SPDX-License-Identifier: GPL-2.0-only
#include "cli/incidents/incidents-list.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/number.h"
#include "cli/answer/episode-table.h"
#include "cli/answer/host-name.h"
#include "cli/answer/screen.h"
#include "cli/incidents/kind-choice.h"
#include "cli/options/print.h"
#include "cli/window/incident-choice.h"
#include "cli/window/window-options.h"
#include "query/read/store-host.h"

struct list {
	const struct invocation *invocation;
	/* NULL: any kind. */
	const char *kind;
	struct window window;
	/* The user selected a window. */
	bool windowed;
	/* Show only this episode; NULL: show all. */
	const struct episode *episode;
	struct book book;
	uint64_t shown;
	/* Number of informational incidents that are not shown. */
	uint64_t lesser;
	/* The recorded part of the window. */
	uint64_t recorded_ns;
	struct recorded_facts facts;
};

static bool incidents_list_is_asked(const struct list *list, const struct book_row *row)
{
	const char *kind = list->book.kinds.items[row->kind].name;

	if (list->episode && &list->book.episodes.list.items[row->episode] != list->episode)
		return false;
	return row->time_ns >= list->window.from_ns && row->time_ns < list->window.to_ns &&
	       (!list->kind || book_kind_is(kind, list->kind, strlen(list->kind)));
}

static enum covered covered_of(const struct list *list, uint32_t boot_id, uint64_t from_ns,
			       uint64_t to_ns)
{
	return segments_covered(&list->book.segments, book_text(&list->book, boot_id), from_ns,
				to_ns);
}

/* Shows each incident, as JSON or as a row. */
static int show_all(struct list *list, struct buffer *json, struct episode_table *table)
{
	_cleanup_(buffer_done) struct buffer names = { 0 };
	const struct book *book = &list->book;
	int r = 0;

	for (size_t i = 0; r == 0 && i < book->rows.count; i++) {
		const struct book_row *row = &book->rows.items[i];
		enum covered covered = covered_of(list, row->boot_id, row->stall_ns, row->time_ns);
		struct incident incident;
		char device[64];

		if (!incidents_list_is_asked(list, row))
			continue;
		r = book_incident(book, row, &names, device, &incident);
		if (r == 0 && json)
			incident_json(&incident, book_text(book, row->source), covered, json);
		else if (r == 0)
			episode_table_incident(table, &incident, covered);
		list->shown += r == 0;
	}
	return r;
}

/* Shows the episodes with a matching line. */
static int show_episodes(struct list *list, struct episode_table *table)
{
	const struct book *book = &list->book;
	_cleanup_free_ bool *asked = calloc(book->episodes.list.count + 1, sizeof(*asked));

	if (!asked)
		return -ENOMEM;
	for (size_t i = 0; i < book->rows.count; i++)
		asked[book->rows.items[i].episode] |=
			incidents_list_is_asked(list, &book->rows.items[i]);
	for (size_t i = 0; i < book->episodes.list.count; i++) {
		const struct episode *episode = &book->episodes.list.items[i];

		if (!asked[i])
			continue;
		if (episode->kind->severity == SEVERITY_INFO && !list->kind && !list->episode &&
		    strcmp(episode->kind->name, STORE_MARK) != 0) {
			list->lesser++;
			continue;
		}
		episode_table_row(table, episode,
				  covered_of(list, episode->boot, episode->start_ns,
					     episode->last.realtime_ns));
		list->shown++;
	}
	return 0;
}

static void incidents_list_put_coverage(const struct list *list, struct buffer *out)
{
	json_open(out, '{');
	json_key(out, "coverage");
	json_open(out, '{');
	json_key(out, "store");
	json_string(out, store_path(list->invocation));
	recorded_facts_put_host(&list->facts, out);
	json_key(out, "incidents");
	json_u64(out, list->shown);
	if (list->windowed) {
		json_key(out, "window_ns");
		json_u64(out, list->window.to_ns - list->window.from_ns);
		json_key(out, "covered_ns");
		json_u64(out, list->recorded_ns);
	}
	json_close(out, '}');
	json_close(out, '}');
	buffer_u8(out, '\n');
}

static int show_json(struct list *list)
{
	_cleanup_(buffer_done) struct buffer out = { 0 };
	int r = show_all(list, &out, NULL);

	if (r < 0)
		return r;
	incidents_list_put_coverage(list, &out);
	if (buffer_failed(&out))
		return -ENOMEM;
	print_text(stdout, &out, false);
	return 0;
}

static int incidents_list_show(struct list *list)
{
	struct episode_table table = { .invocation = list->invocation };
	struct terminal terminal;
	int r, s;

	if (option_given(list->invocation, "json"))
		return show_json(list);
	screen_read_lines(list->invocation, &terminal);
	host_name_put_head(list->invocation, &list->facts, list->windowed ? &list->window : NULL,
			   &terminal, &table.head);
	table.with_text = option_given(list->invocation, "all");
	r = table.with_text ? show_all(list, NULL, &table) : show_episodes(list, &table);
	s = episode_table_end(&table);
	return r < 0 ? r : s;
}

static void incidents_list_print_summary(const struct list *list)
{
	uint64_t length_ns = list->window.to_ns - list->window.from_ns;
	char missing[32];

	say(list->invocation, "%llu incident%s in %s", (unsigned long long)list->shown,
	    plural(list->shown), store_path(list->invocation));
	if (list->windowed && list->recorded_ns < length_ns) {
		duration_format(length_ns - list->recorded_ns, missing, sizeof(missing));
		warn("%s of that window was not recorded: incidents may be missing", missing);
	}
	if (list->lesser)
		say(list->invocation, "%llu informational incident%s hidden (--all shows them)",
		    (unsigned long long)list->lesser, plural(list->lesser));
}

/* Warns about segments that cannot be read, because their incidents may be missing. */
static void incidents_list_say_unread(struct store_reader *reader)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	int r = book_describe_unread(reader, &text, NULL);

	if (r == -ENOMEM || (r == 0 && (text.size || buffer_failed(&text))))
		warn("%s", r < 0 ? "damaged segments: out of memory" : buffer_shown(&text));
}

static int measure_window(struct store_reader *reader, struct list *list, struct error *error)
{
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	int r = store_reader_find(reader, list->window.from_ns, list->window.to_ns, &segments,
				  error);

	if (r < 0)
		return r;
	list->recorded_ns =
		segments_recorded(&segments, "", list->window.from_ns, list->window.to_ns);
	return 0;
}

/* here, --incident selects a row instead of a window */
static int incidents_list_parse(struct list *list)
{
	static const char *const others[] = { "at", "before", "after", "from",
					      "to", "since",  "until", "boot" };
	const struct invocation *invocation = list->invocation;

	if (!option_given(invocation, "incident")) {
		list->windowed = window_given(invocation);
		return list->windowed ? window_option_parse(invocation, &list->window) : EXIT_DONE;
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (option_given(invocation, others[i]))
			return usage_error("--incident and --%s exclude each other; give one",
					   others[i]);
	return EXIT_DONE;
}

/* Returns EXIT_DONE, or an exit code after a message. */
static int check_kind(const struct list *list)
{
	_cleanup_(cleanup_catalogue) struct catalogue *catalogue = NULL;
	const char *folder = option_value(list->invocation, "patterns");
	struct error error = { 0 };
	int r;

	if (!list->kind)
		return EXIT_DONE;
	r = catalogue_new(folder ? folder : INCIDENTS_FOLDER, &catalogue, &error);
	return r < 0 ? fail(r, &error)
		     : kind_choice_check(list->invocation, catalogue, &list->book);
}

/* Shows the rows that the user selected. Returns an exit code. */
static int incidents_list_answer(struct list *list, struct store_reader *reader)
{
	const char *asked = option_value(list->invocation, "incident");
	struct error error = { 0 };
	int r = check_kind(list);

	if (r != EXIT_DONE)
		return r;
	r = asked ? incident_choose(&list->book, asked, &list->episode, &error) : 0;
	if (r == -EINVAL)
		return usage_error("--incident: %s", error.text);
	if (r == 0)
		r = incidents_list_show(list);
	if (r < 0)
		fail(r, &error);
	if (r < 0 && r != -ENOENT)
		return EXIT_FAILED;
	if (r == 0)
		incidents_list_print_summary(list);
	incidents_list_say_unread(reader);
	return r < 0 ? EXIT_NOTHING : EXIT_DONE;
}

int incidents_list(const struct invocation *invocation)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct list list = {
		.invocation = invocation,
		.kind = option_value(invocation, "kind"),
		.window = { .to_ns = UINT64_MAX },
	};
	struct error error = { 0 };
	int r = incidents_list_parse(&list);

	if (r != EXIT_DONE)
		return r;
	r = store_reader_open(store_path(invocation), &reader, &error);
	if (r == 0 && list.windowed && option_given(invocation, "json"))
		say_window(invocation, &list.window);
	else if (r == 0)
		say_window_note(invocation, &list.window);
	if (r < 0)
		return fail(r, &error);
	if (list.windowed)
		r = measure_window(reader, &list, &error);
	if (r < 0)
		return fail(r, &error);
	r = store_host_find(reader, &list.window, &list.facts, &error);
	if (r < 0)
		return fail(r, &error);
	r = book_open(reader, &list.book, &error);
	if (r < 0)
		return fail(r, &error);
	r = incidents_list_answer(&list, reader);
	book_done(&list.book);
	return r;
}
