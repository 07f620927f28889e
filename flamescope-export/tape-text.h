/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The names of one tape as Flamescope's text, each made once: a frame is a whole line, a thread its
 * comm and numbers. Samples are then put together by copying. Say which samples will be wanted
 * (tape_text_want), make the text (tape_text_make), then put them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "tape/tape.h"

/* With 480 frames or so in a stack Flamescope answers with an error: the outermost ones are cut
 * off. */
#define TAPE_TEXT_FRAMES_MAX 478

struct tape_text {
	const struct tape *tape;
	/* names that are not as they were */
	uint64_t changed;
	/* the rest is tape-text.c's */
	struct buffer arena;
	struct piece *frames;
	/* " (PATH)" and the end of the line */
	struct piece *modules;
	struct piece *threads;
	/* a line for each; NULL: none are wanted */
	struct piece *thread_frames;
	/* by stack */
	struct node *nodes;
	/* by stack */
	uint8_t *wants;
	/* frames of one stack */
	uint32_t deepest;
	/* of the threads that are wanted */
	bool any_idle;
};

/* With thread_frames the thread stands as the outermost frame in each stack. 0 or -ENOMEM. The tape
 * is borrowed. */
int tape_text_init(struct tape_text *text, const struct tape *tape, bool thread_frames);
void tape_text_done(struct tape_text *text);
void tape_text_want(struct tape_text *text, const struct tape_sample *sample);
int tape_text_make(struct tape_text *text);

/* Is there no sample that is cut, or work on an idle CPU? */
bool tape_text_is_plain(const struct tape_text *text);
/* Is it work on an idle CPU, which gets a name of its own? */
bool tape_text_is_idle_irq(const struct tape_text *text, const struct tape_sample *sample);
bool tape_text_is_truncated(const struct tape_text *text, const struct tape_sample *sample);
/* Of what is put of it, at least. */
size_t tape_text_size(const struct tape_text *text, const struct tape_sample *sample);
/* That a sample will be put soon: gets what it needs into the caches. */
void tape_text_prefetch(const struct tape_text *text, const struct tape_sample *sample);
/* "COMM PID/TID " */
void tape_text_put_thread(const struct tape_text *text, const struct tape_sample *sample,
			  struct buffer *to);
/* A line a frame, leaf first. */
void tape_text_put_stack(const struct tape_text *text, const struct tape_sample *sample,
			 struct buffer *to);
