/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Which segments retention removes: numbers in, a reason for each out. */

#include "base/array.h"
#include "store/retention.h"

struct choice_item {
	/* of the wall clock */
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t bytes;
	bool keep; /* in any case */
	bool pinned;
	bool overdue; /* beyond the limit of age */
	const char *why; /* it is removed; NULL when it stays */
};

/* What is pinned until a moment of the wall clock. */
struct choice_pin {
	uint64_t from_ns;
	uint64_t to_ns;
	uint64_t until_ns; /* UINT64_MAX: as long as pin_ns says */
};

struct choice_figures {
	uint64_t now_ns;
	uint64_t bytes; /* of all that is in the store */
	uint64_t free_bytes;
};

struct choice {
	array_of(struct choice_item) items; /* in the order of their ends */
	array_of(struct choice_pin) pins;
};

/* Sets `pinned`, `overdue` and `why` of each. */
void choice_make(struct choice *choice, const struct store_limits *limits,
	const struct choice_figures *figures);
