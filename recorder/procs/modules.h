/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Everything that can be mapped: files, the kernel and its modules, and code that was made at run
 * time. Each module has one number, until modules_keep() changes the numbers. A tape has different
 * numbers. Number 0 is the unknown module; no mapping refers to it.
 */

#include "base/intern.h"
#include "recorder/procs/maps.h"
#include "recorder/perf/perf-record.h"
#include "tape/tape.h"

/*
 * Above these bounds, a process may add modules only within its equal share of MODULES_SURE_BYTES.
 * A process can choose the paths of its mappings, of up to 4 KB each.
 */
#define MODULES_MAX (96u << 10)
#define MODULES_TEXT_MAX (8u << 20)
#define MODULES_SURE_BYTES (4u << 20)
/*
 * Above this number of bytes, no process may add modules. Without it, processes that start, use
 * their shares and end would fill the memory, until tracker_forget_unused().
 */
#define MODULES_BYTES_MAX (32u << 20)

struct modules {
	struct strings paths;
	/* The modules; their paths are in `paths`. */
	array_of(struct tape_module) list;
	/* Paths with known build-ids; a build-id of size 0 means that the path has several. */
	array_of(struct tape_module) known_ids;
	struct table table;
	/* How often the numbers changed. */
	uint64_t generation;
	/* Modules were refused since modules_keep(). */
	bool refused;
};

/* The number that makes modules_keep() forget a module. */
#define MODULES_FORGOTTEN UINT32_MAX

/*
 * Prepares modules with module 0 only. Returns 0 or -ENOMEM. Call modules_done() also on failure.
 */
int modules_init(struct modules *modules);
void modules_done(struct modules *modules);

/*
 * Forgets the modules whose number is MODULES_FORGOTTEN, except module 0. `numbers` has an entry
 * for each module, and modules_keep() sets it to the new number. Returns 0; or -ENOMEM, and then
 * the modules stay as they were.
 */
int modules_keep(struct modules *modules, uint32_t *numbers);

/* Sets the module's path, and *ret_module to its number. Returns 0 or -ENOMEM. */
int modules_add(struct modules *modules, struct tape_module *module, const char *path,
		uint32_t *ret_module);
#define MODULES_NAME_MAX 64
/*
 * Sets *ret_module, except its path, to the module that a MMAP or MMAP2 record of a process maps.
 * Returns the path: that of the record, or a text in `name`.
 */
const char *modules_describe_mapping(const struct perf_record *record,
				     struct tape_module *ret_module, char name[MODULES_NAME_MAX]);
/*
 * Adds the module that a MMAP or MMAP2 record of a process maps, and sets the mapping's module. If
 * the memory is not a file, also sets the mapping's offset. `sure_bytes` is the rest of the
 * process's share. Returns 0, -ENOMEM, or -ENOSPC if the module is new and exceeds a bound.
 */
int modules_add_mapped(struct modules *modules, const struct perf_record *record, size_t sure_bytes,
		       struct mapping *mapping);
/* Returns the memory of all modules and their paths, and of one module with this path. */
size_t modules_bytes(const struct modules *modules);
size_t modules_row_bytes(const struct modules *modules, uint32_t at);

/*
 * Writes the name of a kernel mapping into `name`, as in /proc/kallsyms: "[kernel.kallsyms]_text"
 * becomes [kernel.kallsyms], and /lib/modules/.../nf-nat.ko.xz becomes [nf_nat].
 */
void modules_kernel_name(const char *path, char *name, size_t size);

/*
 * Sets the build-id of a path, for later mappings whose records lack a build-id. If a path gets two
 * different build-ids, such mappings get neither. Returns 0 or -ENOMEM.
 */
int modules_add_build_id(struct modules *modules, const char *path, const uint8_t *build_id,
			 size_t size);
