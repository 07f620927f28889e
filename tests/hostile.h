/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "tests/selections.h"

/*
 * Returns a tape with each name of a thread, a function and a file that is known to break
 * Flamescope.
 */
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

/*
 * Returns a tape with names on which other readers of Flamescope's text are known to break, or
 * which libmagic recognises as a program: as comm, as function and as file. Then a thread that was
 * exiting, a sample without a stack, and frames of each kind of module.
 */
static inline struct tape *readers_tape(void)
{
	static const char *const names[] = {
		"+x",
		"+",
		"(anonymous namespace)::run(int)",
		"(anonymous namespace)",
		"a::(anonymous namespace)::b",
		"(x)",
		"(in /x)",
		"\"",
		"''",
		"\"use strict\"",
		"x'use strict'",
		"/opt/my app/bin x",
		"/opt/trail ",
		"/opt/C:/Program Files (x86)/a.exe",
		"/opt/(deleted)/x (deleted)",
		"\xef\xbb\xbfmark",
		"a\xef\xbb\xbf",
		"\xe2\x80\xae\xe2\x81\xa6txt.exe\xe2\x81\xa9",
		"\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c",
		"a\xe2\x80\x8b\xf3\xa0\x80\x81",
		"Job.Worker 3",
		"pool 42/43 x",
		"x  1/2",
		"x [003] 1.000001: 5 y:",
		"union",
		"struct",
		"extern",
		"dnl",
		"all:",
		"VPATH=x",
		"CFLAGS",
		"LDFLAGS",
		"public:",
		"private:",
		"protected:",
		"extern int",
		"#!/bin/sh",
		"<?php",
		"%!PS",
		"x+0x1f",
		"operator()(int) const",
		"main.(*T).run",
		"a;b",
		"{x}",
		"comm,ma,s",
	};
	struct tape *tape = tapes_new(0, 100);
	uint32_t kernel = tapes_module(tape, "[kernel.kallsyms]", TAPE_MODULE_KERNEL);
	uint32_t vdso = tapes_module(tape, "[vdso]", TAPE_MODULE_VDSO);
	uint32_t jit = tapes_module(tape, "/tmp/perf-77.map", TAPE_MODULE_JIT);
	uint32_t none, thread, stack;
	size_t at;

	for (at = 0; at < ARRAY_SIZE(names); at++) {
		uint32_t module = tapes_module(tape, names[at], TAPE_MODULE_ELF);

		thread = tapes_thread(tape, 1000 + at, 2000 + at, names[at]);
		stack = tapes_call(tape, 0, 0, 0, "");
		stack = tapes_call(tape, stack, module, 0x100 + at, "");
		stack = tapes_call(tape, stack, module, 0xdef, names[at]);
		stack = tapes_call(tape, stack, jit, 0x7f0000001000 + at, names[at]);
		stack = tapes_call(tape, stack, jit, 0x7f0000002000, "");
		stack = tapes_call(tape, stack, vdso, 0x7ff000000000, "__vdso_gettimeofday");
		stack = tapes_call(tape, stack, kernel, 0xffffffff81000010, "");
		stack = tapes_call(tape, stack, kernel, 0xffffffff81000020 + at, names[at]);
		tapes_sample(tape, TAPES_PERF + (at + 1) * NSEC_PER_SEC, at, thread, stack);
	}
	thread = tapes_thread(tape, -1, -1, "");
	tapes_sample(tape, TAPES_PERF + ++at * NSEC_PER_SEC, 0, thread, stack);
	CHECK_EQ(tape_add_no_stack(tape, &none), 0);
	tapes_sample(tape, TAPES_PERF + ++at * NSEC_PER_SEC, 1, thread, 0);
	tape->samples.items[tape->samples.count - 1].frame = none;
	CHECK_EQ(tape_add_fact(tape, "version", "x"), 0);
	return tape;
}
