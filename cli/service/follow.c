// SPDX-License-Identifier: GPL-2.0-only
#include "cli/service/follow.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/foreign.h"
#include "base/json.h"
#include "base/size.h"
#include "cli/options/print.h"
#include "cli/service/snapshot-keeper.h"
#include "cli/service/snapshot-shelf.h"
#include "cli/window/incident-book.h"
#include "query/read/store-host.h"

#define LOOK_NS (1 * NSEC_PER_SEC)
/*
 * Each look reads the incidents of the last WINDOW_NS: an episode ends after half a minute, and a
 * line of the kernel's log may come late.
 */
#define WINDOW_NS (900 * NSEC_PER_SEC)

struct follow {
	const struct invocation *invocation;
	/* NULL: any kind. */
	const char *kind;
	bool all, json;
	struct snapshot_keeper *keeper;
	/* So that a look reads only what is new. */
	struct store_listing *listing;
	/* Numbers of the incidents that the last look found, in ascending order. */
	array_of(uint64_t) seen;
	/* The host of the store, and whether a line before the first incident named it. */
	struct recorded_facts facts;
	bool named;
	uint64_t shown;
	/* The last failure that was reported. */
	struct error reported;
	struct buffer text;
};

static int follow_compare(const void *a, const void *b)
{
	uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return (first > second) - (first < second);
}

/* A container that is killed for its memory again and again makes thousands of incidents. */
static bool follow_has_seen(const struct follow *follow, uint64_t id)
{
	return follow->seen.count &&
	       bsearch(&id, follow->seen.items, follow->seen.count, sizeof(id), follow_compare);
}

static bool follow_wants(const struct follow *follow, const struct book *book,
			 const struct book_row *row)
{
	const struct kind *kind = &book->kinds.items[row->kind];

	if (follow->kind && !book_kind_is(kind->name, follow->kind, strlen(follow->kind)))
		return false;
	/* the first line of an episode stands for it; a night of resets has thousands */
	return follow->all || follow->json || book->episodes.list.items[row->episode].id == row->id;
}

static int follow_put(struct follow *follow, const struct book *book, const struct book_row *row)
{
	_cleanup_(buffer_done) struct buffer names = { 0 };
	struct incident incident;
	char device[64], shown[TIME_TEXT_SIZE];
	int r = book_incident(book, row, &names, device, &incident);

	if (r < 0)
		return r;
	follow->shown++;
	if (follow->json) {
		incident_json(&incident, book_text(book, row->source),
			      segments_covered(&book->segments, book_text(book, row->boot_id),
					       row->stall_ns, row->time_ns),
			      &follow->text);
		return 0;
	}
	if (!follow->named && *follow->facts.host)
		buffer_printf(&follow->text, "host %s\n", follow->facts.host);
	follow->named = true;
	buffer_printf(&follow->text, "%llu  %s  %-6s  %s  ", (unsigned long long)row->id,
		      time_format(row->time_ns, option_given(follow->invocation, "utc"), 3, shown),
		      severity_name(incident.kind->severity), incident.kind->name);
	foreign_put(&follow->text, incident.line, incident.line_size);
	buffer_u8(&follow->text, '\n');
	return 0;
}

/* Prints the incidents that the last look did not find. At the first look, prints none. */
static int follow_take(struct follow *follow, const struct book *book, bool first)
{
	array_of(uint64_t) now = { 0 };
	bool news = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < book->rows.count; i++) {
		const struct book_row *row = &book->rows.items[i];

		if (!row->id)
			continue;
		r = array_push(&now, row->id);
		if (r < 0 || follow_has_seen(follow, row->id))
			continue;
		news = true;
		if (!first && follow_wants(follow, book, row))
			r = follow_put(follow, book, row);
	}
	if (now.count)
		qsort(now.items, now.count, sizeof(*now.items), follow_compare);
	array_done(&follow->seen);
	follow->seen.items = now.items;
	follow->seen.count = now.count;
	follow->seen.capacity = now.capacity;
	if (news && follow->keeper)
		snapshot_keeper_found(follow->keeper);
	return r;
}

static int follow_read(struct follow *follow, bool first, struct error *error)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct book book = { 0 };
	int r = store_reader_open(store_path(follow->invocation), &reader, error);

	if (r < 0)
		return r;
	store_reader_use_listing(reader, follow->listing);
	if (!*follow->facts.host)
		r = store_host_find_all(reader, &follow->facts, error);
	if (r < 0)
		return r;
	r = book_open_since(reader, clock_ns(CLOCK_REALTIME) - WINDOW_NS, &book, error);
	if (r < 0)
		return r;
	r = follow_take(follow, &book, first);
	book_done(&book);
	return r;
}

/* Returns a negative errno if nobody reads standard output any more, or without memory. */
static int follow_print(struct follow *follow)
{
	int r = 0;

	if (follow->text.size || buffer_failed(&follow->text))
		r = print_text(stdout, &follow->text, false);
	if (r == 0 && fflush(stdout) != 0)
		r = -errno;
	follow->text.size = 0;
	return r;
}

/*
 * Prints the new incidents. A store that cannot be read may come back, so goes on after a failure,
 * and reports it once.
 */
static int follow_look(struct follow *follow)
{
	struct error error = { 0 };
	int r = follow_read(follow, false, &error);

	if (r == -ENOMEM)
		return r;
	if (r < 0 && strcmp(error.text, follow->reported.text) != 0)
		warn("%s; tries again each second", error.text);
	follow->reported = error;
	return follow_print(follow);
}

static void follow_block_signals(sigset_t *ret_set)
{
	sigemptyset(ret_set);
	sigaddset(ret_set, SIGINT);
	sigaddset(ret_set, SIGTERM);
	sigaddset(ret_set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, ret_set, NULL);
}

static int follow_run(struct follow *follow)
{
	static const struct timespec pause = { LOOK_NS / NSEC_PER_SEC, LOOK_NS % NSEC_PER_SEC };
	sigset_t ends;
	int r = 0;

	follow_block_signals(&ends);
	do
		r = follow_look(follow);
	while (r == 0 && sigtimedwait(&ends, NULL, &pause) < 0);
	/* -EPIPE means that the reader of our output has ended, which is not a failure */
	return r == -EPIPE ? EXIT_DONE : r < 0 ? fail(r, NULL) : EXIT_DONE;
}

/* The last line of JSON. */
static int follow_put_coverage(struct follow *follow)
{
	struct buffer *json = &follow->text;

	json_open(json, '{');
	json_key(json, "coverage");
	json_open(json, '{');
	json_key(json, "store");
	json_string(json, store_path(follow->invocation));
	recorded_facts_put_host(&follow->facts, json);
	json_key(json, "incidents");
	json_u64(json, follow->shown);
	json_close(json, '}');
	json_close(json, '}');
	buffer_u8(json, '\n');
	/* a reader of our output that has ended is not a failure */
	follow_print(follow);
	return EXIT_DONE;
}

static int follow_parse_size(const struct invocation *invocation, uint64_t *ret_bytes)
{
	const char *text = option_value(invocation, "max-size");
	int r = text ? size_parse(text, ret_bytes) : 0;

	if (r == -EDOM)
		return option_error(invocation, "max-size", "'%s': size needs a unit, as 1G", text);
	if (r < 0 || !*ret_bytes)
		return option_error(invocation, "max-size", "'%s' is not a size, such as 1G", text);
	return EXIT_DONE;
}

static int follow_keep(struct follow *follow)
{
	struct snapshot_keeper_options options = {
		.store = store_path(follow->invocation),
		.folder = option_value(follow->invocation, "leave"),
		.max_bytes = SNAPSHOT_SHELF_BYTES,
		/* include the incidents that came while the follower did not run */
		.since_ns = clock_ns(CLOCK_REALTIME) - SNAPSHOT_KEEPER_BACK_NS,
		.follows = true,
		.texts = true,
		.limit_option = "max-size",
	};
	struct error error = { 0 };
	int r = follow_parse_size(follow->invocation, &options.max_bytes);

	if (r != EXIT_DONE || !options.folder)
		return r;
	/* only the owner may read the snapshots */
	umask(077);
	r = snapshot_keeper_start(&options, &follow->keeper, &error);
	/*
	 * a recorder goes on without the folder; a follower fails, because a person asked for the
	 * folder
	 */
	return r ? fail(r, &error) : EXIT_DONE;
}

int follow_incidents(const struct invocation *invocation)
{
	struct follow follow = {
		.invocation = invocation,
		.kind = option_value(invocation, "kind"),
		.all = option_given(invocation, "all"),
		.json = option_given(invocation, "json"),
		.listing = store_listing_new(),
	};
	const char *host = follow.facts.host;
	struct error error = { 0 };
	int r = follow.listing ? follow_read(&follow, true, &error) : -ENOMEM;

	if (r < 0)
		r = fail(r, &error);
	if (r == 0)
		r = follow_keep(&follow);
	if (r == EXIT_DONE) {
		say(invocation, "%s%s%swaits for incidents in %s; Ctrl-C ends it",
		    *host ? "host " : "", host, *host ? ", " : "", store_path(invocation));
		r = follow_run(&follow);
		if (r == EXIT_DONE && follow.json)
			r = follow_put_coverage(&follow);
	}
	snapshot_keeper_stop(follow.keeper);
	store_listing_free(follow.listing);
	array_done(&follow.seen);
	buffer_done(&follow.text);
	return r;
}
