// SPDX-License-Identifier: GPL-2.0-only
#include "naming/unnamed.h"

#include <errno.h>
#include <inttypes.h>

#define FACT "unnamed"

/* Each text follows a number of frames. */
static const char *const texts[UNNAMED_REASONS] = {
	[UNNAMED_NO_SYMBOLS] = "without symbols",
	[UNNAMED_GONE] = "gone before they were opened",
	[UNNAMED_CHANGED] = "of files that changed",
	[UNNAMED_NO_RIGHT] = "that we may not read",
	[UNNAMED_DAMAGED] = "of damaged files",
	[UNNAMED_REMOTE] = "on network or FUSE file systems",
	[UNNAMED_TIMED_OUT] = "of files that did not answer",
	[UNNAMED_GENERATED] = "made at run time",
	[UNNAMED_UNMAPPED] = "in no known mapping",
};

enum unnamed_reason unnamed_by_error(int r)
{
	switch (r) {
	case -ESTALE:
		return UNNAMED_CHANGED;
	case -EACCES:
	case -EPERM:
		return UNNAMED_NO_RIGHT;
	case -EBADMSG:
		return UNNAMED_DAMAGED;
	case -EREMOTE:
		return UNNAMED_REMOTE;
	case -ETIMEDOUT:
		return UNNAMED_TIMED_OUT;
	default:
		return UNNAMED_GONE;
	}
}

/* Counts how often each frame is in the samples' stacks. */
static int count_frames(const struct tape *tape, uint64_t *frames)
{
	_cleanup_free_ uint64_t *stacks = calloc(tape->stacks.count, sizeof(*stacks));

	if (!stacks)
		return -ENOMEM;
	for (size_t i = 0; i < tape->samples.count; i++) {
		stacks[tape->samples.items[i].stack]++;
		frames[tape->samples.items[i].frame]++;
	}
	/* a parent precedes its children */
	for (size_t i = tape->stacks.count; i-- > 1;) {
		stacks[tape->stacks.items[i].parent] += stacks[i];
		frames[tape->stacks.items[i].frame] += stacks[i];
	}
	return 0;
}

static int set_fact(struct tape *tape, const char *key, const char *value)
{
	for (size_t i = 0; i < tape->facts.count; i++)
		if (strcmp(tape_string(tape, tape->facts.items[i].key), key) == 0)
			return strings_add(&tape->strings, value, strlen(value),
					   &tape->facts.items[i].value);
	return *value ? tape_add_fact(tape, key, value) : 0;
}

int unnamed_note(struct tape *tape, const uint8_t *reasons)
{
	_cleanup_free_ uint64_t *frames = calloc(tape->frames.count, sizeof(*frames));
	_cleanup_(buffer_done) struct buffer text = { 0 };
	uint64_t counts[UNNAMED_REASONS] = { 0 };
	int r = frames ? count_frames(tape, frames) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < tape->frames.count; i++)
		if (!tape->frames.items[i].symbol && !tape_is_no_stack(tape, i))
			counts[reasons[tape->frames.items[i].module]] += frames[i];
	for (size_t i = 0; i < UNNAMED_REASONS; i++)
		if (counts[i])
			buffer_printf(&text, "%s%" PRIu64 " %s", text.size ? ", " : "", counts[i],
				      texts[i]);
	buffer_u8(&text, 0);
	if (r < 0 || buffer_failed(&text))
		return -ENOMEM;
	return set_fact(tape, FACT, (const char *)text.data);
}
