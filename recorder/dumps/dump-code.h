/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds the code at an address of a process, for walks. Remembers what it found: the callers of a
 * stack go through a few mappings, and the next sample of the program through the same ones.
 *
 * A remembered mapping belongs to one version of a process's mappings. Its table may end with a
 * turn of the unwind tables, so dump_codes_forget() must come with each turn.
 */

#include "recorder/files/unwind-tables.h"
#include "recorder/procs/tracker.h"

#define DUMP_CODES 512

struct dump_code_entry {
	/* The version of the mappings + 1; 0: empty. */
	uint64_t version;
	struct stack_code code;
};

struct dump_codes {
	/* Borrowed. */
	struct tracker *tracker;
	struct unwind_tables *tables;
	struct dump_code_entry entries[DUMP_CODES];
};

void dump_codes_forget(struct dump_codes *codes);

/* The context of dump_code_find(). Stays valid while records are applied. */
struct dump_code {
	struct dump_codes *codes;
	int32_t pid;
};
/* The callback of a `struct stack_walk`. */
bool dump_code_find(void *code, uint64_t address, struct stack_code *ret_code);
