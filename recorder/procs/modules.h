/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Everything that can be mapped: files, the kernel and its modules, and code that was made at run
 * time. Each module has one number, until modules_keep() changes the numbers. A tape has numbers of
 * its own. Number 0 is the unknown module; no mapping refers to it.
 */

#include "base/intern.h"
#include "recorder/procs/maps.h"
#include "recorder/perf/perf-record.h"
#include "tape/tape.h"

/*
 * Above these bounds, only processes with few mappings may add modules; a quarter above them, no
 * process may. A process chooses the names of what it maps: 4 KB each.
 */
#define MODULES_MAX (96u << 10)
#define MODULES_TEXT_MAX (12u << 20)

struct modules {
	struct strings paths;
	/* The path of each is in `paths`. */
	array_of(struct tape_module) list;
	/* Path and build-id; a build-id of size 0 means that several are known. */
	array_of(struct tape_module) known_ids;
	struct table table;
	/* How often the numbers changed. */
	uint64_t generation;
};

/* Marks a module to forget, in the numbers for modules_keep(). */
#define MODULES_FORGOTTEN UINT32_MAX

/*
 * Prepares modules with module 0 only. Returns 0 or -ENOMEM. Call modules_done() also on failure.
 */
int modules_init(struct modules *modules);
void modules_done(struct modules *modules);

/*
 * Forgets the modules whose number is MODULES_FORGOTTEN, except module 0. `numbers` has an entry
 * for each module and receives the new numbers. Returns 0, or -ENOMEM and leaves the modules as
 * they were.
 */
int modules_keep(struct modules *modules, uint32_t *numbers);

/* Sets the module's path, and *ret_module to its number. Returns 0 or -ENOMEM. */
int modules_add(struct modules *modules, struct tape_module *module, const char *path,
		uint32_t *ret_module);
#define MODULES_NAME_MAX 64
/*
 * Describes the module that a MMAP or MMAP2 record of a process maps, except for its path. Returns
 * the path: that of the record, or one that is written into `name`.
 */
const char *modules_describe_mapping(const struct perf_record *record,
				     struct tape_module *ret_module, char name[MODULES_NAME_MAX]);
/*
 * Adds the module that a MMAP or MMAP2 record of a process maps, and sets the mapping's module.
 * Sets its offset, too, if the memory is not a file. `few`: the process has few mappings. Returns
 * 0, -ENOMEM, or -ENOSPC if the module is new and there are too many.
 */
int modules_add_mapped(struct modules *modules, const struct perf_record *record, bool few,
		       struct mapping *mapping);

/*
 * Writes the name of a kernel mapping: "[kernel.kallsyms]_text" becomes [kernel.kallsyms], and
 * /lib/modules/.../nf-nat.ko.xz becomes [nf_nat], as in /proc/kallsyms.
 */
void modules_kernel_name(const char *path, char *name, size_t size);

/*
 * Sets the build-id for mappings of a path that come without one. If a path gets two different
 * build-ids, neither is used. Returns 0 or -ENOMEM.
 */
int modules_add_build_id(struct modules *modules, const char *path, const uint8_t *build_id,
			 size_t size);
