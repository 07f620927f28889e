/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The samples around a stall in memory, with what readers need of each: its weight, its class, the
 * kinds of code in its stack.
 */

#include "base/error.h"
#include "query/explain/code-kinds.h"
#include "query/explain/evidence.h"
#include "query/read/selection.h"
#include "query/read/weights.h"
#include "tape/stack-class.h"

struct stall_tape {
	struct stack_class_marks marks;
	struct code_marks code;
	struct weights weights;
	/* for each thread: it is the idle thread */
	array_of(bool) idle;
	/* for each function of the tape (tape_function_of()): its name in the evidence + 1 */
	array_of(uint32_t) names;
};

struct stall_samples {
	struct selection *selection;
	/* in the order of the selection's tapes */
	array_of(struct stall_tape) tapes;
};

struct stall_sample {
	uint64_t realtime_ns, ns;
	const struct tape_sample *sample;
	const struct tape *tape;
	struct stall_tape *about;
	enum stack_class_kind kind;
	/* bits of enum code_kind */
	uint8_t code, leaf_code;
};

/* Reads the samples of a window. Returns 0 or a negative errno; free with stall_samples_done(). */
int stall_samples_read(struct store_reader *reader, const struct question *question,
		       struct stall_samples *samples, struct error *error);
void stall_samples_done(struct stall_samples *samples);
struct stall_sample stall_samples_at(struct stall_samples *samples, size_t row);

/* Finds or adds the name of a frame's function. Returns 0 or a negative errno. */
int stall_sample_name(const struct stall_sample *sample, uint32_t frame, struct strings *names,
		      uint32_t *ret_name);
