// SPDX-License-Identifier: GPL-2.0-only
#include "naming/kernel.h"

#include <stdio.h>

#include "symbolizer/kallsyms.h"

void kernel_done(struct kernel *kernel)
{
	symbols_free(kernel->symbols);
	strings_done(&kernel->modules);
}

static bool kernel_same_id(const struct tape_module *a, const struct tape_module *b)
{
	return a->build_id_size == b->build_id_size &&
	       memcmp(a->build_id, b->build_id, sizeof(a->build_id)) == 0;
}

static const struct tape_module *kernel_of(const struct tape *tape)
{
	static const struct tape_module unknown;

	for (size_t i = 0; i < tape->modules.count; i++)
		if (tape->modules.items[i].kind == TAPE_MODULE_KERNEL &&
		    strcmp(tape_string(tape, tape->modules.items[i].path), "[kernel.kallsyms]") ==
			    0)
			return &tape->modules.items[i];
	return &unknown;
}

/* Returns the address of a symbol in the text of kallsyms; 0 if the text lacks the symbol. */
static uint64_t kallsyms_address(const char *text, const char *name)
{
	char line[32];
	const char *at;

	snprintf(line, sizeof(line), " T %s\n", name);
	at = strstr(text, line);
	if (!at)
		return 0;
	while (at > text && at[-1] != '\n')
		at--;
	return strtoull(at, NULL, 16);
}

/*
 * Returns true if the running kernel is probably the recorded one: its code has the same start and
 * end addresses. Needed only for a recording without a build-id.
 */
static bool same_place(const struct tape *tape, const char *text)
{
	uint64_t begin = strtoull(tape_fact(tape, "kernel_text"), NULL, 16);
	uint64_t end = strtoull(tape_fact(tape, "kernel_end"), NULL, 16);

	return begin && begin == kallsyms_address(text, "_text") &&
	       end == kallsyms_address(text, "_etext");
}

static int read_kernel(struct kernel *kernel, const struct finder *finder, const struct tape *tape)
{
	const struct tape_module *module = kernel_of(tape);
	uint64_t recorded = strtoull(tape_fact(tape, "kernel_text"), NULL, 16), here;
	_cleanup_(cleanup_symbols) struct symbols *symbols = NULL;
	_cleanup_free_ char *text = NULL;
	size_t size;
	bool sure;
	int r;

	kernel->read = kernel->fresh = true;
	kernel->module = *module;
	r = finder_kallsyms(finder, module->build_id, module->build_id_size, &text, &size, &sure);
	if (r == 0 && !sure && !same_place(tape, text))
		r = -ENOENT;
	kernel->runs = r == 0 && (!module->build_id_size ||
				  finder_kernel_runs(module->build_id, module->build_id_size));
	if (r == 0)
		r = kallsyms_parse(text, size, &symbols);
	if (r == -ENOMEM)
		return r;
	here = r == 0 ? kallsyms_address(text, "_text") : 0;
	/* after another boot the kernel is at another place in memory */
	kernel->shift = here && recorded ? here - recorded : 0;
	symbols_free(kernel->symbols);
	kernel->symbols = take_ptr(symbols);
	return 0;
}

/*
 * Reads the kernel's symbols again if the tape has another kernel, or if new code appeared, such as
 * a BPF program or a module.
 */
static int prepare_kernel(struct kernel *kernel, const struct finder *finder,
			  const struct tape *tape, const char *name)
{
	uint32_t before = strings_count(&kernel->modules), id;
	int r = strings_add(&kernel->modules, name, strlen(name), &id);

	if (r < 0)
		return r;
	if (!kernel->read || (id >= before && !kernel->fresh) ||
	    !kernel_same_id(&kernel->module, kernel_of(tape)))
		return read_kernel(kernel, finder, tape);
	return 0;
}

/*
 * Names code that the kernel generated, such as a BPF program or a trampoline, by its record in the
 * tape. Other code may be at its address now, so the symbols supply only the start of the function.
 */
static int name_generated(struct kernel *kernel, struct tape *tape,
			  const struct frame_table *frames, const char *name)
{
	const struct symbols *symbols = kernel->symbols;
	int r = 0;

	for (size_t i = 0; r == 0 && i < frames->count; i++) {
		struct tape_frame *frame = &tape->frames.items[frames->items[i]];
		struct symbol symbol;
		bool found = symbols && !kernel->shift &&
			     symbols_find(symbols, frame_lookup(tape, frames, i), &symbol) &&
			     strcmp(symbol.name, name) == 0;

		if (!frame->symbol)
			r = name_frame(tape, frame, name,
				       found ? frame->address - symbol.start : 0);
	}
	return r;
}

/*
 * Names the frames from the kernel's symbols. Keeps all symbols, because tapes use all of them
 * sooner or later, and the kernel takes longer to make the text of kallsyms than perftape takes to
 * parse it.
 */
int kernel_name(struct kernel *kernel, const struct finder *finder, struct tape *tape,
		const struct frame_table *frames)
{
	_cleanup_free_ char *name =
		strdup(tape_string(tape, tape->modules.items[frames->module].path));
	int r = name ? prepare_kernel(kernel, finder, tape, name) : -ENOMEM;

	if (r < 0)
		return r;
	if (name[0] != '[')
		return name_generated(kernel, tape, frames, name);
	if (!kernel->symbols || !symbols_count(kernel->symbols))
		return 1;
	/* after another boot, modules have another distance from the kernel */
	if (r < 0 || (kernel->shift && strcmp(name, "[kernel.kallsyms]") != 0))
		return r;
	for (size_t i = 0; r == 0 && kernel->symbols && i < frames->count; i++) {
		struct tape_frame *frame = &tape->frames.items[frames->items[i]];
		uint64_t address = frame_lookup(tape, frames, i) + kernel->shift;
		struct symbol symbol;

		if (!frame->symbol && symbols_find(kernel->symbols, address, &symbol))
			r = name_frame(tape, frame, symbol.name,
				       frame->address + kernel->shift - symbol.start);
	}
	return r;
}

int kernel_runs(struct kernel *kernel, const struct finder *finder, const struct tape *tape,
		bool *ret_runs)
{
	int r = 0;

	if (!kernel->read || !kernel_same_id(&kernel->module, kernel_of(tape)))
		r = read_kernel(kernel, finder, tape);
	*ret_runs = kernel->runs;
	return r;
}

int kernel_is_of_boot(struct kernel *kernel, const struct finder *finder, const struct tape *tape,
		      bool *ret_is)
{
	bool runs = false;
	int r = kernel_runs(kernel, finder, tape, &runs);

	*ret_is = runs && !kernel->shift && *tape_fact(tape, "kernel_text");
	return r;
}
