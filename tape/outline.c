// SPDX-License-Identifier: GPL-2.0-only
/*
 * The bytes are varints: the time of a sample, the host's CPUs, the number of CPUs, the leader of
 * the tape, and for each CPU the distance to the previous one, its four classes and its leader. The
 * names follow, each ended by a NUL, and numbered from 1.
 */
#include "tape/outline.h"

#include <string.h>

#include "base/cleanup.h"

void outline_done(struct outline *outline)
{
	strings_done(&outline->names);
	array_done(&outline->cpus);
}

/* Finds or adds a name. An empty name keeps the number 0. */
static int outline_name(struct outline *outline, const char *text, uint32_t *ret_name)
{
	return strings_add(&outline->names, text, strlen(text), ret_name) < 0 ? -ENOMEM : 0;
}

static int outline_function(const struct tape *tape, const struct digest_function *function,
			    struct outline *outline, uint32_t *ret_name)
{
	const char *text = tape_string(tape, function->string);
	char label[TAPE_LABEL_SIZE];

	if (function->is_module)
		text = tape_path_label(text, label);
	return outline_name(outline, text, ret_name);
}

/* Finds the CPU's core with the most work; the cores of a CPU are neighbours. */
static int outline_lead_cpu(const struct tape *tape, const struct digest *digest, size_t *at,
			    struct outline *outline, struct outline_cpu *cpu)
{
	const struct digest_core *cores = digest->cores.items, *most = NULL;
	struct outline_leader *leader = &cpu->leader;
	int r;

	for (; *at < digest->cores.count && cores[*at].cpu <= cpu->cpu; ++*at)
		if (cores[*at].cpu == cpu->cpu && (!most || cores[*at].work > most->work))
			most = &cores[*at];
	if (!most)
		return 0;
	leader->comm_samples = most->work;
	leader->function_samples = most->there;
	r = outline_name(outline, tape_string(tape, most->owner), &leader->comm);
	return r < 0 || !most->function
		       ? r
		       : outline_function(tape, &digest->functions.items[most->function - 1],
					  outline, &leader->function);
}

static int outline_add_cpus(const struct tape *tape, const struct digest *digest,
			    struct outline *outline)
{
	size_t count = digest->cpus.count, at = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct outline_cpu cpu = { .cpu = digest->cpus.items[i] };

		for (size_t cell = i; cell < digest->cells.count; cell += count)
			for (int kind = 0; kind < STACK_CLASS_KINDS; kind++)
				cpu.n[kind] += digest->cells.items[cell].n[kind];
		r = outline_lead_cpu(tape, digest, &at, outline, &cpu);
		if (r < 0)
			return r;
		r = array_push(&outline->cpus, cpu);
	}
	return r;
}

/* Finds the thread name with the most work on the whole tape. */
static int outline_lead_comm(const struct tape *tape, const struct digest *digest,
			     struct outline *outline)
{
	size_t strings = strings_count(&tape->strings);
	_cleanup_free_ uint64_t *work = calloc(strings, sizeof(*work));
	uint32_t most = 0;

	if (!work)
		return -ENOMEM;
	for (size_t i = 0; i < digest->threads.count; i++) {
		const struct digest_thread *thread = &digest->threads.items[i];

		for (int kind = STACK_CLASS_USER; kind < STACK_CLASS_KINDS; kind++)
			work[thread->owner] += thread->n[kind];
		most = work[thread->owner] > work[most] ? thread->owner : most;
	}
	outline->leader.comm_samples = work[most];
	return outline_name(outline, tape_string(tape, most), &outline->leader.comm);
}

static int outline_lead_function(const struct tape *tape, const struct digest *digest,
				 struct outline *outline)
{
	size_t most = 0;

	for (size_t i = 1; i < digest->functions.count; i++)
		if (digest->functions.items[i].self > digest->functions.items[most].self)
			most = i;
	if (!digest->functions.count)
		return 0;
	outline->leader.function_samples = digest->functions.items[most].self;
	return outline_function(tape, &digest->functions.items[most], outline,
				&outline->leader.function);
}

int outline_make(const struct tape *tape, const struct digest *digest, struct outline *outline)
{
	int r;

	*outline = (struct outline){
		.sample_ns = stack_class_sample_ns(tape, digest->samples),
		.host_cpus = stack_class_host_cpus(tape),
	};
	r = outline_add_cpus(tape, digest, outline);
	if (r < 0)
		return r;
	r = outline_lead_comm(tape, digest, outline);
	return r < 0 ? r : outline_lead_function(tape, digest, outline);
}

static void outline_put_leader(const struct outline_leader *leader, struct buffer *bytes)
{
	buffer_varint(bytes, leader->comm);
	buffer_varint(bytes, leader->comm_samples);
	buffer_varint(bytes, leader->function);
	buffer_varint(bytes, leader->function_samples);
}

int outline_encode(const struct outline *outline, struct buffer *bytes)
{
	uint32_t next = 0;

	buffer_varint(bytes, outline->sample_ns);
	buffer_varint(bytes, outline->host_cpus);
	buffer_varint(bytes, outline->cpus.count);
	outline_put_leader(&outline->leader, bytes);
	for (size_t i = 0; i < outline->cpus.count; i++) {
		const struct outline_cpu *cpu = &outline->cpus.items[i];

		buffer_varint(bytes, cpu->cpu - next);
		next = cpu->cpu + 1;
		for (int kind = 0; kind < STACK_CLASS_KINDS; kind++)
			buffer_varint(bytes, cpu->n[kind]);
		outline_put_leader(&cpu->leader, bytes);
	}
	for (uint32_t i = 1; i < strings_count(&outline->names); i++) {
		const char *name = strings_at(&outline->names, i);

		buffer_bytes(bytes, name, strlen(name) + 1);
	}
	return buffer_failed(bytes) ? -ENOMEM : 0;
}

static uint32_t outline_take_number(struct reader *reader)
{
	uint64_t number = reader_varint(reader);

	if (number > UINT32_MAX)
		reader_fail(reader);
	return number;
}

static void outline_take_leader(struct reader *reader, struct outline_leader *leader)
{
	leader->comm = outline_take_number(reader);
	leader->comm_samples = outline_take_number(reader);
	leader->function = outline_take_number(reader);
	leader->function_samples = outline_take_number(reader);
}

static int outline_take_cpus(struct reader *reader, uint64_t count, struct outline *outline)
{
	uint64_t next = 0;

	/* each CPU takes at least a byte */
	if (count > reader_left(reader))
		return -EBADMSG;
	for (uint64_t i = 0; i < count; i++) {
		uint32_t step = outline_take_number(reader);
		struct outline_cpu cpu = { .cpu = next + step };

		for (int kind = 0; kind < STACK_CLASS_KINDS; kind++)
			cpu.n[kind] = outline_take_number(reader);
		outline_take_leader(reader, &cpu.leader);
		if (reader_failed(reader) || next + step >= TAPE_CPUS_MAX)
			return -EBADMSG;
		next += step + 1ull;
		if (array_push(&outline->cpus, cpu) < 0)
			return -ENOMEM;
	}
	return 0;
}

static bool outline_has(const struct outline *outline, const struct outline_leader *leader)
{
	uint32_t names = strings_count(&outline->names);

	return leader->comm < names && leader->function < names;
}

static bool outline_is_sound(const struct outline *outline)
{
	bool sound = outline_has(outline, &outline->leader);

	for (size_t i = 0; sound && i < outline->cpus.count; i++)
		sound = outline_has(outline, &outline->cpus.items[i].leader);
	return sound;
}

int outline_decode(const void *data, size_t size, struct outline *outline)
{
	struct reader reader;
	uint64_t cpus;
	int r = 0;

	*outline = (struct outline){ 0 };
	reader_init(&reader, data, size);
	outline->sample_ns = reader_varint(&reader);
	outline->host_cpus = outline_take_number(&reader);
	cpus = reader_varint(&reader);
	outline_take_leader(&reader, &outline->leader);
	if (reader_failed(&reader))
		return -EBADMSG;
	r = outline_take_cpus(&reader, cpus, outline);
	if (r < 0)
		return r;
	if (reader_left(&reader)) {
		size_t left = reader_left(&reader);

		r = strings_fill(&outline->names, reader_take(&reader, left), left);
	}
	return r < 0 ? r : outline_is_sound(outline) ? 0 : -EBADMSG;
}

struct stack_class outline_spent(const struct outline *outline)
{
	struct stack_class spent = { 0 };

	for (size_t i = 0; i < outline->cpus.count; i++)
		for (int kind = 0; kind < STACK_CLASS_KINDS; kind++)
			spent.ns[kind] += outline->sample_ns * outline->cpus.items[i].n[kind];
	return spent;
}
