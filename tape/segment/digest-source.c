// SPDX-License-Identifier: GPL-2.0-only
#include "tape/segment/digest-source.h"

#include <errno.h>

#include "tape/frame-count.h"

/* Lists the comm, and one frame of the leaf function, of each path of the trie. */
static int list_paths(const struct tape *tape, const struct trie *trie, uint32_t **ret_owners,
		      uint32_t **ret_frames)
{
	size_t count = trie->stack.count;
	uint32_t *owners = malloc((count + 1) * sizeof(*owners));
	uint32_t *frames = malloc((count + 1) * sizeof(*frames));

	*ret_owners = owners;
	*ret_frames = frames;
	if (!owners || !frames)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		owners[i] = trie->comms.items[trie->comm.items[i]];
	/* paths are numbered in the order of their first samples */
	for (size_t i = 0, next = 0; i < tape->samples.count && next < count; i++)
		if (trie->sample_path[i] == next)
			frames[next++] = tape->samples.items[i].frame;
	return 0;
}

static int digest_count_frames(const struct tape *tape, const struct trie *trie,
			       const uint32_t *frames, struct digest *digest)
{
	_cleanup_(frame_count_done) struct frame_count count = { 0 };
	struct frame_totals totals = { 0 };
	int r = frame_count_init(&count, tape);

	for (size_t i = 0; r == 0 && i < trie->stack.count; i++)
		frame_count_add(&count, trie->stack.items[i], frames[i], trie->count.items[i]);
	if (r == 0)
		r = frame_count_finish(&count, &totals);
	digest->frames = totals.frames;
	digest->named = totals.named;
	digest->ends = totals.ends;
	for (size_t i = 0; r == 0 && i < tape->modules.count; i++) {
		const struct tape_module *module = &tape->modules.items[i];
		struct digest_unnamed row = { module->path, module->kind != TAPE_MODULE_UNKNOWN,
					      totals.unnamed[i] };

		if (row.frames)
			r = array_push(&digest->unnamed, row);
	}
	free(totals.unnamed);
	return r;
}

/* A sample of a throttled CPU stands for several, which the digest cannot represent. */
static bool is_representable(const struct tape *tape)
{
	for (size_t i = 0; i < tape->losses.count; i++)
		if (tape_is_throttled(tape, i))
			return false;
	return true;
}

int digest_source_make(const struct tape *tape, const struct trie *trie, struct digest *digest)
{
	_cleanup_(stack_class_marks_done) struct stack_class_marks marks = { 0 };
	_cleanup_free_ uint32_t *owners = NULL, *frames = NULL;
	struct digest_paths paths = {
		.of_samples = trie->sample_path,
		.count = trie->stack.count,
		.stacks = trie->stack.items,
		.samples = trie->count.items,
	};
	const struct digest_input input = {
		.tape = tape,
		.marks = &marks,
		.paths = &paths,
		.intervals = true,
	};
	int r = is_representable(tape) ? stack_class_marks_make(&marks, tape) : 1;

	if (r == 1)
		return 0;
	if (r == 0)
		r = list_paths(tape, trie, &owners, &frames);
	paths.owners = owners;
	paths.frames = frames;
	if (r == 0)
		r = digest_make(&input, digest);
	return r < 0 ? r : digest_count_frames(tape, trie, frames, digest);
}
