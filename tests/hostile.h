/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "tests/selections.h"

/* Each name of a thread, a function and a file that Flamescope is known to break on. */
static inline struct tape *hostile_tape(void)
{
	static const char *const names[] = { "",
					     " ",
					     "a",
					     "#a",
					     " a",
					     "a 1: b:",
					     "1: b:",
					     " 1.5: b: ",
					     "a->b",
					     "operator->",
					     "->",
					     "\n\n",
					     "\t 1: x:",
					     "\x80\xff",
					     "a\xe4\xb8",
					     "\xc2\xa0 1: b:",
					     "\xc2\x85",
					     "\xe2\x80\xa8",
					     "x (y)",
					     "(",
					     ")",
					     " (",
					     ") ",
					     "a (b",
					     " (deleted)",
					     "x (deleted)",
					     "x (deleted) y",
					     "12/34 [000] 1.000000: 1 x:",
					     "[unknown]",
					     "swapper 3: x:",
					     "operator+",
					     "+",
					     "+0x12",
					     "fn(u32) -> bool",
					     ";",
					     "\x7f\x1b[1m",
					     "\xf0\x9f\x98\x80",
					     "# 1: x:",
					     "..:",
					     " .: .: x:",
					     "vmlinux",
					     "/tmp/perf- 1: x:" };
	struct tape *tape = tapes_new(0, 100);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		uint32_t thread = tapes_thread(tape, i, 100 + i, names[i]);
		uint32_t module = tapes_module(tape, names[i], TAPE_MODULE_ELF);
		uint32_t stack = tapes_call(tape, 0, module, 0x1234 + i, names[i]);

		stack = tapes_call(tape, stack, module, 0x99, "");
		tapes_sample(tape, TAPES_PERF + (i + 1) * NSEC_PER_SEC, i, thread, stack);
	}
	CHECK_EQ(tape_add_fact(tape, "version", "x"), 0);
	return tape;
}

static inline struct selection *hostile_selection(void)
{
	struct selection *selection = selections_new(0.25, 100);

	selections_add(selection, hostile_tape());
	return selection;
}
