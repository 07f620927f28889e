/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The position of a host that ships: which segments and incidents of its store a server has. A file
 * of its own keeps it, because the exporter may only read the store. A state is replaced as a
 * whole, after the server has acknowledged all batches of a round.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"

/* A set of numbers, in ascending order. */
struct ship_marks {
	array_of(uint64_t) list;
};

/* A time around incidents, whose samples are still to be shipped. */
struct ship_window {
	uint64_t from_ns;
	uint64_t to_ns;
};

struct ship_state {
	/* A hash of the server's URL: another server has nothing yet. */
	uint64_t server;
	/* The number of the next round, and of the next batch. */
	uint64_t round;
	uint64_t batch;
	/* The latest end of a segment that was shipped. */
	uint64_t shipped_to_ns;
	/* The last day whose facts were shipped. */
	uint64_t facts_day;
	/* The shipped segments and incidents that the store still has. */
	struct ship_marks segments, incidents;
	array_of(struct ship_window) windows;
};

void ship_state_done(struct ship_state *state);
void ship_state_encode(const struct ship_state *state, struct buffer *bytes);
/* Returns 0, -ENOMEM, or -EBADMSG for bytes that are not a state. */
int ship_state_decode(const void *data, size_t size, struct ship_state *ret_state);

bool ship_marks_has(const struct ship_marks *marks, uint64_t mark);
/* Adds marks in any order; call ship_marks_sort() after the last one. Returns 0 or -ENOMEM. */
int ship_marks_add(struct ship_marks *marks, uint64_t mark);
/* Sorts the marks, each once. */
void ship_marks_sort(struct ship_marks *marks);
/* Adds a window, or widens one that it touches. Returns 0 or -ENOMEM. */
int ship_state_add_window(struct ship_state *state, uint64_t from_ns, uint64_t to_ns);
