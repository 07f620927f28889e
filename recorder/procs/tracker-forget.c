// SPDX-License-Identifier: GPL-2.0-only
/* Forgets unused names and modules: those of ended threads and removed mappings. */
#include "base/cleanup.h"
#include "recorder/procs/tracker.h"

/*
 * To forget, the tracker copies the names and modules that stay. So it forgets only when their
 * number, or the size of their text, has doubled and has grown by this amount.
 */
#define FORGET_MIN 1024
#define FORGET_TEXT_MIN (1u << 20)

/* Calls `each` once for each mapping. */
static void tracker_walk_maps(struct tracker *tracker, struct maps *maps, uint32_t *numbers,
			      void (*each)(struct mapping *mapping, uint32_t *numbers))
{
	struct mapping *mapping;
	size_t at = 0;

	if (!maps || maps->visited == tracker->walks)
		return;
	maps->visited = tracker->walks;
	while ((mapping = maps_next(maps, &at)))
		each(mapping, numbers);
}

static void tracker_walk_all_maps(struct tracker *tracker, uint32_t *numbers,
				  void (*each)(struct mapping *mapping, uint32_t *numbers))
{
	tracker->walks++;
	tracker_walk_maps(tracker, tracker->kernel, numbers, each);
	for (size_t i = 0; i < tracker->processes.count; i++) {
		tracker_walk_maps(tracker, tracker->processes.items[i].maps, numbers, each);
		tracker_walk_maps(tracker, tracker->processes.items[i].before, numbers, each);
	}
}

static void tracker_mark_module(struct mapping *mapping, uint32_t *numbers)
{
	numbers[mapping->module] = mapping->module;
}

static void tracker_renumber_module(struct mapping *mapping, uint32_t *numbers)
{
	mapping->module = numbers[mapping->module];
}

static void tracker_forget_modules(struct tracker *tracker)
{
	size_t count = tracker->modules.list.count;
	_cleanup_free_ uint32_t *numbers = NULL;

	if (count < 2 * tracker->kept_modules + FORGET_MIN &&
	    tracker->modules.paths.text.size < 2 * tracker->kept_text + FORGET_TEXT_MIN)
		return;
	numbers = malloc(count * sizeof(*numbers));
	if (!numbers)
		return;
	memset(numbers, 0xff, count * sizeof(*numbers));
	tracker_walk_all_maps(tracker, numbers, tracker_mark_module);
	if (modules_keep(&tracker->modules, numbers) < 0)
		return;
	tracker_walk_all_maps(tracker, numbers, tracker_renumber_module);
	tracker->kept_modules = tracker->modules.list.count;
	tracker->kept_text = tracker->modules.paths.text.size;
}

static void tracker_forget_names(struct tracker *tracker)
{
	struct strings kept = { 0 };
	_cleanup_free_ uint32_t *numbers = NULL;
	int r = 0;

	if (strings_count(&tracker->strings) < 2 * tracker->kept_names + FORGET_MIN)
		return;
	numbers = calloc(tracker->threads.count, sizeof(*numbers));
	for (size_t i = 0; numbers && r == 0 && i < tracker->threads.count; i++) {
		const char *name = strings_at(&tracker->strings, tracker->threads.items[i].comm);

		r = strings_add(&kept, name, strlen(name), &numbers[i]);
	}
	if (!numbers || r < 0) {
		strings_done(&kept);
		return;
	}
	for (size_t i = 0; i < tracker->threads.count; i++)
		tracker->threads.items[i].comm = numbers[i];
	strings_done(&tracker->strings);
	tracker->strings = kept;
	tracker->kept_names = strings_count(&kept);
}

void tracker_forget_unused(struct tracker *tracker)
{
	tracker_forget_modules(tracker);
	tracker_forget_names(tracker);
}
