/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The names of one tape as Flamescope's text. Each name is made once: a frame is a whole line, a
 * thread its comm and numbers. The text of a sample is then a sequence of copies. Call
 * tape_text_want() for each sample, then tape_text_make(), then put the samples.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "tape/tape.h"

/*
 * Flamescope fails with about 480 frames in a stack, so deeper stacks lose their outermost frames.
 */
#define TAPE_TEXT_FRAMES_MAX 478

struct tape_text {
	const struct tape *tape;
	/* The number of changed names. */
	uint64_t changed;
	/* The members below are private to tape-text.c. */
	struct buffer arena;
	struct piece *frames;
	/* " (PATH)" and the end of the line. */
	struct piece *modules;
	struct piece *threads;
	/* A line for each thread; NULL: no thread frames. */
	struct piece *thread_frames;
	/* Indexed by stack. */
	struct node *nodes;
	/* Flags of wanted stacks, indexed by stack. */
	uint8_t *wants;
	/* The number of frames of the deepest stack. */
	uint32_t deepest;
	/* At least one wanted thread is idle. */
	bool any_idle;
};

/*
 * With thread_frames, the thread is the outermost frame of each stack. The tape must outlive the
 * text. Returns 0 or -ENOMEM.
 */
int tape_text_init(struct tape_text *text, const struct tape *tape, bool thread_frames);
void tape_text_done(struct tape_text *text);
void tape_text_want(struct tape_text *text, const struct tape_sample *sample);
int tape_text_make(struct tape_text *text);

/* Returns true if no wanted sample has a truncated stack or is work on an idle CPU. */
bool tape_text_is_plain(const struct tape_text *text);
/*
 * Returns whether the sample is work on an idle CPU. Such a sample appears under the name idle-irq.
 */
bool tape_text_is_idle_irq(const struct tape_text *text, const struct tape_sample *sample);
bool tape_text_is_truncated(const struct tape_text *text, const struct tape_sample *sample);
/* Returns the least size of the sample's text. */
size_t tape_text_size(const struct tape_text *text, const struct tape_sample *sample);
/* Prefetches the data of a sample before it is put. */
void tape_text_prefetch(const struct tape_text *text, const struct tape_sample *sample);
/* Puts "COMM PID/TID ". */
void tape_text_put_thread(const struct tape_text *text, const struct tape_sample *sample,
			  struct buffer *to);
/* Puts a line for each frame, leaf first. */
void tape_text_put_stack(const struct tape_text *text, const struct tape_sample *sample,
			 struct buffer *to);
