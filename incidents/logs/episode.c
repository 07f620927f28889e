// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/logs/episode.h"

#include <string.h>

#include "incidents/patterns/queue-cpu.h"

/*
 * Compares an incident with at most this number of episodes; if none of them fits, the incident
 * starts a new one.
 */
#define LOOK_BACK 64
/*
 * Without times, at most this number of incidents lies between two incidents of an episode. A dump
 * of counters has fewer.
 */
#define ORDER_GAP 2000

void episodes_done(struct episodes *episodes)
{
	array_done(&episodes->list);
}

/* Returns the size of "ena" in "ena.tx_stall". */
static size_t family_size(const char *kind)
{
	return strcspn(kind, ".");
}

/* The kernel's network watchdog reports the same faults as the device's driver. */
static bool is_network(const char *kind)
{
	return !strncmp(kind, "ena.", 4) || !strncmp(kind, "net.", 4);
}

static bool same_family(const char *a, const char *b)
{
	size_t size = family_size(a);

	if (is_network(a) && is_network(b))
		return true;
	return size == family_size(b) && !memcmp(a, b, size);
}

/* Sets an empty text from a field. Ignores "(unnamed net_device)", because it is not a name. */
static void episode_set_text(char *text, size_t room, const struct field *field)
{
	if (!field || *text || field->size >= room || (field->size && *field->value == '('))
		return;
	memcpy(text, field->value, field->size);
	text[field->size] = 0;
}

static bool set_number(const struct fields *fields, const char *name, uint64_t *ret_number)
{
	const struct field *field = fields_find(fields, name);
	struct text_cursor cursor = { field ? field->value : NULL,
				      field ? field->value + field->size : NULL };

	return field && take_number(&cursor, 1, 9, ret_number);
}

/*
 * A line that names only an interface belongs to the device of that interface. A line without a
 * device belongs to any.
 */
static bool same_device(const struct episode *episode, const struct incident *incident)
{
	const struct field *ifname = fields_find(&incident->fields, "ifname");

	if (!*incident->device || !*episode->device || !strcmp(incident->device, episode->device))
		return true;
	return ifname && strlen(episode->ifname) == ifname->size &&
	       !memcmp(episode->ifname, ifname->value, ifname->size) &&
	       (!fields_find(&incident->fields, "bdf") || !strchr(episode->device, ':'));
}

static uint64_t episode_distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static bool episode_is_near(const struct episode *episode, const struct incident *incident,
			    uint64_t order)
{
	const struct moment *last = &episode->last, *moment = &incident->moment;

	if (episode->boot != incident->boot)
		return false;
	if (last->has_uptime && moment->has_uptime)
		return episode_distance(last->uptime_ns, moment->uptime_ns) <= EPISODE_GAP_NS;
	if (last->has_time && moment->has_time)
		return episode_distance(last->realtime_ns, moment->realtime_ns) <= EPISODE_GAP_NS;
	return order - episode->order <= ORDER_GAP;
}

static void reach_back(struct episode *episode, const struct incident *incident)
{
	const struct moment *moment = &incident->moment;
	uint64_t stall_ns = incident->has_stall ? incident->stall_ns : 0;

	if (incident->fields.has_age && stall_ns > episode->stall_ns)
		episode->stall_ns = stall_ns;
	if (moment->has_time && moment->realtime_ns >= stall_ns) {
		uint64_t start_ns = moment->realtime_ns - stall_ns;

		if (!episode->has_start || start_ns < episode->start_ns)
			episode->start_ns = start_ns;
		episode->has_start = true;
	}
	if (moment->has_uptime && moment->uptime_ns >= stall_ns) {
		uint64_t start_ns = moment->uptime_ns - stall_ns;

		if (!episode->has_start_uptime || start_ns < episode->start_uptime_ns)
			episode->start_uptime_ns = start_ns;
		episode->has_start_uptime = true;
	}
}

/* the killed task says more than the task that requested memory */
static bool is_first_kill(const struct episode *episode, const struct incident *incident)
{
	return episode->kind && !strcmp(episode->kind->name, "oom.invoked") &&
	       !strcmp(incident->kind->name, "oom.kill");
}

/*
 * With a queue, `cpu` is the CPU that served the queue, not the one where the network watchdog
 * noticed the stall.
 */
static void episode_take_cpu(struct episode *episode, const struct incident *incident)
{
	const struct fields *fields = &incident->fields;
	uint64_t queue;
	bool of_queue = set_number(fields, "qid", &queue);

	if (of_queue && !episode->has_queue) {
		episode->has_queue = true;
		episode->queue = queue;
		episode->has_cpu = false;
	}
	if (episode->has_cpu || of_queue != episode->has_queue ||
	    (of_queue && queue != episode->queue))
		return;
	if (strcmp(incident->kind->name, "net.tx_watchdog") != 0)
		episode->has_cpu = set_number(fields, "cpu", &episode->cpu);
	if (!episode->has_cpu)
		episode->has_cpu = set_number(fields, QUEUE_CPU, &episode->cpu);
}

static void episode_join(struct episode *episode, const struct incident *incident, uint64_t order)
{
	bool is_kill = is_first_kill(episode, incident);

	if (!episode->kind || is_kill || incident->kind->severity > episode->kind->severity)
		episode->kind = incident->kind;
	if (is_kill && fields_find(&incident->fields, "comm"))
		*episode->comm = 0;
	if (!*episode->device)
		strncpy(episode->device, incident->device, sizeof(episode->device) - 1);
	episode_set_text(episode->ifname, sizeof(episode->ifname),
			 fields_find(&incident->fields, "ifname"));
	episode_set_text(episode->comm, sizeof(episode->comm),
			 fields_find(&incident->fields, "comm"));
	episode_set_text(episode->comm, sizeof(episode->comm),
			 fields_find(&incident->fields, "mark"));
	episode_take_cpu(episode, incident);
	reach_back(episode, incident);
	episode->last = incident->moment;
	episode->incidents++;
	episode->resets += !strcmp(incident->kind->name, "ena.reset_begin");
	episode->order = order;
}

/*
 * Old kernels print a warning with a dump of registers just before the message of the network
 * watchdog. The warning belongs to the same episode.
 */
static bool is_prelude(const struct episode *episode, const struct incident *incident)
{
	return !strcmp(episode->kind->name, "kern.warning") && episode->incidents == 1 &&
	       !strcmp(incident->kind->name, "net.tx_watchdog");
}

int episodes_add(struct episodes *episodes, const struct incident *incident, size_t *ret_episode)
{
	uint64_t order = ++episodes->count;
	size_t least = episodes->list.count > LOOK_BACK ? episodes->list.count - LOOK_BACK : 0;
	struct episode episode = { .id = incident->id,
				   .first = incident->moment,
				   .boot = incident->boot,
				   .quoted = incident->fields.quoted,
				   .doubtful = incident->doubtful,
				   .line_number = incident->line_number };

	/* a mark is for exactly this moment, so it does not join an episode */
	if (!strcmp(incident->kind->name, "mark"))
		least = episodes->list.count;
	for (size_t i = episodes->list.count; i-- > least;) {
		struct episode *open = &episodes->list.items[i];

		if (open->quoted != incident->fields.quoted ||
		    open->doubtful != incident->doubtful || !episode_is_near(open, incident, order))
			continue;
		if (is_prelude(open, incident) ||
		    (same_family(open->kind->name, incident->kind->name) &&
		     same_device(open, incident))) {
			episode_join(open, incident, order);
			if (ret_episode)
				*ret_episode = i;
			return 0;
		}
	}
	episode_join(&episode, incident, order);
	if (ret_episode)
		*ret_episode = episodes->list.count;
	return array_push(&episodes->list, episode);
}
