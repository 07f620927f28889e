// SPDX-License-Identifier: GPL-2.0-only
#include "cli/answer/spike-incidents.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/window/incident-book.h"

/*
 * The kernel complains at its next check, so a message may come this much later than the spike. The
 * message may not state when the stall began.
 */
#define LATE_NS (10 * NSEC_PER_SEC)

static bool spike_incidents_touch(const struct episode *episode, const struct spike *spike)
{
	uint64_t end_ns = episode->first.realtime_ns, begin_ns = end_ns, late_ns = LATE_NS;

	if (episode->has_start && episode->start_ns < end_ns) {
		begin_ns = episode->start_ns;
		late_ns = 0;
	}
	return episode->kind->severity > SEVERITY_INFO && end_ns >= spike->from_ns &&
	       begin_ns < spike->to_ns + late_ns;
}

/* Returns the worst episode; among equally bad episodes, the first. */
static const struct episode *spike_incidents_worst(const struct book *book,
						   const struct spike *spike)
{
	const struct episode *worst = NULL;

	for (size_t i = 0; i < book->episodes.list.count; i++) {
		const struct episode *episode = &book->episodes.list.items[i];

		if (spike_incidents_touch(episode, spike) &&
		    (!worst || episode->kind->severity > worst->kind->severity))
			worst = episode;
	}
	return worst;
}

static int spike_incidents_add(struct spike_incidents *incidents, const struct episode *episode)
{
	char *text = NULL;

	if (episode && asprintf(&text, "%" PRIu64 " %s", episode->id, episode->kind->name) < 0)
		return -ENOMEM;
	if (array_push(&incidents->list, text) == 0)
		return 0;
	free(text);
	return -ENOMEM;
}

int spike_incidents_find(struct store_reader *reader, const struct spikes *spikes,
			 struct spike_incidents *ret_incidents, struct error *error)
{
	struct spike_incidents incidents = { 0 };
	_cleanup_(book_done) struct book book = { 0 };
	int r = spikes->list.count ? book_open(reader, &book, error) : 0;

	for (size_t i = 0; r == 0 && i < spikes->list.count; i++)
		r = spike_incidents_add(&incidents,
					spike_incidents_worst(&book, &spikes->list.items[i]));
	if (r < 0)
		spike_incidents_done(&incidents);
	else
		*ret_incidents = incidents;
	return r;
}

void spike_incidents_done(struct spike_incidents *incidents)
{
	for (size_t i = 0; i < incidents->list.count; i++)
		free(incidents->list.items[i]);
	array_done(&incidents->list);
}
