// SPDX-License-Identifier: GPL-2.0-only
#include "flamescope-export/disguise.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "flamescope-export/sanitise.h"

/*
 * Everything that libmagic knows contains a blank or a sign. So a name with a sign that is not
 * listed here may be known to some version of it.
 */
static bool is_harmless(const char *name, const char *signs)
{
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr(signs, *name))
			return false;
	return true;
}

/* A comm begins its line, as a word of troff does. */
static bool comm_is_harmless(const char *comm)
{
	return *comm != '.' && is_harmless(comm, "_.:/@+-[]");
}

static bool frame_is_harmless(const struct tape *tape, uint32_t id)
{
	const struct tape_frame *frame = &tape->frames.items[id];

	return is_harmless(tape_string(tape, frame->symbol), "_.:/@+-[]()*") &&
	       is_harmless(tape_string(tape, tape->modules.items[frame->module].path), "_.:/@+-[]");
}

bool disguise_is_needed(const struct tape_text *text, const struct tape_sample *sample)
{
	const struct tape *tape = text->tape;
	const struct tape_thread *thread = &tape->threads.items[sample->thread];
	uint32_t id = sample->stack;
	bool harmless = comm_is_harmless(tape_string(tape, thread->comm)) &&
			frame_is_harmless(tape, sample->frame);

	for (; harmless && id; id = tape->stacks.items[id].parent)
		harmless = frame_is_harmless(tape, tape->stacks.items[id].frame);
	return !harmless;
}

void disguise_put_value(struct buffer *text, const char *value)
{
	size_t start = text->size;

	sanitise_put_value(text, value);
	for (size_t i = start; i < text->size; i++)
		if (text->data[i] < 0x80 && !isalnum(text->data[i]) &&
		    !strchr(" _.:/@+-[]*?!,", text->data[i]))
			text->data[i] = '_';
}
