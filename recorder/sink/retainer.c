// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/sink/retainer.h"

void retainer_note_limits(struct retainer *retainer, const struct store_limits *limits,
			  struct error *warning)
{
	struct error error = { 0 };

	retainer->warned_starved = retainer->warned_space = false;
	if (store_writer_note_limits(retainer->writer, limits, &error) < 0)
		*warning = error;
}

/*
 * Warns once when it removes segments to free disk space, and once when it cannot remove more.
 * Warns again if free space was plenty in between.
 */
static void retainer_warn(struct retainer *retainer, const struct store_limits *limits,
			  const struct store_retained *retained, struct error *warning)
{
	bool *warned = retained->starved ? &retainer->warned_starved : &retainer->warned_space;

	if (retained->free_bytes / 5 > limits->keep_free_bytes / 4)
		retainer->warned_starved = retainer->warned_space = false;
	if (!*warned)
		*warned = store_space_describe(limits, retained, warning);
}

void retainer_check(struct retainer *retainer, const struct store_limits *limits,
		    struct error *warning)
{
	struct store_retained retained;

	if (store_writer_retain(retainer->writer, limits, true, NULL, NULL, &retained, NULL) == 0)
		retainer_warn(retainer, limits, &retained, warning);
}

void retainer_run(struct retainer *retainer, const struct store_limits *limits,
		  struct store_retained *ret_retained, struct error *warning)
{
	struct error error = { 0 };
	int r;

	*ret_retained = (struct store_retained){ 0 };
	r = store_writer_retain(retainer->writer, limits, false, NULL, NULL, ret_retained, &error);
	if (r < 0)
		*warning = error;
	else
		retainer_warn(retainer, limits, ret_retained, warning);
}

void retainer_add(const struct store_retained *retained, struct store_retained *sum)
{
	sum->removed += retained->removed;
	sum->removed_bytes += retained->removed_bytes;
	sum->own += retained->own;
	sum->own_bytes += retained->own_bytes;
	if (retained->from_ns && (!sum->from_ns || retained->from_ns < sum->from_ns))
		sum->from_ns = retained->from_ns;
	sum->to_ns = MAX(sum->to_ns, retained->to_ns);
}
