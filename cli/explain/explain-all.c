// SPDX-License-Identifier: GPL-2.0-only
#include "cli/explain/explain-all.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/answer/progress-line.h"
#include "cli/answer/query-args.h"
#include "cli/answer/screen.h"
#include "cli/window/incident-book.h"
#include "cli/window/window-options.h"
#include "draw/common-screen.h"
#include "query/common/common.h"

/* Without a stated begin, a stall began at most this long before its line. */
#define BEFORE_NS (10 * NSEC_PER_SEC)
/* Reports of several kinds within this time are one incident. */
#define APART_NS (30 * NSEC_PER_SEC)
/* The time for reading controls, so that an answer takes less than ten seconds. */
#define LIMIT_NS (6 * NSEC_PER_SEC)

struct explain_all {
	const struct invocation *invocation;
	struct query_args args;
	/* no window: all incidents */
	bool windowed;
	struct window window;
	const char *kind;
	struct terminal terminal;
	array_of(struct common_store) stores;
	struct common_answer answer;
	/* the last incident that was added, which may be left out since */
	bool has_last;
	size_t last_store;
	uint64_t last_ns;
	/* kinds that the stores have, for a message */
	struct buffer kinds;
};

static void explain_all_done(struct explain_all *all)
{
	common_done(&all->answer);
	for (size_t i = 0; i < all->stores.count; i++)
		store_reader_close(all->stores.items[i].reader);
	array_done(&all->stores);
	buffer_done(&all->kinds);
	query_args_done(&all->args);
}

/* Refuses options that are about one incident. */
static int explain_all_check(const struct invocation *invocation)
{
	static const char *const others[] = { "incident", "line", "baseline" };

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (option_given(invocation, others[i]))
			return usage_error("--all and --%s exclude each other; give one",
					   others[i]);
	return EXIT_DONE;
}

static int explain_all_parse(struct explain_all *all)
{
	const struct invocation *invocation = all->invocation;
	int r = explain_all_check(invocation);

	all->kind = option_value(invocation, "kind");
	all->windowed = window_given(invocation);
	if (r == EXIT_DONE && all->windowed)
		r = window_option_parse(invocation, &all->window);
	if (r == EXIT_DONE)
		r = query_args_parse_filter(invocation, &all->args);
	return r == EXIT_DONE ? screen_read(invocation, &all->terminal) : r;
}

static int explain_all_open_store(struct explain_all *all, const char *path, struct error *error)
{
	struct common_store store = { .path = path };
	int r = store_reader_open(path, &store.reader, error);

	if (r == 0)
		r = array_push(&all->stores, store);
	if (r < 0)
		store_reader_close(store.reader);
	return r;
}

/* Opens each store that was typed, else the usual one. */
static int explain_all_open(struct explain_all *all, struct error *error)
{
	const struct invocation *invocation = all->invocation;
	int r = 0;

	for (size_t i = 0; r == 0 && i < invocation->given_count; i++)
		if (strcmp(invocation->given[i].option->name, "store") == 0)
			r = explain_all_open_store(all, invocation->given[i].value, error);
	if (r < 0)
		return r;
	if (!all->stores.count)
		return explain_all_open_store(all, store_path(invocation), error);
	return 0;
}

static bool explain_all_wants(const struct explain_all *all, const struct episode *episode)
{
	uint64_t at_ns = episode->first.realtime_ns;

	if (all->windowed && (at_ns < all->window.from_ns || at_ns >= all->window.to_ns))
		return false;
	if (all->kind)
		return book_kind_is(episode->kind->name, all->kind, strlen(all->kind));
	return episode->kind->severity >= SEVERITY_ERR;
}

static int explain_all_add_name(struct explain_all *all, const char *name, uint32_t *ret_name)
{
	return strings_add(&all->answer.names, name, strlen(name), ret_name);
}

static int explain_all_add_case(struct explain_all *all, size_t store,
				const struct episode *episode)
{
	uint64_t first_ns = episode->first.realtime_ns;
	struct common_case added = {
		.store = store,
		.id = episode->id,
		.stall_from_ns = first_ns - MIN(first_ns, BEFORE_NS),
		.stall_to_ns = first_ns,
		.has_queue = episode->has_queue,
		.queue = episode->queue,
		.has_queue_cpu = episode->has_cpu,
		.queue_cpu = episode->cpu,
	};
	int r = explain_all_add_name(all, episode->kind->name, &added.kind);

	if (episode->has_start && episode->start_ns < first_ns)
		added.stall_from_ns = episode->start_ns;
	if (r < 0)
		return r;
	r = explain_all_add_name(all, episode->device, &added.device);
	return r < 0 ? r : array_push(&all->answer.cases, added);
}

/* Adds an incident. From time to time, only the newest ones are kept, as a store may have any
 * number. */
static int explain_all_add_bounded(struct explain_all *all, size_t store,
				   const struct episode *episode)
{
	int r = explain_all_add_case(all, store, episode);

	all->has_last = true;
	all->last_store = store;
	all->last_ns = episode->first.realtime_ns;
	if (r < 0)
		return r;
	if (all->answer.cases.count >= 4 * COMMON_CASES_MOST)
		return common_keep_newest(&all->answer);
	return 0;
}

/* Returns whether the last case reports the same trouble. */
static bool explain_all_is_same(const struct explain_all *all, size_t store,
				const struct episode *episode)
{
	return all->has_last && all->last_store == store &&
	       episode->first.realtime_ns < all->last_ns + APART_NS;
}

static void explain_all_note_kind(struct explain_all *all, const char *kind)
{
	if (all->kinds.size && memmem(all->kinds.data, all->kinds.size, kind, strlen(kind)))
		return;
	buffer_printf(&all->kinds, "%s%s", all->kinds.size ? ", " : "", kind);
}

static int explain_all_add_store(struct explain_all *all, size_t store, struct error *error)
{
	_cleanup_(book_done) struct book book = { 0 };
	int r = book_open(all->stores.items[store].reader, &book, error);

	for (size_t i = 0; r == 0 && i < book.episodes.list.count; i++) {
		const struct episode *episode = &book.episodes.list.items[i];

		explain_all_note_kind(all, episode->kind->name);
		if (explain_all_wants(all, episode) && !explain_all_is_same(all, store, episode))
			r = explain_all_add_bounded(all, store, episode);
	}
	return r;
}

/* Says that no incident was found, and which kinds exist. */
static int explain_all_nothing(struct explain_all *all)
{
	buffer_u8(&all->kinds, 0);
	warn("no such incident%s%s%s; perftape incidents lists all", all->kind ? " of kind " : "",
	     all->kind ? all->kind : "", all->windowed ? " in that window" : "");
	if (all->kinds.size > 1 && !buffer_failed(&all->kinds))
		warn("the stores have: %.400s; --kind takes one of them",
		     (const char *)all->kinds.data);
	return EXIT_NOTHING;
}

static int explain_all_compare(struct explain_all *all, struct error *error)
{
	struct progress_line progress;
	const struct common_options options = {
		.stores = all->stores.items,
		.store_count = all->stores.count,
		.question = all->args.question,
		.limit_ns = LIMIT_NS,
		.threads = screen_threads(),
		.progress = progress_line_show,
		.progress_context = &progress,
	};
	int r;

	progress_line_start(&progress, "segments", option_given(all->invocation, "quiet"));
	r = common_run(&options, &all->answer, error);
	progress_line_end(&progress);
	return r;
}

/* The recorded time of all hosts, without the details of single gaps. */
static struct coverage explain_all_coverage(const struct common_answer *answer)
{
	uint64_t window_ns =
		(answer->to_ns - answer->from_ns) * MAX(answer->hosts.count, (size_t)1);
	struct coverage coverage = { .window_ns = window_ns,
				     .covered_ns = MIN(answer->recorded_ns, window_ns),
				     .damaged = answer->damaged };

	for (size_t i = 0; i < answer->hosts.count; i++)
		recorded_facts_add_host(&coverage.facts,
					common_name(answer, answer->hosts.items[i]));
	return coverage;
}

static int explain_all_print(struct explain_all *all)
{
	const struct common_answer *answer = &all->answer;
	const struct window window = { .from_ns = answer->from_ns, .to_ns = answer->to_ns };
	const struct coverage coverage = explain_all_coverage(answer);
	_cleanup_(buffer_done) struct buffer text = { 0 };

	if (option_given(all->invocation, "json")) {
		common_put_json(answer, all->stores.items, &text);
		coverage_put_json(&coverage, &window, &text);
		return screen_print(&text);
	}
	common_screen_draw(&(struct common_screen){ answer, all->stores.items,
						    option_given(all->invocation, "utc") },
			   &all->terminal, &text);
	return screen_print_drawing(&all->terminal, &text);
}

static int explain_all_answer(struct explain_all *all)
{
	struct error error = { 0 };
	int r = explain_all_open(all, &error), code;

	for (size_t i = 0; r == 0 && i < all->stores.count; i++)
		r = explain_all_add_store(all, i, &error);
	if (r < 0)
		return fail(r, &error);
	r = common_keep_newest(&all->answer);
	if (r < 0)
		return fail(r, &error);
	if (!all->answer.cases.count)
		return explain_all_nothing(all);
	r = explain_all_compare(all, &error);
	if (r < 0)
		return fail(r, &error);
	code = explain_all_print(all);
	if (code == EXIT_DONE && (all->answer.unread || all->answer.damaged || all->answer.late) &&
	    option_given(all->invocation, "strict"))
		return EXIT_PARTIAL;
	return code;
}

int explain_all_run(const struct invocation *invocation)
{
	struct explain_all all = { .invocation = invocation };
	int r = explain_all_parse(&all);

	if (r == EXIT_DONE) {
		query_args_keep_memory();
		r = explain_all_answer(&all);
	}
	explain_all_done(&all);
	return r;
}
