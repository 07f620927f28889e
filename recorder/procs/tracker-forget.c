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
/*
 * If the tracker refused a module for lack of room, it forgets at each FORGET_CALLS-th call. The
 * doubled number may be beyond the bound, and then the tracker would refuse for ever.
 */
#define FORGET_CALLS 4

/* Calls `each` once for each object. */
static void tracker_walk_maps(struct tracker *tracker, uint32_t *numbers,
			      void (*each)(const struct modules *modules, struct maps *maps,
					   uint32_t *numbers))
{
	struct maps *all[2];

	tracker->walks++;
	each(&tracker->modules, tracker->kernel, numbers);
	for (size_t i = 0; i < tracker->processes.count; i++) {
		all[0] = tracker->processes.items[i].maps;
		all[1] = tracker->processes.items[i].before;
		for (size_t j = 0; j < ARRAY_SIZE(all); j++) {
			if (!all[j] || all[j]->visited == tracker->walks)
				continue;
			all[j]->visited = tracker->walks;
			each(&tracker->modules, all[j], numbers);
		}
	}
}

/*
 * The first maps with a module pay for it, because nobody knows any more which process added the
 * module.
 */
static void tracker_mark_modules(const struct modules *modules, struct maps *maps,
				 uint32_t *numbers)
{
	struct mapping *mapping;
	size_t at = 0;

	maps->own_bytes = 0;
	while ((mapping = maps_next(maps, &at))) {
		if (numbers[mapping->module] == MODULES_FORGOTTEN)
			maps->own_bytes += modules_row_bytes(modules, mapping->module);
		numbers[mapping->module] = mapping->module;
	}
}

static void tracker_renumber_modules(const struct modules *modules, struct maps *maps,
				     uint32_t *numbers)
{
	struct mapping *mapping;
	size_t at = 0;

	(void)modules;
	while ((mapping = maps_next(maps, &at)))
		mapping->module = numbers[mapping->module];
}

static bool tracker_should_forget_modules(struct tracker *tracker)
{
	const struct modules *modules = &tracker->modules;

	if (modules->list.count >= 2 * tracker->kept_modules + FORGET_MIN ||
	    modules->paths.text.size >= 2 * tracker->kept_text + FORGET_TEXT_MIN)
		return true;
	return modules->refused && ++tracker->forget_calls % FORGET_CALLS == 0;
}

static void tracker_forget_modules(struct tracker *tracker)
{
	size_t count = tracker->modules.list.count;
	_cleanup_free_ uint32_t *numbers = NULL;

	if (!tracker_should_forget_modules(tracker))
		return;
	numbers = malloc(count * sizeof(*numbers));
	if (!numbers)
		return;
	memset(numbers, 0xff, count * sizeof(*numbers));
	tracker_walk_maps(tracker, numbers, tracker_mark_modules);
	if (modules_keep(&tracker->modules, numbers) < 0)
		return;
	tracker_walk_maps(tracker, numbers, tracker_renumber_modules);
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
