// SPDX-License-Identifier: GPL-2.0-only
#include "cli/answer/full-cpus.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include "cli/answer/screen.h"
#include "draw/text.h"
#include "query/sums/spike-leaders.h"

#define MIN_NS (2 * NSEC_PER_SEC)
#define BUSY 95
#define LINES 3
/* If a share is at least this large, the remainder is too small to mention. */
#define NEARLY_ALL 0.95

int full_cpus_list(struct store_reader *reader, const struct question *question,
		   struct spikes *ret_spikes, struct error *error)
{
	const struct filter by_cpu = { .cpus = question->filter->cpus };
	struct spikes_options options = {
		.question = *question, .min_ns = MIN_NS, .busy = BUSY, .all = true, .clip = true
	};
	int r;

	options.question.filter = &by_cpu;
	r = spikes_find(reader, &options, ret_spikes, error);
	if (r < 0)
		return r;
	spikes_sort_by_weight(ret_spikes);
	return 0;
}

int full_cpus_find(struct store_reader *reader, const struct question *question,
		   struct spikes *ret_spikes, struct error *error)
{
	int r = full_cpus_list(reader, question, ret_spikes, error);

	return r < 0 ? r : spikes_find_leaders(reader, question, LINES, ret_spikes, error);
}

/* The values that all lines need. */
struct shape {
	const struct spikes *spikes;
	const struct terminal *terminal;
	bool utc;
};

static void put_text(const struct shape *shape, const char *name, struct buffer *text)
{
	text_put_short(shape->terminal, name, UINT32_MAX, text);
}

static void put_name(const struct shape *shape, uint32_t name, struct buffer *text)
{
	put_text(shape, strings_at(&shape->spikes->names, name), text);
}

/* Puts "all kernel", or the share of the kernel. */
static void put_kind(const struct spike *spike, struct buffer *text)
{
	double kernel = spike->kernel + spike->irq;
	char shown[SHARE_TEXT_SIZE];

	if (kernel < NEARLY_ALL * spike->busy && kernel > (1 - NEARLY_ALL) * spike->busy)
		buffer_printf(text, "%s kernel", share_format(kernel, shown));
	else if (kernel < NEARLY_ALL * spike->busy)
		buffer_text(text, "all user");
	else
		buffer_text(text, spike->irq > spike->kernel ? "all interrupts" : "all kernel");
}

static void put_leader(const struct shape *shape, const struct spike *spike, struct buffer *text)
{
	const struct spike_leader *leader = &spike->leader;
	char shown[SHARE_TEXT_SIZE], part[48];

	if (!leader->comm) {
		buffer_text(text, "no sample says what it did");
		return;
	}
	if (leader->part_ns)
		buffer_printf(text, "in %s of it ",
			      duration_format(leader->part_ns, part, sizeof(part)));
	put_name(shape, leader->comm, text);
	if (leader->threads > 1)
		buffer_printf(text, " (%" PRIu64 " threads)", leader->threads);
	if (leader->share < NEARLY_ALL * spike->busy)
		buffer_printf(text, " had %s,", share_format(leader->share, shown));
	if (leader->function) {
		buffer_text(text, " in ");
		put_name(shape, leader->function, text);
	}
}

/*
 * Puts ": kubelet in mem_cgroup_iter". If the function may be another thread's, puts function and
 * thread separately.
 */
static void full_cpus_put_pair(const struct shape *shape, const struct spike_stretch *stretch,
			       struct buffer *text)
{
	const char *comm = spike_stretch_comm(shape->spikes, stretch);

	buffer_text(text, stretch->function ? ": " : "");
	if (stretch->is_pair) {
		put_text(shape, comm, text);
		buffer_text(text, " in ");
	}
	if (stretch->function)
		put_name(shape, stretch->function, text);
	if (comm && !stretch->is_pair) {
		buffer_text(text, ", busiest ");
		put_text(shape, comm, text);
	}
}

/* Puts the stretch of kernel time on a CPU on which other code ran most of the time. */
static void full_cpus_put_stretch(const struct shape *shape, const struct spike *spike,
				  struct buffer *text)
{
	uint64_t day_ns = shape->spikes->window.from_ns;
	const struct spike_stretch *stretch = &spike->stretch;
	char length[48], time[TIME_TEXT_SIZE];

	if (!stretch->length_ns)
		return;
	buffer_printf(text, "; %s of it in the kernel from %s",
		      duration_format(stretch->length_ns, length, sizeof(length)),
		      screen_time_of_day(stretch->from_ns, day_ns, shape->utc, time));
	full_cpus_put_pair(shape, stretch, text);
}

static void full_cpus_put_spike(const struct shape *shape, const struct spike *spike,
				struct buffer *text)
{
	uint64_t day_ns = shape->spikes->window.from_ns;
	char length[48], time[TIME_TEXT_SIZE];

	buffer_printf(text, "CPU %u was full for %s from %s, %s", spike->cpu,
		      duration_format(spike->length_ns, length, sizeof(length)),
		      screen_time_of_day(spike->from_ns, day_ns, shape->utc, time),
		      spike->counted_ns + NSEC_PER_SEC < spike->length_ns ? "in this window " : "");
	put_kind(spike, text);
	buffer_text(text, ": ");
	put_leader(shape, spike, text);
	full_cpus_put_stretch(shape, spike, text);
}

static void put_busiest(const struct shape *shape, const struct ranking *ranking,
			struct buffer *text)
{
	const struct ranking_core *busiest = NULL;
	char shown[SHARE_TEXT_SIZE];

	for (size_t i = 0; i < ranking->cores.count; i++)
		if (!busiest || ranking->cores.items[i].now.all > busiest->now.all)
			busiest = &ranking->cores.items[i];
	/* segments without busy seconds do not show whether CPUs were full */
	if (!shape->spikes->unknown)
		buffer_text(text, "no CPU was full for 2 s; ");
	buffer_text(text, "busiest: ");
	if (!busiest || !busiest->group) {
		buffer_text(text, "none, all were idle\n");
		return;
	}
	buffer_printf(text, "CPU %u, %s: ", busiest->cpu, share_format(busiest->now.all, shown));
	/* a call path ends with the function */
	if (ranking->by != TALLY_BY_PATH || !busiest->function)
		put_text(shape, busiest->group, text);
	if (busiest->function) {
		buffer_text(text, ranking->by == TALLY_BY_PATH ? "" : " in ");
		put_text(shape, busiest->function, text);
	}
	buffer_u8(text, '\n');
}

void full_cpus_put(const struct spikes *spikes, const struct ranking *ranking,
		   const struct terminal *terminal, bool utc, struct buffer *text)
{
	const struct shape shape = { spikes, terminal, utc };
	size_t count = MIN(spikes->list.count, (size_t)LINES);

	if (!count)
		put_busiest(&shape, ranking, text);
	for (size_t i = 0; i < count; i++) {
		full_cpus_put_spike(&shape, &spikes->list.items[i], text);
		if (i + 1 == count && spikes->list.count > count)
			buffer_printf(text, "; %zu more: perftape spikes --all",
				      spikes->list.count - count);
		buffer_u8(text, '\n');
	}
}

void full_cpus_put_brief(const struct spikes *spikes, bool utc, struct buffer *text)
{
	size_t count = MIN(spikes->list.count, (size_t)LINES);
	char length[48], time[TIME_TEXT_SIZE];

	if (!count && !spikes->unknown)
		buffer_text(text, "no CPU was full for 2 s");
	for (size_t i = 0; i < count; i++) {
		const struct spike *spike = &spikes->list.items[i];

		buffer_printf(
			text, "%sCPU %u %s %s from %s", i ? ", " : "", spike->cpu,
			i ? "for" : "was full for",
			duration_format(spike->length_ns, length, sizeof(length)),
			screen_time_of_day(spike->from_ns, spikes->window.from_ns, utc, time));
	}
	if (spikes->list.count > count)
		buffer_printf(text, ", %zu more", spikes->list.count - count);
}
