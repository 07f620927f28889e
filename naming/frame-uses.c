// SPDX-License-Identifier: GPL-2.0-only
#include "naming/frame-uses.h"

#include <stdbool.h>

#include "base/cleanup.h"
#include "symbolizer/trampolines.h"

enum verdict { NOT_ASKED, NO_TRAMPOLINE, TRAMPOLINE };

/* The search for the uses of frames. A stack is the frame of a caller together with its callers. */
struct finding {
	struct tape *tape;
	/* Indexed by stack: enum frame_use. */
	uint8_t *stacks;
	/* Indexed by string: enum verdict, whether the string is the name of a trampoline. */
	uint8_t *verdicts;
};

static void finding_done(struct finding *finding)
{
	free(finding->stacks);
	free(finding->verdicts);
}

static int finding_start(struct finding *finding, struct tape *tape)
{
	*finding = (struct finding){ .tape = tape };
	finding->stacks = calloc(tape->stacks.count, 1);
	finding->verdicts = calloc(strings_count(&tape->strings), 1);
	return finding->stacks && finding->verdicts ? 0 : -ENOMEM;
}

static bool finding_is_trampoline(const struct finding *finding, uint32_t frame)
{
	uint32_t symbol = finding->tape->frames.items[frame].symbol;
	uint8_t *verdict = &finding->verdicts[symbol];

	if (*verdict == NOT_ASKED) {
		const char *name = tape_string(finding->tape, symbol);

		*verdict = trampoline_is_signal(name) || trampoline_is_interrupt(name)
				   ? TRAMPOLINE
				   : NO_TRAMPOLINE;
	}
	return *verdict == TRAMPOLINE;
}

static bool finding_is_kernel(const struct tape *tape, uint32_t frame)
{
	return tape->modules.items[tape->frames.items[frame].module].kind == TAPE_MODULE_KERNEL;
}

/* Returns how the calling frame is used, given the frame that it called. */
static uint8_t finding_use_above(const struct finding *finding, uint32_t frame, uint32_t stack)
{
	const struct tape *tape = finding->tape;
	uint32_t above = tape->stacks.items[stack].frame;
	bool is_entry = finding_is_kernel(tape, frame) && !finding_is_kernel(tape, above);

	return is_entry || finding_is_trampoline(finding, frame) ? FRAME_EXACT : FRAME_CALLER;
}

/*
 * Notes the use of a stack's frame. The frame may be a caller in one sample, and interrupted
 * exactly at the return address in another. Such a frame counts as a caller: its own callers are
 * the same in both samples, so both samples are in the same function.
 */
static void finding_note(struct finding *finding, uint32_t frame, uint32_t stack)
{
	if (stack && finding->stacks[stack] != FRAME_CALLER)
		finding->stacks[stack] = finding_use_above(finding, frame, stack);
}

static void finding_walk(struct finding *finding, struct frame_uses *uses)
{
	const struct tape *tape = finding->tape;

	for (size_t i = 0; i < tape->samples.count; i++) {
		finding_note(finding, tape->samples.items[i].frame, tape->samples.items[i].stack);
		uses->of.items[tape->samples.items[i].frame] |= FRAME_EXACT;
	}
	/*
	 * a parent has a smaller number than its children, so this loop knows all uses of a stack
	 * before it reaches the stack
	 */
	for (size_t i = tape->stacks.count; i-- > 1;) {
		uint8_t use = finding->stacks[i];

		if (!use)
			continue;
		uses->of.items[tape->stacks.items[i].frame] |= use;
		finding_note(finding, tape->stacks.items[i].frame, tape->stacks.items[i].parent);
	}
}

/*
 * Adds a second frame for a frame that is used both ways. The second frame takes over the use
 * FRAME_EXACT. Returns 0 or -ENOMEM.
 */
static int finding_add_half(struct frame_uses *uses, struct tape *tape, uint32_t frame,
			    uint32_t *ret_half)
{
	struct tape_frame half = tape->frames.items[frame];

	half.symbol = half.offset = 0;
	*ret_half = tape->frames.count;
	if (array_push(&tape->frames, half) < 0 || array_push(&uses->of, FRAME_EXACT) < 0)
		return -ENOMEM;
	uses->of.items[frame] &= ~FRAME_EXACT;
	return 0;
}

static void finding_use_halves(const struct finding *finding, const uint32_t *halves, size_t count)
{
	struct tape *tape = finding->tape;

	for (size_t i = 0; i < tape->samples.count; i++) {
		uint32_t *frame = &tape->samples.items[i].frame;

		if (*frame < count && halves[*frame])
			*frame = halves[*frame];
	}
	for (size_t i = 1; i < tape->stacks.count; i++) {
		uint32_t *frame = &tape->stacks.items[i].frame;

		if (*frame < count && halves[*frame] && finding->stacks[i] == FRAME_EXACT)
			*frame = halves[*frame];
	}
}

/* Splits the frames that are used both ways and still lack a name. */
static int finding_split(const struct finding *finding, struct frame_uses *uses)
{
	struct tape *tape = finding->tape;
	size_t count = tape->frames.count;
	_cleanup_free_ uint32_t *halves = calloc(count, sizeof(*halves));
	int r = halves ? 0 : -ENOMEM;

	for (uint32_t i = 1; r == 0 && i < count; i++)
		if (tape->frames.items[i].module && uses->of.items[i] == FRAME_BOTH)
			r = finding_add_half(uses, tape, i, &halves[i]);
	if (r < 0)
		return r;
	finding_use_halves(finding, halves, count);
	return 0;
}

static int finding_run(struct frame_uses *uses, struct tape *tape)
{
	_cleanup_(finding_done) struct finding finding = { 0 };
	int r = finding_start(&finding, tape);

	if (r < 0)
		return r;
	finding_walk(&finding, uses);
	return finding_split(&finding, uses);
}

int frame_uses_find(struct frame_uses *uses, struct tape *tape)
{
	if (array_reserve(&uses->of, tape->frames.count) < 0)
		return -ENOMEM;
	uses->of.count = tape->frames.count;
	for (size_t i = 0; i < tape->frames.count; i++)
		uses->of.items[i] = tape->frames.items[i].symbol ? FRAME_NAMED : 0;
	return finding_run(uses, tape);
}

static int frame_uses_restart(struct frame_uses *now, const struct frame_uses *uses,
			      struct tape *tape)
{
	size_t count = uses->of.count;
	int r = array_reserve(&now->of, count);

	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++)
		now->of.items[i] = uses->of.items[i] & FRAME_NAMED;
	now->of.count = count;
	r = finding_run(now, tape);
	return r < 0 ? r : array_reserve(&now->again, tape->modules.count);
}

int frame_uses_find_again(struct frame_uses *uses, struct tape *tape)
{
	struct frame_uses now = { 0 };
	size_t count = uses->of.count;
	int r = frame_uses_restart(&now, uses, tape), again = 0;

	if (r < 0) {
		frame_uses_done(&now);
		return r;
	}
	memset(now.again.items, 0, tape->modules.count);
	for (size_t i = 0; i < now.of.count; i++) {
		struct tape_frame *frame = &tape->frames.items[i];

		if (!frame->module || now.of.items[i] & FRAME_NAMED ||
		    (i < count && now.of.items[i] == uses->of.items[i]))
			continue;
		frame->symbol = frame->offset = 0;
		now.again.items[frame->module] = again = 1;
	}
	frame_uses_done(uses);
	*uses = now;
	return again;
}

void frame_uses_done(struct frame_uses *uses)
{
	array_done(&uses->of);
	array_done(&uses->again);
}
