// SPDX-License-Identifier: GPL-2.0-only
#include "naming/unnamed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/*
 * In the name of a fact, this text precedes a reason; the value of the fact is the path of a
 * module.
 */
#define OF_MODULE TAPE_UNNAMED " "

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
	[UNNAMED_TOO_SLOW] = "of files that take too long to read",
	[UNNAMED_TOO_LARGE] = "of files that take too much memory to read",
	[UNNAMED_CRASHED] = "of files that crash the naming helper",
	[UNNAMED_NO_HELPER] = "without a naming helper",
	[UNNAMED_LATE] = "for which no time was left",
	[UNNAMED_FEARED] = "not tried again after the recorder died",
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
	case -ETIME:
	case -EDQUOT:
		return UNNAMED_TOO_SLOW;
	case -EFBIG:
	case -E2BIG:
		return UNNAMED_TOO_LARGE;
	case -EPROTO:
		return UNNAMED_CRASHED;
	case -ECHILD:
		return UNNAMED_NO_HELPER;
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

static void drop_modules(struct tape *tape)
{
	size_t kept = 0;

	for (size_t i = 0; i < tape->facts.count; i++) {
		const char *key = tape_string(tape, tape->facts.items[i].key);

		if (strncmp(key, OF_MODULE, strlen(OF_MODULE)) != 0)
			tape->facts.items[kept++] = tape->facts.items[i];
	}
	tape->facts.count = kept;
}

static int note_module(struct tape *tape, uint32_t module, enum unnamed_reason reason)
{
	struct tape_fact fact = { .value = tape->modules.items[module].path };
	char key[64];
	int size = snprintf(key, sizeof(key), OF_MODULE "%s", texts[reason]);

	if (strings_add(&tape->strings, key, size, &fact.key) < 0)
		return -ENOMEM;
	return array_push(&tape->facts, fact);
}

static int note_modules(struct tape *tape, const uint8_t *reasons, const uint64_t *unnamed)
{
	int r = 0;

	drop_modules(tape);
	for (size_t i = 1; r == 0 && i < tape->modules.count; i++)
		if (unnamed[i])
			r = note_module(tape, i, reasons[i]);
	return r;
}

static int note_totals(struct tape *tape, const uint64_t counts[UNNAMED_REASONS])
{
	_cleanup_(buffer_done) struct buffer text = { 0 };

	for (size_t i = 0; i < UNNAMED_REASONS; i++)
		if (counts[i])
			buffer_printf(&text, "%s%" PRIu64 " %s", text.size ? ", " : "", counts[i],
				      texts[i]);
	buffer_u8(&text, 0);
	return buffer_failed(&text) ? -ENOMEM
				    : tape_set_fact(tape, TAPE_UNNAMED, (const char *)text.data);
}

int unnamed_note(struct tape *tape, const uint8_t *reasons)
{
	_cleanup_free_ uint64_t *frames = calloc(tape->frames.count, sizeof(*frames));
	_cleanup_free_ uint64_t *unnamed = calloc(tape->modules.count, sizeof(*unnamed));
	uint64_t counts[UNNAMED_REASONS] = { 0 };
	int r = frames && unnamed ? count_frames(tape, frames) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < tape->frames.count; i++)
		if (!tape->frames.items[i].symbol && !tape_is_no_stack(tape, i) &&
		    !tape_is_mark(tape, i))
			unnamed[tape->frames.items[i].module] += frames[i];
	for (size_t i = 0; r == 0 && i < tape->modules.count; i++)
		counts[reasons[i]] += unnamed[i];
	if (r < 0)
		return r;
	r = note_totals(tape, counts);
	return r < 0 ? r : note_modules(tape, reasons, unnamed);
}
