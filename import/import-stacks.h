/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Walks the copies of user stacks in a file (perf record --call-graph dwarf). The unwind tables
 * come from the files on this host that the sampled programs had mapped.
 */

#include "import/importer.h"
#include "recorder/dumps/dumps.h"
#include "recorder/files/unwind-tables.h"

/* Both are NULL if the file has no copies. */
struct import_stacks {
	struct unwind_tables *tables;
	/* For the options of the pipeline. */
	struct dumps *dumps;
};

/*
 * Prepares the walks of a file. `tracker` must outlive `stacks`. Returns 0 or a negative errno;
 * call import_stacks_done() in any case.
 */
int import_stacks_init(struct import_stacks *stacks, const struct import_file *file,
		       const struct import_options *options, struct tracker *tracker);
void import_stacks_done(struct import_stacks *stacks);
