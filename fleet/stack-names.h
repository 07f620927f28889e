/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The identity of the stacks of one tape, the same on all hosts: a hash of the names, and for
 * single samples of the addresses, too. Each name is hashed with its length, so ["ab", "c"] and
 * ["a", "bc"] differ.
 */

#include <stdbool.h>
#include <stdint.h>

#include "fleet/batch-rows.h"
#include "tape/tape.h"

enum stack_names_of {
	/* Function and module of each frame. */
	STACK_NAMES_FUNCTIONS,
	/* Also the address and the offset: what a line of Flamescope's text has. */
	STACK_NAMES_LINES,
};

struct stack_names {
	const struct tape *tape;
	enum stack_names_of of;
	/* By frame, and by stack. */
	uint64_t *frames;
	uint64_t *stacks;
};

/* The tape must outlive the names. Returns 0 or -ENOMEM. */
int stack_names_init(struct stack_names *names, const struct tape *tape, enum stack_names_of of);
void stack_names_done(struct stack_names *names);
/* Returns the hash of a leaf and its callers; never 0. */
uint64_t stack_names_hash(const struct stack_names *names, uint32_t stack, uint32_t frame);
/* Puts a row of the table of stacks. */
void stack_names_put(const struct stack_names *names, uint32_t stack, uint32_t frame, uint32_t day,
		     struct batch_rows *rows);

/*
 * The stacks that this process has put into batches since the last midnight in UTC. It forgets all
 * of them when it is full.
 */
struct sent_stacks {
	uint64_t *slots;
	size_t count;
	uint32_t day;
};
void sent_stacks_done(struct sent_stacks *sent);
/* Notes a stack of a day. Returns true if it was not noted before, or without memory. */
bool sent_stacks_add(struct sent_stacks *sent, uint64_t stack, uint32_t day);
