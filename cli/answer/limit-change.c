// SPDX-License-Identifier: GPL-2.0-only
#include "cli/answer/limit-change.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include "base/size.h"
#include "cli/options/limit-options.h"

static bool limits_differ(const struct store_limits *one, const struct store_limits *other)
{
	return one->max_age_ns != other->max_age_ns || one->max_bytes != other->max_bytes ||
	       one->keep_free_bytes != other->keep_free_bytes || one->pin_ns != other->pin_ns;
}

static bool change_is_drastic(const struct store_limits_change *change)
{
	return change->pinned || change->removed_bytes > change->segment_bytes / 2;
}

static void describe_change(const struct invocation *invocation, const struct store_limits *limits,
			    const struct store_limits_change *change, struct error *ret_text)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	bool utc = option_given(invocation, "utc");
	char removed[32], all[32], from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE];

	limits_describe(limits, &text);
	buffer_printf(
		&text, ": that would at once remove %llu of %llu segment%s, %s of %s, %s to %s",
		(unsigned long long)change->removed, (unsigned long long)change->segments,
		plural(change->segments),
		size_format(change->removed_bytes, removed, sizeof(removed)),
		size_format(change->segment_bytes, all, sizeof(all)),
		time_format(change->from_ns, utc, 0, from), time_format(change->to_ns, utc, 0, to));
	if (change->pinned)
		buffer_printf(&text, ", %llu of them pinned by an incident or a mark",
			      (unsigned long long)change->pinned);
	buffer_u8(&text, 0);
	error_set(ret_text, 0, "%s",
		  buffer_failed(&text) ? "out of memory" : (const char *)text.data);
}

int limit_change_is_drastic(const struct invocation *invocation, struct store_writer *writer,
			    const struct store_limits *limits, struct store_limits *ret_noted,
			    struct error *ret_text)
{
	const char *path = store_path(invocation);
	struct store_limits_change change;
	struct store_limits noted;
	int r;

	store_limits_default(path, &noted);
	r = store_limits_read(path, &noted, ret_text);
	if (r < 0)
		return r;
	/* compare only the limits themselves, not how they are applied */
	noted.age_by_clock = limits->age_by_clock;
	noted.space_at_once = limits->space_at_once;
	*ret_noted = noted;
	if (!limits_differ(limits, &noted))
		return 0;
	r = store_writer_compare_limits(writer, &noted, limits, &change, ret_text);
	if (r < 0 || !change_is_drastic(&change))
		return r;
	describe_change(invocation, limits, &change, ret_text);
	return 1;
}

bool limit_change_is_typed(const struct invocation *invocation)
{
	static const struct option limits[] = { LIMIT_OPTIONS };

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		if (option_typed(invocation, limits[i].name))
			return true;
	return false;
}
