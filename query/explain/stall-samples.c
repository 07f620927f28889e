// SPDX-License-Identifier: GPL-2.0-only
#include "query/explain/stall-samples.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

static void stall_tape_done(struct stall_tape *about)
{
	stack_class_marks_done(&about->marks);
	code_marks_done(&about->code);
	weights_done(&about->weights);
	array_done(&about->idle);
	array_done(&about->names);
}

static int stall_tape_init(struct stall_tape *about, const struct tape *tape)
{
	uint32_t functions = tape_function_count(tape);

	if (stack_class_marks_make(&about->marks, tape) < 0 ||
	    code_marks_make(&about->code, tape) < 0 ||
	    weights_make(&about->weights, tape, stack_class_sample_ns(tape, tape->samples.count)) <
		    0 ||
	    array_reserve(&about->idle, tape->threads.count) < 0 ||
	    array_reserve(&about->names, functions) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < tape->threads.count; i++)
		about->idle.items[i] =
			tape->threads.items[i].pid == 0 && tape->threads.items[i].tid == 0;
	memset(about->names.items, 0, functions * sizeof(*about->names.items));
	about->idle.count = tape->threads.count;
	about->names.count = functions;
	return 0;
}

int stall_samples_read(struct store_reader *reader, const struct question *question,
		       struct stall_samples *samples, struct error *error)
{
	int r = selection_make(reader, question, &samples->selection, error);

	for (size_t i = 0; r == 0 && i < samples->selection->tapes.count; i++) {
		r = array_push(&samples->tapes, (struct stall_tape){ 0 });
		if (r < 0)
			return r;
		r = stall_tape_init(&samples->tapes.items[i], samples->selection->tapes.items[i]);
	}
	return r;
}

void stall_samples_done(struct stall_samples *samples)
{
	for (size_t i = 0; i < samples->tapes.count; i++)
		stall_tape_done(&samples->tapes.items[i]);
	array_done(&samples->tapes);
	samples->selection = selection_free(samples->selection);
}

struct stall_sample stall_samples_at(struct stall_samples *samples, size_t row)
{
	const struct selection_row *at = &samples->selection->rows.items[row];
	const struct tape *tape = samples->selection->tapes.items[at->tape];
	const struct tape_sample *sample = &tape->samples.items[at->sample];
	struct stall_tape *about = &samples->tapes.items[at->tape];
	uint8_t code = code_marks_of(&about->code, tape, sample->stack, sample->frame);

	/* an allocation that does not free memory is not reclaim */
	if (!(code & (1u << CODE_RECLAIM | 1u << CODE_COMPACTION)))
		code &= ~(1u << CODE_DIRECT_RECLAIM);
	return (struct stall_sample){
		.realtime_ns = at->realtime_ns,
		.ns = weights_of(&about->weights, sample),
		.sample = sample,
		.tape = tape,
		.about = about,
		.kind = stack_class_kind(&about->marks, about->idle.items[sample->thread],
					 sample->stack, sample->frame),
		.code = code,
		.leaf_code = code_marks_of(&about->code, tape, 0, sample->frame),
	};
}

int stall_sample_name(const struct stall_sample *sample, uint32_t frame, struct strings *names,
		      uint32_t *ret_name)
{
	const struct tape *tape = sample->tape;
	uint32_t *known = &sample->about->names.items[tape_function_of(tape, frame)], name;
	const struct tape_frame *row = &tape->frames.items[frame];
	char label[TAPE_LABEL_SIZE];
	const char *text = row->symbol ? tape_string(tape, row->symbol)
				       : tape_module_label(tape, row->module, label);
	int r = *known ? 0 : strings_add(names, text, strlen(text), &name);

	if (r < 0)
		return r;
	if (!*known)
		*known = name + 1;
	*ret_name = *known - 1;
	return 0;
}
