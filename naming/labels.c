// SPDX-License-Identifier: GPL-2.0-only
#include "naming/labels.h"

static bool labels_is_label(const struct tape *tape, const struct tape_frame *frame)
{
	const struct tape_module *module = &tape->modules.items[frame->module];
	const char *symbol = tape_string(tape, frame->symbol);
	const char *path = tape_string(tape, module->path), *slash = strrchr(path, '/');
	const char *file = slash ? slash + 1 : path;
	size_t size = strlen(file);

	return module->kind == TAPE_MODULE_ELF && symbol[0] == '[' &&
	       strncmp(symbol + 1, file, size) == 0 && strncmp(symbol + 1 + size, "+0x", 3) == 0;
}

void labels_remove(struct tape *tape)
{
	for (size_t i = 0; i < tape->frames.count; i++) {
		struct tape_frame *frame = &tape->frames.items[i];

		if (frame->symbol && labels_is_label(tape, frame))
			frame->symbol = frame->offset = 0;
	}
}

size_t labels_count_named(const struct tape *tape)
{
	size_t count = 0;

	for (size_t i = 0; i < tape->frames.count; i++)
		count += tape->frames.items[i].symbol &&
			 !labels_is_label(tape, &tape->frames.items[i]);
	return count;
}
