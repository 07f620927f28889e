// SPDX-License-Identifier: GPL-2.0-only
#include "cli/options/limit-options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/size.h"

static int limit_options_parse_length(const struct invocation *invocation, const char *name,
				      uint64_t *limit_ns)
{
	const char *text = option_value(invocation, name);
	int r = 0;

	if (!text)
		return EXIT_DONE;
	if (strcmp(text, "none") == 0)
		*limit_ns = UINT64_MAX;
	else
		r = duration_parse(text, limit_ns);
	if (r == -EDOM)
		return option_error(invocation, name, "'%s': length needs a unit, as %sd", text,
				    text);
	if (r < 0)
		return option_error(invocation, name,
				    "'%s' is not a length of time; write 12h, 14d or none", text);
	return EXIT_DONE;
}

static int parse_size(const struct invocation *invocation, const char *name, uint64_t none,
		      uint64_t *limit_bytes)
{
	const char *text = option_value(invocation, name);
	int r = 0;

	if (!text)
		return EXIT_DONE;
	if (strcmp(text, "none") == 0)
		*limit_bytes = none;
	else
		r = size_parse(text, limit_bytes);
	if (r == -EDOM)
		return option_error(invocation, name, "'%s': size needs a unit, as %sG", text,
				    text);
	if (r < 0)
		return option_error(invocation, name, "'%s' is not a size; write 500M, 20G or none",
				    text);
	return EXIT_DONE;
}

/* Parses a size. "5%" means a part of the store's file system. */
static int parse_free(const struct invocation *invocation, uint64_t *limit_bytes)
{
	const char *text = option_value(invocation, "keep-free");
	struct error error = { 0 };
	uint64_t disk_bytes;
	double percent;
	char *end;
	int r;

	if (!text || !strchr(text, '%'))
		return parse_size(invocation, "keep-free", 0, limit_bytes);
	percent = strtod(text, &end);
	if (strcmp(end, "%") != 0 || text[0] < '0' || text[0] > '9' || percent >= 100)
		return option_error(invocation, "keep-free",
				    "'%s' is not a part of a disk; write 5%%", text);
	r = store_disk_bytes(store_path(invocation), &disk_bytes, &error);
	if (r < 0)
		return fail(r, &error);
	*limit_bytes = disk_bytes * (percent / 100);
	return EXIT_DONE;
}

/* Refuses 0, because a user may mean "no limit" by 0, although 0 would remove everything. */
static int check_zero(const struct invocation *invocation, const char *name, uint64_t limit)
{
	if (!option_given(invocation, name) || limit)
		return EXIT_DONE;
	return option_error(invocation, name, "0 keeps nothing; write none for no limit");
}

bool limit_options_has(const char *name)
{
	static const struct option limits[] = { LIMIT_OPTIONS };

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		if (strcmp(limits[i].name, name) == 0)
			return true;
	return false;
}

int limit_options_parse(const struct invocation *invocation, struct store_limits *limits)
{
	int r = limit_options_parse_length(invocation, "max-age", &limits->max_age_ns);

	if (r == EXIT_DONE)
		r = parse_size(invocation, "max-size", UINT64_MAX, &limits->max_bytes);
	if (r == EXIT_DONE)
		r = parse_free(invocation, &limits->keep_free_bytes);
	if (r == EXIT_DONE)
		r = limit_options_parse_length(invocation, "pin", &limits->pin_ns);
	if (r == EXIT_DONE)
		r = check_zero(invocation, "max-age", limits->max_age_ns);
	if (r == EXIT_DONE)
		r = check_zero(invocation, "max-size", limits->max_bytes);
	return r;
}

void limits_describe(const struct store_limits *limits, struct buffer *text)
{
	char shown[64];

	if (limits->max_bytes == UINT64_MAX)
		buffer_text(text, "any size");
	else
		buffer_printf(text, "at most %s",
			      size_format(limits->max_bytes, shown, sizeof(shown)));
	if (limits->keep_free_bytes)
		buffer_printf(text, ", %s of the disk stay free",
			      size_format(limits->keep_free_bytes, shown, sizeof(shown)));
	if (limits->max_age_ns == UINT64_MAX) {
		buffer_text(text, ", any age");
		return;
	}
	buffer_printf(text, ", at most %s old",
		      duration_format(limits->max_age_ns, shown, sizeof(shown)));
	if (limits->pin_ns == UINT64_MAX)
		buffer_text(text, " (any age around incidents)");
	else if (limits->pin_ns > limits->max_age_ns)
		buffer_printf(text, " (%s around incidents)",
			      duration_format(limits->pin_ns, shown, sizeof(shown)));
}
