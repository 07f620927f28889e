// SPDX-License-Identifier: GPL-2.0-only
#include "query/explain/host-steps.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* How the names begin and end that matter. */
static const char throttled_end[] = "/throttled_ms";
static const char starts_end[] = "/starts";
static const char made_end[] = "/made";
static const char cgroup_begin[] = "cgroup";
static const char containers_begin[] = "containers/";
static const char unit_begin[] = "unit/";
static const char thread_begin[] = "thread/";
static const char wait_end[] = "/wait_us";
static const char ksoftirqd_begin[] = "ksoftirqd/";
static const char allocstall_begin[] = "vmstat/allocstall";

/* A wait of less than this is usual on a busy host. */
#define WAIT_LEAST_NS NSEC_PER_SEC
/* Many threads and cgroups can have gauges; the answer shows a few. */
#define NAMED_MAX 4096

static bool host_begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool host_ends(const char *text, const char *with)
{
	size_t size = strlen(text), end = strlen(with);

	return size >= end && strcmp(text + size - end, with) == 0;
}

void host_steps_init(struct host_steps *steps)
{
	static const struct evidence_figure unknown = { NAN, NAN };
	struct evidence_host *host = &steps->evidence->host;

	*host = (struct evidence_host){
		.tracked = NAN,
		.in_use = NAN,
		.dying = NAN,
		.grown = NAN,
		.stalls = unknown,
		.cpu_pressure = unknown,
		.memory_pressure = unknown,
		.io_pressure = unknown,
		.forks = unknown,
		.steal_most = NAN,
		.steal_usual = NAN,
		.steal_all = NAN,
	};
	steps->first_tracked = NAN;
}

void host_steps_done(struct host_steps *steps)
{
	array_done(&steps->named);
	array_done(&steps->cpus);
	array_done(&steps->victims);
}

bool host_steps_wants_host(void *context, const char *name)
{
	return host_begins(name, "memory_cgroups/") || host_begins(name, allocstall_begin) ||
	       strcmp(name, "pressure/cpu_some_us") == 0 ||
	       strcmp(name, "pressure/memory_full_us") == 0 ||
	       strcmp(name, "pressure/io_full_us") == 0 || strcmp(name, "host/forks") == 0 ||
	       (host_begins(name, cgroup_begin) && host_ends(name, throttled_end)) ||
	       ((host_begins(name, unit_begin) || host_begins(name, containers_begin)) &&
		(host_ends(name, starts_end) || host_ends(name, made_end)));
}

static void host_add_mean(struct host_mean *mean, double value, double weight_s)
{
	mean->sum += value * weight_s;
	mean->weight_s += weight_s;
}

/* Returns the length of the step's part in the stall. */
static double host_step_in_stall(const struct host_steps *steps, const struct series_step *step)
{
	uint64_t from_ns = MAX(step->from_ns, steps->evidence->stall_from_ns);
	uint64_t to_ns = MIN(step->to_ns, steps->evidence->stall_to_ns);

	return to_ns > from_ns ? (double)(to_ns - from_ns) / NSEC_PER_SEC : 0;
}

/* Sorts a rate into the stall, or into the time before it. */
static void host_add_step(const struct host_steps *steps, const struct series_step *step,
			  double value, struct host_pair *pair)
{
	double inside_s = host_step_in_stall(steps, step);

	if (!step->has_figure || step->from_ns >= step->to_ns)
		return;
	if (inside_s > 0)
		host_add_mean(&pair->now, value, inside_s);
	else if (step->to_ns <= steps->evidence->stall_from_ns)
		host_add_mean(&pair->usual, value,
			      (double)(step->to_ns - step->from_ns) / NSEC_PER_SEC);
}

/* The zones of memory have a counter each, and their rates add up. */
static void host_add_zone(struct host_steps *steps, const struct series_step *step)
{
	struct host_pair *pair = &steps->stalls, zone = { 0 };

	host_add_step(steps, step, step->figure, &zone);
	pair->now.sum += zone.now.sum;
	pair->usual.sum += zone.usual.sum;
	if (host_ends(step->name, "_normal")) {
		pair->now.weight_s += zone.now.weight_s;
		pair->usual.weight_s += zone.usual.weight_s;
	}
}

/* Takes the last reading before the end of the stall, else the first one after it. */
static void host_see_level(struct host_steps *steps, const struct series_step *step)
{
	struct evidence_host *host = &steps->evidence->host;
	bool late = step->to_ns > steps->evidence->stall_to_ns;
	const char *name = strchr(step->name, '/') + 1;
	double *level = strcmp(name, "tracked") == 0  ? &host->tracked
			: strcmp(name, "in_use") == 0 ? &host->in_use
			: strcmp(name, "dying") == 0  ? &host->dying
						      : NULL;

	if (!level || (late && !isnan(*level)))
		return;
	*level = step->value;
	if (level == &host->tracked && isnan(steps->first_tracked))
		steps->first_tracked = step->value;
}

static int host_named_find(struct host_steps *steps, const char *name, size_t size,
			   struct host_named **ret_named)
{
	struct host_named added = { 0 };
	int r = strings_add(&steps->evidence->names, name, size, &added.name);

	if (r < 0)
		return r;
	for (size_t i = 0; i < steps->named.count; i++)
		if (steps->named.items[i].name == added.name) {
			*ret_named = &steps->named.items[i];
			return 0;
		}
	*ret_named = NULL;
	if (steps->named.count == NAMED_MAX)
		return 0;
	r = array_push(&steps->named, added);
	if (r < 0)
		return r;
	*ret_named = &steps->named.items[steps->named.count - 1];
	return 0;
}

/* Takes a gauge "BEGIN NAME /END". A start after the stall did not cause it. */
static int host_see_named(struct host_steps *steps, const struct series_step *step, size_t begin)
{
	struct host_named *named;
	const char *name = step->name + begin;
	int r = host_named_find(steps, name, strrchr(name, '/') - name, &named);

	if (r < 0 || !named || !step->has_figure)
		return r;
	if (step->unit == SERIES_COUNT) {
		named->started = true;
		named->container = host_begins(step->name, containers_begin);
		if (step->from_ns < steps->evidence->stall_to_ns)
			*(host_ends(name, made_end) ? &named->made : &named->starts) +=
				step->figure;
	} else {
		host_add_step(steps, step, step->figure / 100, &named->share);
	}
	return 0;
}

int host_steps_see_host(void *context, const struct series_step *step)
{
	struct host_steps *steps = context;
	const char *name = step->name;

	steps->evidence->host.read = true;
	if (!steps->first_ns || step->from_ns < steps->first_ns)
		steps->first_ns = step->from_ns;
	if (host_begins(name, "memory_cgroups/"))
		host_see_level(steps, step);
	else if (host_begins(name, allocstall_begin))
		host_add_zone(steps, step);
	else if (strcmp(name, "pressure/cpu_some_us") == 0)
		host_add_step(steps, step, step->figure / 100, &steps->cpu_pressure);
	else if (strcmp(name, "pressure/memory_full_us") == 0)
		host_add_step(steps, step, step->figure / 100, &steps->memory_pressure);
	else if (strcmp(name, "pressure/io_full_us") == 0)
		host_add_step(steps, step, step->figure / 100, &steps->io_pressure);
	else if (strcmp(name, "host/forks") == 0)
		host_add_step(steps, step, step->figure, &steps->forks);
	else if (host_begins(name, cgroup_begin))
		return host_see_named(steps, step, strlen(cgroup_begin));
	else if (host_begins(name, unit_begin))
		return host_see_named(steps, step, strlen(unit_begin));
	else
		return host_see_named(steps, step, strlen(containers_begin));
	return 0;
}

/* Reads the number of a gauge "cpu39/steal_ms". Returns its kind, or NULL. */
static const char *host_cpu_of(const char *name, uint32_t *ret_cpu)
{
	char *end;

	if (!host_begins(name, "cpu") || !isdigit((unsigned char)name[3]))
		return NULL;
	*ret_cpu = strtoul(name + 3, &end, 10);
	return *end == '/' && *ret_cpu < TAPE_CPUS_MAX ? end + 1 : NULL;
}

bool host_steps_wants_cpu(void *context, const char *name)
{
	uint32_t cpu;
	const char *kind = host_cpu_of(name, &cpu);

	if (!kind)
		return host_begins(name, thread_begin) && host_ends(name, wait_end);
	return strcmp(kind, "idle_ms") == 0 || strcmp(kind, "iowait_ms") == 0 ||
	       strcmp(kind, "steal_ms") == 0 || strcmp(kind, "net_rx_softirqs") == 0;
}

/*
 * The kernel adds a wait when it ends, so the step's growth is a wait that ends with the step and
 * may have begun before it.
 */
static int host_see_wait(struct host_steps *steps, const struct series_step *step)
{
	const struct evidence *evidence = steps->evidence;
	struct evidence_victim victim = { .to_ns = step->to_ns };
	const char *name = step->name + strlen(thread_begin);
	char *end = NULL;
	int r;

	steps->evidence->waits_known = true;
	if (!step->has_figure || step->from_ns >= step->to_ns)
		return 0;
	victim.wait_ns = step->figure / 100 * (step->to_ns - step->from_ns);
	victim.from_ns = victim.to_ns - MIN(victim.wait_ns, victim.to_ns);
	if (victim.wait_ns < WAIT_LEAST_NS || victim.from_ns >= evidence->stall_to_ns ||
	    victim.to_ns <= evidence->stall_from_ns)
		return 0;
	if (host_begins(name, ksoftirqd_begin))
		victim.cpu = strtoul(name + strlen(ksoftirqd_begin), &end, 10);
	/* the name of any other thread has a number behind it: "ksoftirqd/3:4711" */
	victim.has_cpu = end && strcmp(end, wait_end) == 0;
	r = strings_add(&steps->evidence->names, name, strlen(name) - strlen(wait_end),
			&victim.name);
	return r < 0 ? r : array_push(&steps->victims, victim);
}

int host_steps_see_cpu(void *context, const struct series_step *step)
{
	struct host_steps *steps = context;
	struct host_cpu *row;
	const char *kind;
	uint32_t cpu;

	steps->evidence->host.read = true;
	kind = host_cpu_of(step->name, &cpu);
	if (!kind)
		return host_see_wait(steps, step);
	while (steps->cpus.count <= cpu)
		if (array_push(&steps->cpus, (struct host_cpu){ 0 }) < 0)
			return -ENOMEM;
	row = &steps->cpus.items[cpu];
	if (strcmp(kind, "steal_ms") == 0)
		host_add_step(steps, step, step->figure / 100, &row->steal);
	else if (strcmp(kind, "net_rx_softirqs") == 0)
		host_add_step(steps, step, step->figure, &row->receive);
	else if (strcmp(kind, "idle_ms") == 0)
		host_add_step(steps, step, step->figure / 100, &row->idle);
	else if (row->idle.now.weight_s > 0 && host_step_in_stall(steps, step) > 0)
		row->idle.now.sum += step->figure / 100 * host_step_in_stall(steps, step);
	return 0;
}

static double host_mean_of(const struct host_mean *mean)
{
	return mean->weight_s > 0 ? mean->sum / mean->weight_s : NAN;
}

static struct evidence_figure host_figure_of(const struct host_pair *pair)
{
	return (struct evidence_figure){ host_mean_of(&pair->now), host_mean_of(&pair->usual) };
}

static int host_compare_throttled(const void *a, const void *b)
{
	double left = host_mean_of(&((const struct host_named *)a)->share.now);
	double right = host_mean_of(&((const struct host_named *)b)->share.now);

	left = isnan(left) ? 0 : left;
	right = isnan(right) ? 0 : right;
	return left != right ? (left > right ? -1 : 1) : 0;
}

/* Two sources see starts: a scan once a minute, and the kernel's trace events. */
static double host_starts_of(const struct host_named *named)
{
	return MAX(named->starts, named->made);
}

static int host_compare_started(const void *a, const void *b)
{
	double left = host_starts_of(a), right = host_starts_of(b);

	return left != right ? (left > right ? -1 : 1) : 0;
}

static void host_finish_named(struct host_steps *steps)
{
	struct evidence_host *host = &steps->evidence->host;
	struct host_named *list = steps->named.items;
	size_t count = steps->named.count;

	if (!count)
		return;
	qsort(list, count, sizeof(*list), host_compare_throttled);
	for (size_t i = 0; i < count && host->throttled_count < EVIDENCE_NAMED; i++)
		if (!list[i].started && host_mean_of(&list[i].share.now) > 0.01)
			host->throttled[host->throttled_count++] =
				(struct evidence_named){ list[i].name,
							 host_figure_of(&list[i].share), false };
	qsort(list, count, sizeof(*list), host_compare_started);
	for (size_t i = 0; i < count && host->started_count < EVIDENCE_NAMED; i++)
		if (list[i].started && host_starts_of(&list[i]) >= 1)
			host->started[host->started_count++] = (struct evidence_named){
				list[i].name, { host_starts_of(&list[i]), NAN }, list[i].container
			};
}

static void host_finish_steal(struct host_steps *steps)
{
	struct evidence_host *host = &steps->evidence->host;
	double sum = 0;
	size_t known = 0;

	for (size_t cpu = 0; cpu < steps->cpus.count; cpu++) {
		double steal = host_mean_of(&steps->cpus.items[cpu].steal.now);

		if (isnan(steal))
			continue;
		known++;
		sum += steal;
		if (!(steal <= host->steal_most)) {
			host->steal_most = steal;
			host->steal_usual = host_mean_of(&steps->cpus.items[cpu].steal.usual);
			host->steal_cpu = cpu;
		}
	}
	host->steal_all = known ? sum / known : NAN;
}

static void host_finish_cores(struct host_steps *steps)
{
	struct evidence *evidence = steps->evidence;

	for (size_t i = 0; i < evidence->core_count; i++) {
		struct evidence_core *core = &evidence->cores[i];
		const struct host_cpu *row =
			core->cpu < steps->cpus.count ? &steps->cpus.items[core->cpu] : NULL;

		core->steal = row ? host_mean_of(&row->steal.now) : NAN;
		core->gauges = row ? MAX(1 - host_mean_of(&row->idle.now), 0.0) : NAN;
		if (row && !evidence->receive.known && row->receive.usual.weight_s > 0 &&
		    row->receive.now.weight_s > 0)
			evidence->receive =
				(struct evidence_receive){ true, core->cpu,
							   host_mean_of(&row->receive.now),
							   host_mean_of(&row->receive.usual) };
	}
}

static int host_compare_victims(const void *a, const void *b)
{
	const struct evidence_victim *left = a, *right = b;

	return left->wait_ns != right->wait_ns ? (left->wait_ns > right->wait_ns ? -1 : 1) : 0;
}

static void host_finish_victims(struct host_steps *steps)
{
	struct evidence *evidence = steps->evidence;

	if (!steps->victims.count)
		return;
	qsort(steps->victims.items, steps->victims.count, sizeof(*steps->victims.items),
	      host_compare_victims);
	for (size_t i = 0; i < steps->victims.count && evidence->victim_count < EVIDENCE_VICTIMS;
	     i++)
		evidence->victims[evidence->victim_count++] = steps->victims.items[i];
}

void host_steps_finish(struct host_steps *steps)
{
	struct evidence_host *host = &steps->evidence->host;
	uint64_t first_ns = MIN(steps->first_ns, steps->evidence->stall_to_ns);

	host->stalls = host_figure_of(&steps->stalls);
	host->cpu_pressure = host_figure_of(&steps->cpu_pressure);
	host->memory_pressure = host_figure_of(&steps->memory_pressure);
	host->io_pressure = host_figure_of(&steps->io_pressure);
	host->forks = host_figure_of(&steps->forks);
	host->grown = host->tracked - steps->first_tracked;
	host_finish_named(steps);
	host_finish_steal(steps);
	host_finish_cores(steps);
	host->gauges_ns = steps->first_ns ? steps->evidence->stall_to_ns - first_ns : 0;
	host_finish_victims(steps);
}
