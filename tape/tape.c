// SPDX-License-Identifier: GPL-2.0-only
#include "tape/tape.h"

#include <assert.h>
#include <stdio.h>

#include "base/sort.h"
#include "tape/digest.h"

struct tape *tape_free(struct tape *tape)
{
	if (!tape)
		return NULL;
	strings_done(&tape->strings);
	array_done(&tape->facts);
	array_done(&tape->anchors);
	array_done(&tape->modules);
	array_done(&tape->frames);
	array_done(&tape->stacks);
	array_done(&tape->threads);
	array_done(&tape->samples);
	array_done(&tape->losses);
	array_done(&tape->fields);
	array_done(&tape->events);
	array_done(&tape->lines);
	array_done(&tape->incidents);
	array_done(&tape->gauges);
	array_done(&tape->points);
	array_done(&tape->sums);
	digest_free(tape->digest);
	array_done(&tape->usual);
	array_done(&tape->usual_values);
	array_done(&tape->pids);
	tape_freeze(tape);
	free(tape);
	return NULL;
}

void tape_freeze(struct tape *tape)
{
	table_done(&tape->module_table);
	table_done(&tape->frame_table);
	table_done(&tape->stack_table);
	table_done(&tape->thread_table);
}

uint64_t tape_memory(const struct tape *tape)
{
	return tape->samples.capacity * sizeof(*tape->samples.items) +
	       tape->stacks.capacity * sizeof(*tape->stacks.items) +
	       tape->frames.capacity * sizeof(*tape->frames.items) +
	       tape->threads.capacity * sizeof(*tape->threads.items) +
	       tape->modules.capacity * sizeof(*tape->modules.items) +
	       tape->losses.capacity * sizeof(*tape->losses.items) +
	       tape->points.capacity * sizeof(*tape->points.items) + tape->strings.text.capacity;
}

uint64_t tape_detail(const struct tape *tape)
{
	return tape->stacks.count * (sizeof(*tape->stacks.items) + 2 * sizeof(struct table_slot)) +
	       tape->frames.count * (sizeof(*tape->frames.items) + 2 * sizeof(struct table_slot)) +
	       tape->threads.count *
		       (sizeof(*tape->threads.items) + 2 * sizeof(struct table_slot)) +
	       tape->modules.count * sizeof(*tape->modules.items) + tape->strings.text.size;
}

int tape_new(struct tape **ret_tape)
{
	_cleanup_(cleanup_tape) struct tape *tape = calloc(1, sizeof(*tape));
	uint32_t id;

	if (!tape)
		return -ENOMEM;
	if (tape_add_module(tape, &(struct tape_module){ 0 }, &id) < 0 ||
	    tape_add_frame(tape, 0, 0, &id) < 0 ||
	    array_push(&tape->stacks, (struct tape_stack){ 0 }) < 0)
		return -ENOMEM;
	*ret_tape = take_ptr(tape);
	return 0;
}

static bool tape_module_equal(const void *context, uint32_t id, const void *key)
{
	const struct tape_module *a = &((const struct tape *)context)->modules.items[id], *b = key;

	return a->path == b->path && a->kind == b->kind && a->inode == b->inode &&
	       a->device == b->device && a->build_id_size == b->build_id_size &&
	       memcmp(a->build_id, b->build_id, sizeof(a->build_id)) == 0;
}

int tape_add_module(struct tape *tape, const struct tape_module *module, uint32_t *ret_id)
{
	uint64_t hash = hash_numbers(module->path | (uint64_t)module->kind << 32, module->inode) ^
			hash_text(module->build_id, sizeof(module->build_id));
	uint32_t id = table_find(&tape->module_table, hash, tape_module_equal, tape, module);

	if (id == TABLE_NONE) {
		id = tape->modules.count;
		if (array_reserve(&tape->modules, id + 1) < 0 ||
		    table_add(&tape->module_table, hash, id) < 0)
			return -ENOMEM;
		tape->modules.items[tape->modules.count++] = *module;
	}
	*ret_id = id;
	return 0;
}

static bool frame_equal(const void *context, uint32_t id, const void *key)
{
	const struct tape_frame *a = &((const struct tape *)context)->frames.items[id], *b = key;

	return a->address == b->address && a->module == b->module;
}

int tape_add_frame(struct tape *tape, uint32_t module, uint64_t address, uint32_t *ret_id)
{
	struct tape_frame frame = { .module = module, .address = address };
	uint64_t hash = hash_numbers(address, module);
	uint32_t id;

	assert(module < tape->modules.count);
	id = table_find(&tape->frame_table, hash, frame_equal, tape, &frame);

	if (id == TABLE_NONE) {
		id = tape->frames.count;
		if (array_reserve(&tape->frames, id + 1) < 0 ||
		    table_add(&tape->frame_table, hash, id) < 0)
			return -ENOMEM;
		tape->frames.items[tape->frames.count++] = frame;
	}
	*ret_id = id;
	return 0;
}

int tape_add_no_stack(struct tape *tape, uint32_t *ret_id)
{
	struct tape_module module = { .kind = TAPE_MODULE_UNKNOWN };
	uint32_t id;

	if (strings_add(&tape->strings, TAPE_NO_STACK, strlen(TAPE_NO_STACK), &module.path) < 0 ||
	    tape_add_module(tape, &module, &id) < 0)
		return -ENOMEM;
	return tape_add_frame(tape, id, 0, ret_id);
}

static bool stack_equal(const void *context, uint32_t id, const void *key)
{
	const struct tape_stack *a = &((const struct tape *)context)->stacks.items[id], *b = key;

	return a->parent == b->parent && a->frame == b->frame;
}

int tape_add_stack(struct tape *tape, uint32_t parent, uint32_t frame, uint32_t *ret_id)
{
	struct tape_stack stack = { .parent = parent, .frame = frame };
	uint64_t hash = hash_numbers(parent, frame);
	uint32_t id;

	/* invariants (2) and (3) */
	assert(parent < tape->stacks.count && frame < tape->frames.count);
	id = table_find(&tape->stack_table, hash, stack_equal, tape, &stack);

	if (id == TABLE_NONE) {
		id = tape->stacks.count;
		if (array_reserve(&tape->stacks, id + 1) < 0 ||
		    table_add(&tape->stack_table, hash, id) < 0)
			return -ENOMEM;
		tape->stacks.items[tape->stacks.count++] = stack;
	}
	*ret_id = id;
	return 0;
}

/* A mark is a JIT module in brackets, a name that files and perf maps do not use. */
int tape_add_mark(struct tape *tape, const char *name, uint32_t *ret_frame)
{
	struct tape_module module = { .kind = TAPE_MODULE_JIT };
	uint32_t id;
	int r = strings_add(&tape->strings, name, strlen(name), &module.path);

	if (r < 0)
		return -ENOMEM;
	r = tape_add_module(tape, &module, &id);
	return r < 0 ? -ENOMEM : tape_add_frame(tape, id, 0, ret_frame);
}

bool tape_is_mark_name(const char *name)
{
	static const char *const names[] = { TAPE_CUT, TAPE_FRAME_POINTERS, TAPE_UNMAPPED };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

bool tape_is_mark(const struct tape *tape, uint32_t frame)
{
	const struct tape_module *module = &tape->modules.items[tape->frames.items[frame].module];

	return module->kind == TAPE_MODULE_JIT &&
	       tape_is_mark_name(tape_string(tape, module->path));
}

int tape_add_cut_stack(struct tape *tape, uint32_t *ret_id)
{
	uint32_t frame;
	int r = tape_add_mark(tape, TAPE_CUT, &frame);

	return r < 0 ? r : tape_add_stack(tape, 0, frame, ret_id);
}

static bool tape_thread_equal(const void *context, uint32_t id, const void *key)
{
	const struct tape_thread *a = &((const struct tape *)context)->threads.items[id], *b = key;

	return a->tid == b->tid && a->pid == b->pid && a->comm == b->comm && a->cgroup == b->cgroup;
}

int tape_add_thread(struct tape *tape, const struct tape_thread *thread, uint32_t *ret_id)
{
	uint64_t hash = hash_numbers((uint64_t)(uint32_t)thread->tid << 32 | thread->comm,
				     (uint64_t)thread->cgroup << 32 | (uint32_t)thread->pid);
	uint32_t id = table_find(&tape->thread_table, hash, tape_thread_equal, tape, thread);

	if (id == TABLE_NONE) {
		id = tape->threads.count;
		if (array_reserve(&tape->threads, id + 1) < 0 ||
		    table_add(&tape->thread_table, hash, id) < 0)
			return -ENOMEM;
		tape->threads.items[tape->threads.count++] = *thread;
	}
	*ret_id = id;
	return 0;
}

int tape_add_fact(struct tape *tape, const char *key, const char *value)
{
	struct tape_fact fact;

	if (strings_add(&tape->strings, key, strlen(key), &fact.key) < 0 ||
	    strings_add(&tape->strings, value, strlen(value), &fact.value) < 0)
		return -ENOMEM;
	return array_push(&tape->facts, fact);
}

int tape_set_fact(struct tape *tape, const char *key, const char *value)
{
	for (size_t i = 0; i < tape->facts.count; i++)
		if (strcmp(tape_string(tape, tape->facts.items[i].key), key) == 0)
			return strings_add(&tape->strings, value, strlen(value),
					   &tape->facts.items[i].value);
	return *value ? tape_add_fact(tape, key, value) : 0;
}

int tape_add_usual(struct tape *tape, enum tape_usual_kind kind, const char *name,
		   const uint64_t *values, size_t count)
{
	struct tape_usual row = {
		.kind = kind,
		.first = tape->usual_values.count,
		.count = count,
	};

	if (strings_add(&tape->strings, name, strlen(name), &row.name) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (array_push(&tape->usual_values, values[i]) < 0)
			return -ENOMEM;
	return array_push(&tape->usual, row);
}

const char *tape_fact(const struct tape *tape, const char *key)
{
	for (size_t i = 0; i < tape->facts.count; i++)
		if (strcmp(tape_string(tape, tape->facts.items[i].key), key) == 0)
			return tape_string(tape, tape->facts.items[i].value);
	return "";
}

int tape_sort_samples(struct tape *tape)
{
	_cleanup_free_ void *scratch = NULL;

	if (sort_array_is_sorted(&tape->samples, time_ns))
		return 0;
	scratch = malloc(tape->samples.count * sizeof(*tape->samples.items));
	if (!scratch)
		return -ENOMEM;
	sort_array(&tape->samples, scratch, time_ns);
	return 0;
}

void tape_join_losses(struct tape *tape)
{
	/* For each CPU, the row of its last loss, plus 1. */
	array_of(size_t) last = { 0 };
	struct tape_loss *losses = tape->losses.items;
	size_t count = 0;

	for (size_t i = 0; i < tape->losses.count; i++) {
		struct tape_loss loss = losses[i];

		losses[count++] = loss;
		if (loss.kind != TAPE_LOSS_OFFLINE || loss.cpu >= TAPE_CPUS_MAX ||
		    array_reserve(&last, loss.cpu + 1) < 0)
			continue;
		while (last.count <= loss.cpu)
			last.items[last.count++] = 0;
		if (last.items[loss.cpu] && losses[last.items[loss.cpu] - 1].to_ns == loss.from_ns)
			losses[last.items[loss.cpu] - 1].to_ns = losses[--count].to_ns;
		else
			last.items[loss.cpu] = count;
	}
	tape->losses.count = count;
	array_done(&last);
}

void tape_span_samples(struct tape *tape)
{
	const struct tape_sample *samples = tape->samples.items;
	size_t count = tape->samples.count;

	if (count) {
		tape->begin_ns = MIN(tape->begin_ns, samples[0].time_ns);
		tape->end_ns = MAX(tape->end_ns, samples[count - 1].time_ns + 1);
	}
	tape->begin_ns -= tape->begin_ns % TAPE_TIME_UNIT_NS;
	tape->end_ns += TAPE_TIME_UNIT_NS - 1;
	tape->end_ns -= tape->end_ns % TAPE_TIME_UNIT_NS;
}

const char *tape_module_label(const struct tape *tape, uint32_t module, char label[TAPE_LABEL_SIZE])
{
	return tape_path_label(tape_string(tape, tape->modules.items[module].path), label);
}

const char *tape_path_label(const char *path, char label[TAPE_LABEL_SIZE])
{
	const char *slash = strrchr(path, '/');

	if (*path == '[')
		return path;
	snprintf(label, TAPE_LABEL_SIZE, "[%.200s]", !*path ? "unknown" : slash ? slash + 1 : path);
	return label;
}
