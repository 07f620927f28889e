// SPDX-License-Identifier: GPL-2.0-only
#include "cli/answer/gauges-rest.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/intern.h"
#include "cli/options/did-you-mean.h"

void gauges_onces_done(struct gauges_onces *onces)
{
	for (size_t i = 0; i < onces->list.count; i++)
		free(onces->list.items[i].name);
	array_done(&onces->list);
}

int gauges_onces_see(struct gauges_onces *onces, const struct series_step *step)
{
	struct gauges_once *once;

	while (onces->list.count <= step->series)
		if (array_push(&onces->list, (struct gauges_once){ .has_row = false }) < 0)
			return -ENOMEM;
	once = &onces->list.items[step->series];
	if (once->has_row)
		return 0;
	once->has_row = step->has_figure;
	if (once->has_row) {
		free(take_ptr(once->name));
		return 0;
	}
	once->value = step->value;
	once->time_ns = step->to_ns;
	if (!once->name)
		once->name = strdup(step->name);
	return once->name ? 0 : -ENOMEM;
}

size_t gauges_onces_count(const struct gauges_onces *onces)
{
	size_t count = 0;

	for (size_t i = 0; i < onces->list.count; i++)
		count += onces->list.items[i].name != NULL;
	return count;
}

void gauges_onces_put(const struct gauges_onces *onces, bool utc, struct buffer *text)
{
	for (size_t i = 0; i < onces->list.count; i++) {
		const struct gauges_once *once = &onces->list.items[i];
		char time[TIME_TEXT_SIZE];

		if (once->name)
			buffer_printf(text, "%s was %lld at %s: a single reading shows no growth\n",
				      once->name, (long long)once->value,
				      time_format(once->time_ns, utc, 0, time));
	}
}

struct unknown {
	const char *glob;
	/* The names without their units, and their groups. */
	struct strings names, groups;
	int failed;
};

/* Groups "cpu39/user_ms" under "cpu". */
static int add_group(struct unknown *unknown, const char *name)
{
	size_t size = strcspn(name, "/");
	uint32_t id;

	while (size && isdigit((unsigned char)name[size - 1]))
		size--;
	return strings_add(&unknown->groups, name, size, &id);
}

/* Collects a name. Returns false, because the search does not need the values. */
static bool gauges_rest_offer(void *context, const char *name)
{
	struct unknown *unknown = context;
	size_t size = strlen(name) - series_suffix(name);
	uint32_t id;

	if (unknown->failed || strings_find(&unknown->names, name, size))
		return false;
	unknown->failed = strings_add(&unknown->names, name, size, &id);
	if (unknown->failed == 0)
		unknown->failed = add_group(unknown, name);
	return false;
}

static int see_none(void *context, const struct series_step *step)
{
	(void)context;
	(void)step;
	return 0;
}

/* Returns the most similar name, or "". */
static const char *find_near(const struct unknown *unknown)
{
	struct did_you_mean did_you_mean;

	did_you_mean_init(&did_you_mean, unknown->glob);
	for (uint32_t id = 1; id < strings_count(&unknown->names); id++)
		did_you_mean_offer(&did_you_mean, strings_at(&unknown->names, id));
	return did_you_mean.best ? did_you_mean.best : "";
}

/* Returns whether some name contains the pattern. */
static bool gauges_rest_is_part(const struct unknown *unknown)
{
	for (uint32_t id = 1; id < strings_count(&unknown->names); id++)
		if (strstr(strings_at(&unknown->names, id), unknown->glob))
			return true;
	return false;
}

static void gauges_rest_describe(const struct unknown *unknown, struct buffer *text)
{
	const char *near = find_near(unknown), *before = "; there are ";

	buffer_printf(text, "no figure of that window matches '%s'", unknown->glob);
	if (gauges_rest_is_part(unknown))
		buffer_printf(text, ", but some contain it: --name '*%s*'", unknown->glob);
	else if (*near)
		buffer_printf(text, "; the nearest is '%s'", near);
	for (uint32_t id = 1; id < strings_count(&unknown->groups); id++) {
		buffer_printf(text, "%s'%s*'", before, strings_at(&unknown->groups, id));
		before = ", ";
	}
	buffer_u8(text, 0);
}

static void unknown_done(struct unknown *unknown)
{
	strings_done(&unknown->names);
	strings_done(&unknown->groups);
}

int gauges_put_unknown(struct store_reader *reader, const struct question *question,
		       const char *glob, struct buffer *text, struct error *error)
{
	_cleanup_(unknown_done) struct unknown unknown = { .glob = glob };
	const struct series_options options = {
		.question = *question,
		.wants = gauges_rest_offer,
		.see = see_none,
		.context = &unknown,
	};
	_cleanup_(coverage_done) struct coverage coverage = { 0 };
	int r = series_run(reader, &options, &coverage, error);

	if (r < 0)
		return r;
	r = unknown.failed;
	if (r < 0)
		return r;
	gauges_rest_describe(&unknown, text);
	return buffer_failed(text) ? -ENOMEM : 0;
}
