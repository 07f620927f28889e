// SPDX-License-Identifier: GPL-2.0-only
#include "query/explain/host-context.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "query/explain/host-steps.h"
#include "query/read/dying-state.h"
#include "query/read/series.h"

#define HOUR_NS (3600 * NSEC_PER_SEC)
/* The figures of single CPUs are read around the stall; the usual values of each come from here. */
#define NEAR_NS (60 * NSEC_PER_SEC)
/* A thread that waited shows its wait when it runs again. */
#define BEHIND_NS (15 * NSEC_PER_SEC)
/* The kernel's other messages. */
#define MESSAGES_BEFORE_NS (60 * NSEC_PER_SEC)
/* enum severity of incidents/patterns: SEVERITY_WARN */
#define WARNING 2

static const struct filter everything;

static int context_read_series(struct store_reader *reader, const struct question *question,
			       struct window window, struct series_options *options,
			       struct error *error)
{
	struct coverage coverage = { 0 };
	int r;

	options->question = *question;
	options->question.window = window;
	options->question.filter = &everything;
	r = series_run(reader, options, &coverage, error);
	array_done(&coverage.gaps);
	return r;
}

static int context_read_hour(struct store_reader *reader, const struct question *question,
			     struct evidence *evidence, struct host_steps *steps,
			     struct error *error)
{
	struct series_options options = {
		.wants = host_steps_wants_host,
		.see = host_steps_see_host,
		.context = steps,
	};
	struct window window = {
		.from_ns = evidence->stall_from_ns - MIN(evidence->stall_from_ns, HOUR_NS),
		.to_ns = evidence->stall_to_ns + BEHIND_NS,
	};

	return context_read_series(reader, question, window, &options, error);
}

static int context_read_cpus(struct store_reader *reader, const struct question *question,
			     struct evidence *evidence, struct host_steps *steps,
			     struct error *error)
{
	struct series_options options = {
		.wants = host_steps_wants_cpu,
		.see = host_steps_see_cpu,
		.context = steps,
	};
	struct window window = {
		.from_ns = evidence->stall_from_ns - MIN(evidence->stall_from_ns, NEAR_NS),
		.to_ns = evidence->stall_to_ns + BEHIND_NS,
	};

	return context_read_series(reader, question, window, &options, error);
}

static int context_read_makers(struct store_reader *reader, struct evidence *evidence,
			       struct error *error)
{
	_cleanup_(dying_state_done) struct dying_state state = { 0 };
	int r = dying_state_read(reader,
				 evidence->stall_from_ns - MIN(evidence->stall_from_ns, NEAR_NS),
				 evidence->stall_to_ns + BEHIND_NS, &state, error);

	if (r < 0)
		return r;
	if (state.kinds.count) {
		r = evidence_add_name(evidence, state.kinds.items[0].made_by,
				      &evidence->host.made_by);
		if (r < 0)
			return r;
		r = evidence_add_name(evidence, state.kinds.items[0].prefix,
				      &evidence->host.made_under);
		if (r < 0)
			return r;
	}
	evidence->host.dying_seen = isnan(evidence->host.dying) && state.count;
	if (evidence->host.dying_seen)
		evidence->host.dying = state.count;
	return 0;
}

static int context_see_message(void *context, const struct store_incident *incident)
{
	struct evidence *evidence = context;
	struct evidence_host *host = &evidence->host;
	uint32_t kind;
	int r;

	if (incident->severity < WARNING || strcmp(incident->kind, evidence->incident.kind) == 0)
		return 0;
	r = evidence_add_name(evidence, incident->kind, &kind);
	if (r < 0)
		return r;
	for (size_t i = 0; i < host->message_count; i++)
		if (host->messages[i].kind == kind) {
			host->messages[i].lines++;
			return 0;
		}
	if (host->message_count < EVIDENCE_NAMED)
		host->messages[host->message_count++] = (struct evidence_message){ kind, 1 };
	return 0;
}

int host_context_read(struct store_reader *reader, const struct question *question,
		      struct evidence *evidence, struct error *error)
{
	_cleanup_(host_steps_done) struct host_steps steps = { .evidence = evidence };
	int r;

	host_steps_init(&steps);
	r = context_read_hour(reader, question, evidence, &steps, error);
	if (r < 0)
		return r;
	r = context_read_cpus(reader, question, evidence, &steps, error);
	if (r < 0)
		return r;
	host_steps_finish(&steps);
	r = context_read_makers(reader, evidence, error);
	if (r < 0)
		return r;
	return store_reader_incidents(
		reader, evidence->stall_from_ns - MIN(evidence->stall_from_ns, MESSAGES_BEFORE_NS),
		evidence->stall_to_ns + BEHIND_NS, context_see_message, evidence, error);
}
