// SPDX-License-Identifier: GPL-2.0-only
/*
 * Puts the CPU that serves each transmit queue, under the names of the interface and of the PCI
 * address, because messages use either. The CPU is a gauge, so that a reader can find it for each
 * moment.
 */
#include <stdio.h>
#include <string.h>

#include "base/intern.h"
#include "gauges/interrupts.h"
#include "gauges/source.h"

/*
 * Beyond this number, forgets all names, because the names of devices that come and go would
 * accumulate.
 */
#define NAMES_MAX 8192

struct queues {
	const char *root;
	struct strings names;
	/* Indexed by the number of the name. */
	struct source_ids ids;
};

static void *queues_make(const char *root)
{
	struct queues *queues = calloc(1, sizeof(*queues));

	if (queues)
		queues->root = root;
	return queues;
}

static void queues_forget(struct queues *queues)
{
	strings_done(&queues->names);
	source_ids_done(&queues->ids);
}

static void queues_done(void *state)
{
	queues_forget(state);
	free(state);
}

static int queues_put(struct queues *queues, const struct gauges_sink *sink, const char *kind,
		      const char *device, const struct interrupt *interrupt)
{
	char name[128];
	uint32_t slot;
	int r;

	snprintf(name, sizeof(name), "%s/%s/tx%u_cpu", kind, device, interrupt->queue);
	r = strings_add(&queues->names, name, strlen(name), &slot);
	return r < 0 ? r : source_put(&queues->ids, slot, sink, interrupt->cpu, "%s", name);
}

static int put_interrupt(struct queues *queues, const struct gauges_sink *sink,
			 const struct interrupt *interrupt)
{
	int r = 0;

	if (*interrupt->ifname)
		r = queues_put(queues, sink, "net", interrupt->ifname, interrupt);
	if (r < 0)
		return r;
	if (strchr(interrupt->address, ':'))
		return queues_put(queues, sink, "pci", interrupt->address, interrupt);
	return 0;
}

static int queues_read(void *state, const struct gauges_sink *sink)
{
	_cleanup_(interrupts_done) struct interrupts interrupts = { 0 };
	struct queues *queues = state;
	int r = interrupts_read(queues->root, &interrupts);

	if (r < 0)
		return r;
	if (strings_count(&queues->names) > NAMES_MAX)
		queues_forget(queues);
	for (size_t i = 0; r == 0 && i < interrupts.list.count; i++)
		if (interrupts.list.items[i].sends)
			r = put_interrupt(queues, sink, &interrupts.list.items[i]);
	return r;
}

const struct source_kind source_queues = {
	"queues", 60, queues_make, queues_read, queues_done, NULL
};
