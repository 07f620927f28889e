// SPDX-License-Identifier: GPL-2.0-only
#include "query/read/frame-account.h"

#include <errno.h>

#include "base/cleanup.h"

static void add_shares(struct stack_shares *shares, const struct stack_shares *other)
{
	shares->whole += other->whole;
	shares->cut += other->cut;
	shares->frame_pointers += other->frame_pointers;
}

static void add_ends(const struct tape *tape, const struct stack_shares *ends,
		     struct coverage *coverage)
{
	coverage->stacks_read |= *tape_fact(tape, TAPE_STACK_BYTES) != 0;
	add_shares(&coverage->stacks, ends);
}

int frame_account_add(struct frame_count *count, struct coverage *coverage)
{
	struct frame_totals totals;
	int r = frame_count_finish(count, &totals);

	if (r < 0)
		return r;
	coverage->frames += totals.frames;
	coverage->named += totals.named;
	add_ends(count->tape, &totals.ends, coverage);
	r = unnamed_text_add(&coverage->unnamed, count->tape, totals.unnamed);
	free(totals.unnamed);
	return r;
}

int frame_account_add_digest(const struct tape *tape, const struct digest *digest,
			     struct coverage *coverage)
{
	coverage->frames += digest->frames;
	coverage->named += digest->named;
	add_ends(tape, &digest->ends, coverage);
	for (size_t i = 0; i < digest->unnamed.count; i++) {
		const struct digest_unnamed *row = &digest->unnamed.items[i];
		int r = unnamed_text_add_path(&coverage->unnamed, tape,
					      row->is_mapped ? row->path : UNNAMED_TEXT_UNMAPPED,
					      row->frames);

		if (r < 0)
			return r;
	}
	return 0;
}

void frame_account_merge(struct coverage *coverage, const struct coverage *other)
{
	coverage->frames += other->frames;
	coverage->named += other->named;
	coverage->stacks_read |= other->stacks_read;
	add_shares(&coverage->stacks, &other->stacks);
	unnamed_text_merge(&coverage->unnamed, &other->unnamed);
}
