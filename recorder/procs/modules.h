/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What can be mapped: files, the kernel and its modules, code that was made at run time. Each
 * identity is there once, under a number that it keeps until others are forgotten; a tape has
 * numbers of its own. Number 0 is the unknown one, to which no mapping refers.
 */

#include "base/intern.h"
#include "recorder/procs/maps.h"
#include "recorder/perf/perf-record.h"
#include "tape/tape.h"

struct modules {
	struct strings paths;
	/* path is one of `paths` */
	array_of(struct tape_module) list;
	/* path and build-id; size 0: more than one */
	array_of(struct tape_module) known_ids;
	struct table table;
	/* how often numbers changed */
	uint64_t generation;
};

/* For modules_keep(): this one has no number any more. */
#define MODULES_FORGOTTEN UINT32_MAX

int modules_init(struct modules *modules);
void modules_done(struct modules *modules);

/*
 * Forgets all modules but 0 and those whose numbers are not MODULES_FORGOTTEN in `numbers`, which
 * has one for each and gets their new ones. 0, or -ENOMEM with the modules as they were.
 */
int modules_keep(struct modules *modules, uint32_t *numbers);

/* The number of a module; its path is set here. 0 or -ENOMEM. */
int modules_add(struct modules *modules, struct tape_module *module, const char *path,
		uint32_t *ret_module);
#define MODULES_NAME_MAX 64
/*
 * What a MMAP or MMAP2 record of a process maps, but for the number of its path, which comes back:
 * the record's, or one that is written into `name`.
 */
const char *modules_mapped(const struct perf_record *record, struct tape_module *ret_module,
			   char name[MODULES_NAME_MAX]);
/* That of what a MMAP or MMAP2 record of a process tells of. Sets the mapping's module, and its
 * offset where that is none in a file. */
int modules_add_mapped(struct modules *modules, const struct perf_record *record,
		       struct mapping *mapping);

/*
 * The name of what is mapped in the kernel: "[kernel.kallsyms]_text" is the kernel, and
 * /lib/modules/.../nf-nat.ko.xz is [nf_nat], whose names the kernel's own table has.
 */
void modules_kernel_name(const char *path, char *name, size_t size);

/*
 * The build-id of the files of that path, for mappings that come without one. Two different ones
 * for one path are none: which is meant cannot be told.
 */
int modules_know_build_id(struct modules *modules, const char *path, const uint8_t *build_id,
			  size_t size);
