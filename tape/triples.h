/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Numbers for triples of numbers, in the order of first use. A zeroed struct is empty. */

#include <stdint.h>

#include "base/array.h"
#include "base/table.h"

struct triple {
	uint32_t a, b, c;
};

struct triples {
	array_of(struct triple) list;
	struct table table;
};

void triples_done(struct triples *triples);
/* Finds or adds a triple. Returns 0 or -ENOMEM. */
int triples_add(struct triples *triples, struct triple triple, uint32_t *ret_number);
