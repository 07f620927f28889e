// SPDX-License-Identifier: GPL-2.0-only
#include "tape/stack-ends.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* The outermost frame tells how a stack ends. */
static enum stack_ends_kind stack_ends_of_root(const struct tape *tape, uint32_t frame, bool read)
{
	const struct tape_module *module = &tape->modules.items[tape->frames.items[frame].module];
	const char *path = tape_string(tape, module->path);

	if (module->kind == TAPE_MODULE_KERNEL)
		return STACK_ENDS_NO_USER;
	if (module->kind == TAPE_MODULE_JIT && strcmp(path, TAPE_CUT) == 0)
		return STACK_ENDS_CUT;
	if (module->kind == TAPE_MODULE_JIT && strcmp(path, TAPE_FRAME_POINTERS) == 0)
		return STACK_ENDS_FRAME_POINTERS;
	return read ? STACK_ENDS_WHOLE : STACK_ENDS_FRAME_POINTERS;
}

int stack_ends_make(const struct tape *tape, uint8_t **ret_kinds)
{
	uint8_t *kinds = calloc(tape->stacks.count + 1, sizeof(*kinds));
	bool read = *tape_fact(tape, TAPE_STACK_BYTES);

	if (!kinds)
		return -ENOMEM;
	/* a parent precedes its children */
	for (size_t i = 1; i < tape->stacks.count; i++) {
		const struct tape_stack *stack = &tape->stacks.items[i];

		kinds[i] = stack->parent ? kinds[stack->parent]
					 : stack_ends_of_root(tape, stack->frame, read);
	}
	*ret_kinds = kinds;
	return 0;
}

void stack_ends_add(struct stack_shares *shares, enum stack_ends_kind kind, uint64_t count)
{
	shares->whole += kind == STACK_ENDS_WHOLE ? count : 0;
	shares->cut += kind == STACK_ENDS_CUT ? count : 0;
	shares->frame_pointers += kind == STACK_ENDS_FRAME_POINTERS ? count : 0;
}
