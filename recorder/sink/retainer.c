// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/sink/retainer.h"

void retainer_note(struct retainer *retainer, const struct store_limits *limits,
		   struct error *warning)
{
	struct error error = { 0 };

	retainer->told_starved = retainer->told_space = false;
	if (store_writer_note_limits(retainer->writer, limits, &error) < 0)
		*warning = error;
}

/* Once that something goes for want of space, and once that nothing more does; again when there was
 * plenty between. */
static void retainer_tell(struct retainer *retainer, const struct store_limits *limits,
			  const struct store_retained *retained, struct error *warning)
{
	bool *told = retained->starved ? &retainer->told_starved : &retainer->told_space;

	if (retained->free_bytes / 5 > limits->keep_free_bytes / 4)
		retainer->told_starved = retainer->told_space = false;
	if (!*told)
		*told = store_space_describe(limits, retained, warning);
}

void retainer_look(struct retainer *retainer, const struct store_limits *limits,
		   struct error *warning)
{
	struct store_retained retained;

	if (store_writer_retain(retainer->writer, limits, true, NULL, NULL, &retained, NULL) == 0)
		retainer_tell(retainer, limits, &retained, warning);
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
		retainer_tell(retainer, limits, ret_retained, warning);
}
