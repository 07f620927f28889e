// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stacks stay as they are in the tape: a trie of callers, and a leaf for each sample. Each wanted
 * node stores the number of frames and bytes of itself and all its callers. This code does not keep
 * the text of whole stacks: most stacks of a window differ, and copying 24 short lines takes about
 * as long as reading a whole text from memory.
 */
#include "flamescope-export/tape-text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "flamescope-export/flamescope.h"
#include "flamescope-export/idle.h"
#include "flamescope-export/sanitise.h"

#define IDLE_IRQ "idle-irq"
#define THREAD_FRAME "\t               0 "
#define THREAD_FRAME_END " (thread)\n"
#define TRUNCATED_LINE "\t               0 [cut] ([unknown])\n"
#define NO_STACK_LINE "\t               0 [unknown] ([unknown])\n"

/*
 * Most lines are short. The code copies this number of bytes at once, and the next line overwrites
 * those behind the end of a short line.
 */
#define LINE_BYTES 128

/* A text in the arena, never empty. */
struct piece {
	size_t start;
	uint32_t size;
	/* Only for threads: the size of the comm. */
	uint32_t comm_size;
	/* Only for leaves of idle threads: a set of enum idle_mark. */
	uint8_t marks;
	/* Only for modules: the text differs from the path. */
	bool changed;
	/* Only for threads: the thread is an idle task. */
	bool idle;
	/* Only for frames and threads: a set of the flags below. */
	uint8_t wants;
};

struct node {
	uint64_t bytes;
	uint32_t frames;
	uint8_t marks;
};

/*
 * Flags of wanted stacks, frames and threads. The flags of stacks are separate from the nodes, so
 * that the accesses for all samples touch less memory.
 */
#define WANTED 1
#define WANTED_IDLE 2 /* for an idle thread, whose stacks need marks */

static void *array_zeroed(size_t count, size_t size)
{
	return calloc(MAX(count, (size_t)1), size);
}

int tape_text_init(struct tape_text *text, const struct tape *tape, bool thread_frames)
{
	*text = (struct tape_text){ .tape = tape };
	text->frames = array_zeroed(tape->frames.count, sizeof(*text->frames));
	text->modules = array_zeroed(tape->modules.count, sizeof(*text->modules));
	text->threads = array_zeroed(tape->threads.count, sizeof(*text->threads));
	text->nodes = array_zeroed(tape->stacks.count, sizeof(*text->nodes));
	text->wants = array_zeroed(tape->stacks.count, sizeof(*text->wants));
	if (thread_frames) {
		text->thread_frames =
			array_zeroed(tape->threads.count, sizeof(*text->thread_frames));
		if (!text->thread_frames)
			return -ENOMEM;
	}
	for (size_t i = 0; text->threads && i < tape->threads.count; i++) {
		const struct tape_thread *thread = &tape->threads.items[i];

		text->threads[i].idle =
			thread->tid == 0 && idle_comm(tape_string(tape, thread->comm));
	}
	return text->frames && text->modules && text->threads && text->nodes && text->wants
		       ? 0
		       : -ENOMEM;
}

void tape_text_done(struct tape_text *text)
{
	buffer_done(&text->arena);
	free(take_ptr(text->frames));
	free(take_ptr(text->modules));
	free(take_ptr(text->threads));
	free(take_ptr(text->thread_frames));
	free(take_ptr(text->nodes));
	free(take_ptr(text->wants));
}

/*
 * Sanitises "tid TID COMM" as one name, because a comm whose start is harmless may be harmful
 * behind a number.
 */
static void make_thread_frame(struct tape_text *text, uint32_t id)
{
	const struct tape_thread *thread = &text->tape->threads.items[id];
	struct piece *piece = &text->thread_frames[id];
	_cleanup_(buffer_done) struct buffer name = { 0 };

	buffer_printf(&name, "tid %d %s", thread->tid, tape_string(text->tape, thread->comm));
	buffer_u8(&name, 0);
	piece->start = text->arena.size;
	buffer_text(&text->arena, THREAD_FRAME);
	if (buffer_failed(&name))
		text->arena.failed = true;
	else
		sanitise_put_thread(&text->arena, (const char *)name.data, thread->tid);
	buffer_text(&text->arena, THREAD_FRAME_END);
	piece->size = text->arena.size - piece->start;
}

static void tape_text_make_thread(struct tape_text *text, uint32_t id)
{
	const struct tape_thread *thread = &text->tape->threads.items[id];
	struct piece *piece = &text->threads[id];

	text->any_idle |= piece->idle;
	piece->start = text->arena.size;
	text->changed += flamescope_put_comm(&text->arena, tape_string(text->tape, thread->comm),
					     thread->tid);
	piece->comm_size = text->arena.size - piece->start;
	/*
	 * a thread that was exiting has the ID -1, but readers do not accept a sign before a number
	 */
	buffer_printf(&text->arena, " %5u/%-5u ", thread->pid, thread->tid);
	piece->size = text->arena.size - piece->start;
	if (text->thread_frames)
		make_thread_frame(text, id);
}

static const struct piece *make_module(struct tape_text *text, uint32_t id)
{
	const struct tape_module *module = &text->tape->modules.items[id];
	struct piece *piece = &text->modules[id];

	if (piece->size)
		return piece;
	piece->start = text->arena.size;
	buffer_text(&text->arena, " (");
	piece->changed = flamescope_put_module(&text->arena, tape_string(text->tape, module->path));
	buffer_text(&text->arena, ")\n");
	piece->size = text->arena.size - piece->start;
	return piece;
}

/* Reserves memory first, because reserving may move the source. */
static void put_copy(struct buffer *arena, const struct piece *piece)
{
	uint8_t *at = buffer_room(arena, piece->size);

	if (!at)
		return;
	memcpy(at, arena->data + piece->start, piece->size);
	arena->size += piece->size;
}

/*
 * Writes a number that ends at `end`, padded on the left with blanks. Returns a pointer to its
 * first byte.
 */
static char *tape_text_put_hex(char *end, uint64_t value, size_t width)
{
	char *at = end;

	do {
		*--at = "0123456789abcdef"[value % 16];
		value /= 16;
	} while (value);
	while (at > end - width)
		*--at = ' ';
	return at;
}

/* Puts "\t", the address, " ". */
static void put_address(struct buffer *text, uint64_t address)
{
	char line[18];

	line[0] = '\t';
	tape_text_put_hex(line + 17, address, 16);
	line[17] = ' ';
	buffer_bytes(text, line, sizeof(line));
}

/* Puts "+0x" and the offset. */
static void put_offset(struct buffer *text, uint64_t offset)
{
	char line[19], *end = line + sizeof(line), *at = tape_text_put_hex(end, offset, 1) - 3;

	memcpy(at, "+0x", 3);
	buffer_bytes(text, at, end - at);
}

static void tape_text_make_frame(struct tape_text *text, uint32_t id)
{
	const struct tape_frame *frame = &text->tape->frames.items[id];
	struct piece *piece = &text->frames[id];
	const struct piece *module;
	bool changed;

	module = make_module(text, frame->module);
	piece->start = text->arena.size;
	put_address(&text->arena, frame->address);
	changed = flamescope_put_symbol(&text->arena, tape_string(text->tape, frame->symbol));
	if (frame->symbol)
		put_offset(&text->arena, frame->offset);
	put_copy(&text->arena, module);
	text->changed += changed | module->changed;
	piece->size = text->arena.size - piece->start;
}

void tape_text_want(struct tape_text *text, const struct tape_sample *sample)
{
	uint8_t wanted = text->threads[sample->thread].idle ? WANTED | WANTED_IDLE : WANTED;

	text->threads[sample->thread].wants = WANTED;
	text->frames[sample->frame].wants |= wanted;
	text->wants[sample->stack] |= wanted;
}

static void make_threads(struct tape_text *text)
{
	for (size_t id = 0; id < text->tape->threads.count; id++)
		if (text->threads[id].wants)
			tape_text_make_thread(text, id);
}

/*
 * Marks the callers of wanted stacks. Callers have lower numbers than their callees, so one pass
 * from the end suffices.
 */
static void want_callers(struct tape_text *text)
{
	for (size_t id = text->tape->stacks.count; id-- > 1;) {
		const struct tape_stack *stack = &text->tape->stacks.items[id];

		if (!text->wants[id])
			continue;
		text->wants[stack->parent] |= text->wants[id];
		text->frames[stack->frame].wants |= WANTED;
	}
}

/*
 * Firefox and Perfetto drop a sample without a line, so make_no_stack() makes one for the empty
 * stack.
 */
static void make_no_stack(struct tape_text *text, uint32_t id)
{
	struct piece *piece = &text->frames[id];

	piece->start = text->arena.size;
	buffer_text(&text->arena, NO_STACK_LINE);
	piece->size = text->arena.size - piece->start;
}

/*
 * Makes frames in the order of their numbers, because that puts the texts of one function's frames
 * side by side.
 */
static void make_frames(struct tape_text *text)
{
	for (size_t id = 0; id < text->tape->frames.count; id++) {
		struct piece *piece = &text->frames[id];

		if (piece->wants && tape_is_no_stack(text->tape, id))
			make_no_stack(text, id);
		else if (piece->wants)
			tape_text_make_frame(text, id);
		if (piece->wants & WANTED_IDLE)
			piece->marks = idle_marks(
				tape_string(text->tape, text->tape->frames.items[id].symbol));
	}
}

static void make_node(struct tape_text *text, size_t id)
{
	const struct tape_stack *stack = &text->tape->stacks.items[id];
	const struct node *parent = &text->nodes[stack->parent];
	struct node *node = &text->nodes[id];

	node->bytes = parent->bytes + text->frames[stack->frame].size;
	node->frames = parent->frames + 1;
	text->deepest = MAX(text->deepest, node->frames + 1);
	if (text->wants[id] & WANTED_IDLE) {
		uint32_t symbol = text->tape->frames.items[stack->frame].symbol;

		node->marks = parent->marks | idle_marks(tape_string(text->tape, symbol));
	}
}

int tape_text_make(struct tape_text *text)
{
	make_threads(text);
	want_callers(text);
	make_frames(text);
	for (size_t id = 1; id < text->tape->stacks.count; id++)
		if (text->wants[id])
			make_node(text, id);
	buffer_room(&text->arena, LINE_BYTES); /* tape_text_put_line() reads beyond the last line */
	return buffer_failed(&text->arena) ? -ENOMEM : 0;
}

bool tape_text_is_idle_irq(const struct tape_text *text, const struct tape_sample *sample)
{
	return text->threads[sample->thread].idle &&
	       idle_hides_work(text->nodes[sample->stack].marks |
			       text->frames[sample->frame].marks);
}

/* Returns the largest number of frames of a stack, without the thread's frame. */
static uint32_t frames_max(const struct tape_text *text)
{
	return TAPE_TEXT_FRAMES_MAX - (text->thread_frames != NULL);
}

bool tape_text_is_plain(const struct tape_text *text)
{
	return !text->any_idle && text->deepest <= frames_max(text);
}

bool tape_text_is_truncated(const struct tape_text *text, const struct tape_sample *sample)
{
	return text->deepest > frames_max(text) &&
	       text->nodes[sample->stack].frames + 1 > frames_max(text);
}

/* Returns the size of the text of all frames. */
static size_t stack_size(const struct tape_text *text, const struct tape_sample *sample)
{
	return text->nodes[sample->stack].bytes + text->frames[sample->frame].size;
}

size_t tape_text_size(const struct tape_text *text, const struct tape_sample *sample)
{
	return text->threads[sample->thread].size +
	       (tape_text_is_truncated(text, sample) ? 0 : stack_size(text, sample));
}

void tape_text_prefetch(const struct tape_text *text, const struct tape_sample *sample)
{
	if (!text->tape)
		return;
	__builtin_prefetch(&text->nodes[sample->stack]);
	__builtin_prefetch(&text->wants[sample->stack]);
	__builtin_prefetch(&text->tape->stacks.items[sample->stack]);
	__builtin_prefetch(&text->frames[sample->frame]);
}

void tape_text_put_thread(const struct tape_text *text, const struct tape_sample *sample,
			  struct buffer *to)
{
	const struct piece *piece = &text->threads[sample->thread];
	const uint8_t *at = text->arena.data + piece->start;

	if (tape_text_is_idle_irq(text, sample)) {
		buffer_text(to, IDLE_IRQ);
		buffer_bytes(to, at + piece->comm_size, piece->size - piece->comm_size);
	} else {
		buffer_bytes(to, at, piece->size);
	}
}

static uint8_t *tape_text_put_line(const struct tape_text *text, const struct piece *piece,
				   uint8_t *at)
{
	const uint8_t *line = text->arena.data + piece->start;

	if (__builtin_expect(piece->size <= LINE_BYTES, true))
		memcpy(at, line, LINE_BYTES);
	else
		memcpy(at, line, piece->size);
	return at + piece->size;
}

/*
 * Puts the thread's frame. Flamescope also searches this frame for the names of its idle threads.
 */
static void put_thread_frame(const struct tape_text *text, const struct tape_sample *sample,
			     struct buffer *to)
{
	const struct piece *piece = &text->thread_frames[sample->thread];

	if (tape_text_is_idle_irq(text, sample))
		buffer_printf(to, THREAD_FRAME "tid %d " IDLE_IRQ THREAD_FRAME_END,
			      text->tape->threads.items[sample->thread].tid);
	else
		buffer_bytes(to, text->arena.data + piece->start, piece->size);
}

/*
 * Prefetches the lines of a stack before copying, because all lines together exceed the near
 * caches.
 */
void tape_text_put_stack(const struct tape_text *text, const struct tape_sample *sample,
			 struct buffer *to)
{
	const struct tape_stack *stacks = text->tape->stacks.items;
	uint8_t *start = buffer_room(to, stack_size(text, sample) + LINE_BYTES), *at = start;
	const struct piece *lines[TAPE_TEXT_FRAMES_MAX];
	uint32_t id = sample->stack, count = 0;

	if (!start)
		return;
	lines[count++] = &text->frames[sample->frame];
	for (uint32_t left = MIN(text->nodes[id].frames, frames_max(text) - 1); left; left--) {
		lines[count++] = &text->frames[stacks[id].frame];
		__builtin_prefetch(lines[count - 1]);
		id = stacks[id].parent;
	}
	for (uint32_t i = 0; i < count; i++) {
		__builtin_prefetch(text->arena.data + lines[i]->start);
		__builtin_prefetch(text->arena.data + lines[i]->start + 64);
	}
	for (uint32_t i = 0; i < count; i++)
		at = tape_text_put_line(text, lines[i], at);
	to->size += at - start;
	if (tape_text_is_truncated(text, sample))
		buffer_text(to, TRUNCATED_LINE);
	if (text->thread_frames)
		put_thread_frame(text, sample, to);
}
