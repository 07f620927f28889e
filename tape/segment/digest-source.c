// SPDX-License-Identifier: GPL-2.0-only
#include "tape/segment/digest-source.h"

#include <errno.h>

#include "tape/frame-count.h"

/* Lists the comm of each path of the trie. */
static int list_owners(const struct trie *trie, uint32_t **ret_owners)
{
	size_t count = trie->stack.count;
	uint32_t *owners = malloc((count + 1) * sizeof(*owners));

	*ret_owners = owners;
	for (size_t i = 0; owners && i < count; i++)
		owners[i] = trie->comms.items[trie->comm.items[i]];
	return owners ? 0 : -ENOMEM;
}

static int digest_count_frames(const struct tape *tape, const struct trie *trie,
			       struct digest *digest)
{
	_cleanup_(frame_count_done) struct frame_count count = { 0 };
	struct frame_totals totals = { 0 };
	int r = frame_count_init(&count, tape);

	for (size_t i = 0; r == 0 && i < trie->stack.count; i++)
		frame_count_add(&count, trie->stack.items[i], trie->frame.items[i],
				trie->count.items[i]);
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
	_cleanup_free_ uint32_t *owners = NULL;
	struct digest_paths paths = {
		.of_samples = trie->sample_path,
		.count = trie->stack.count,
		.stacks = trie->stack.items,
		.frames = trie->frame.items,
		.samples = trie->count.items,
		.cpu_samples = trie->cpu_samples,
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
		r = list_owners(trie, &owners);
	paths.owners = owners;
	if (r == 0)
		r = digest_make(&input, digest);
	return r < 0 ? r : digest_count_frames(tape, trie, digest);
}
