// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/window-ask.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "fleet/sql-text.h"
#include "fleet/window-answer.h"
/* generated from the files of sql/ */
#include "fleet/window-losses-sql.h"
#include "fleet/window-samples-sql.h"
#include "fleet/window-spans-sql.h"
#include "fleet/window-stacks-sql.h"
#include "fleet/window-sums-sql.h"

#define MINUTE_US 60000000

static void window_answer_done(struct window_answer *answer)
{
	buffer_done(&answer->spans);
	buffer_done(&answer->samples);
	buffer_done(&answer->stacks);
	buffer_done(&answer->losses);
}

static int window_run(struct server *server, const char *sql, const struct sql_value values[5],
		      struct buffer *answer, struct error *error)
{
	_cleanup_(buffer_done) struct buffer filled = { 0 };
	int r = sql_fill(sql, values, 5, &filled);

	buffer_u8(&filled, 0);
	if (r < 0 || buffer_failed(&filled))
		return r < 0 ? r : -ENOMEM;
	return server_run(server, (const char *)filled.data, false, answer, error);
}

/* Returns whether sums have samples of a window whose samples the server lacks. */
static int window_ask_sums(struct server *server, const struct sql_value values[5],
			   struct error *error)
{
	_cleanup_(buffer_done) struct buffer answer = { 0 };
	struct reader rows;
	int r = window_run(server, window_sums_sql, values, &answer, error);

	if (r < 0)
		return r;
	reader_init(&rows, answer.data, answer.size);
	return reader_u64(&rows) ? WINDOW_HELD_SUMS : WINDOW_HELD_NOTHING;
}

int window_ask(struct server *server, const char *host, uint64_t from_ns, uint64_t to_ns,
	       struct buffer *tapes, struct error *error)
{
	uint64_t from_us = from_ns / NSEC_PER_USEC;
	uint64_t to_us = (to_ns + NSEC_PER_USEC - 1) / NSEC_PER_USEC;
	const struct sql_value values[] = {
		{ "host", host, 0 },
		{ "from", NULL, from_us },
		{ "to", NULL, to_us },
		{ "first_minute", NULL, from_us / MINUTE_US },
		{ "last_minute", NULL, (to_us - 1) / MINUTE_US },
	};
	_cleanup_(window_answer_done) struct window_answer answer = { 0 };
	int r = window_run(server, window_spans_sql, values, &answer.spans, error);

	if (r < 0)
		return r;
	if (!answer.spans.size)
		return window_ask_sums(server, values, error);
	r = window_run(server, window_samples_sql, values, &answer.samples, error);
	if (r < 0)
		return r;
	r = window_run(server, window_stacks_sql, values, &answer.stacks, error);
	if (r < 0)
		return r;
	r = window_run(server, window_losses_sql, values, &answer.losses, error);
	if (r < 0)
		return r;
	r = window_answer_encode(&answer, from_ns, to_ns, tapes, error);
	return r < 0 ? r : r > 0 ? WINDOW_HELD_SAMPLES : WINDOW_HELD_NOTHING;
}
