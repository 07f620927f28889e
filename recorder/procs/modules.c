// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/procs/modules.h"

#include <stdio.h>

int modules_init(struct modules *modules)
{
	*modules = (struct modules){ 0 };
	return array_push(&modules->list, (struct tape_module){ 0 });
}

void modules_done(struct modules *modules)
{
	strings_done(&modules->paths);
	array_done(&modules->list);
	array_done(&modules->known_ids);
	table_done(&modules->table);
}

static bool modules_module_equal(const void *context, uint32_t at, const void *key)
{
	const struct tape_module *a = &((const struct modules *)context)->list.items[at], *b = key;

	return a->path == b->path && a->kind == b->kind && a->device == b->device &&
	       a->inode == b->inode && a->build_id_size == b->build_id_size &&
	       memcmp(a->build_id, b->build_id, sizeof(a->build_id)) == 0;
}

static struct tape_module *modules_known_build_id(struct modules *modules, uint32_t path)
{
	for (size_t i = 0; i < modules->known_ids.count; i++)
		if (modules->known_ids.items[i].path == path)
			return &modules->known_ids.items[i];
	return NULL;
}

int modules_add_build_id(struct modules *modules, const char *path, const uint8_t *build_id,
			 size_t size)
{
	struct tape_module row = { .build_id_size = size }, *there;
	int r = strings_add(&modules->paths, path, strlen(path), &row.path);

	if (r < 0)
		return r;
	memcpy(row.build_id, build_id, size);
	there = modules_known_build_id(modules, row.path);
	if (!there)
		return array_push(&modules->known_ids, row);
	if (there->build_id_size != size || memcmp(there->build_id, build_id, size) != 0)
		there->build_id_size = 0;
	return 0;
}

/*
 * Sets the known build-id of the path. It identifies a file better than device and inode, which a
 * later file may reuse.
 */
static void modules_use_known_build_id(struct modules *modules, struct tape_module *module)
{
	const struct tape_module *known;

	if (module->build_id_size || !modules->known_ids.count)
		return;
	known = modules_known_build_id(modules, module->path);
	if (!known || !known->build_id_size)
		return;
	module->build_id_size = known->build_id_size;
	memcpy(module->build_id, known->build_id, sizeof(module->build_id));
	module->device = module->inode = 0;
}

static uint64_t modules_hash_module(const struct tape_module *module)
{
	return hash_numbers(hash_numbers(module->path, module->inode), module->device) ^
	       hash_text(module->build_id, sizeof(module->build_id));
}

/* Finds or adds a module whose path is in `paths`, and sets *ret_module to its number. */
static int modules_add_row(struct modules *modules, const struct tape_module *module,
			   uint32_t *ret_module)
{
	uint64_t hash = modules_hash_module(module);
	uint32_t at = table_find(&modules->table, hash, modules_module_equal, modules, module);

	if (at == TABLE_NONE) {
		at = modules->list.count;
		if (array_reserve(&modules->list, at + 1) < 0 ||
		    table_add(&modules->table, hash, at) < 0)
			return -ENOMEM;
		modules->list.items[modules->list.count++] = *module;
	}
	*ret_module = at;
	return 0;
}

int modules_add(struct modules *modules, struct tape_module *module, const char *path,
		uint32_t *ret_module)
{
	int r = strings_add(&modules->paths, path, strlen(path), &module->path);

	if (r < 0)
		return r;
	modules_use_known_build_id(modules, module);
	return modules_add_row(modules, module, ret_module);
}

/* Copies a row of `from`, and adds its path to `modules`. */
static int modules_take_row(struct modules *modules, const struct modules *from,
			    const struct tape_module *row, struct tape_module *ret_row)
{
	const char *path = strings_at(&from->paths, row->path);

	*ret_row = *row;
	return strings_add(&modules->paths, path, strlen(path), &ret_row->path);
}

static int modules_copy_kept(struct modules *kept, const struct modules *from, uint32_t *numbers)
{
	struct tape_module row;
	int r = modules_init(kept);

	for (size_t i = 0; r == 0 && i < from->known_ids.count; i++) {
		r = modules_take_row(kept, from, &from->known_ids.items[i], &row);
		if (r < 0)
			return r;
		r = array_push(&kept->known_ids, row);
	}
	for (size_t i = 1; r == 0 && i < from->list.count; i++) {
		if (numbers[i] == MODULES_FORGOTTEN)
			continue;
		r = modules_take_row(kept, from, &from->list.items[i], &row);
		if (r < 0)
			return r;
		r = modules_add_row(kept, &row, &numbers[i]);
	}
	return r;
}

int modules_keep(struct modules *modules, uint32_t *numbers)
{
	struct modules kept;
	int r = modules_copy_kept(&kept, modules, numbers);

	if (r < 0) {
		modules_done(&kept);
		return r;
	}
	kept.generation = modules->generation + 1;
	modules_done(modules);
	*modules = kept;
	return 0;
}

static bool modules_starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/*
 * Returns whether the path names memory without a file. Its code was made at run time, and only a
 * perf map can name it.
 */
static bool modules_is_anonymous(const char *path)
{
	return !*path || modules_starts_with(path, "//anon") ||
	       modules_starts_with(path, "/dev/zero") ||
	       modules_starts_with(path, "/anon_hugepage") || modules_starts_with(path, "[anon") ||
	       modules_starts_with(path, "[stack") || modules_starts_with(path, "[heap]") ||
	       modules_starts_with(path, "/SYSV");
}

const char *modules_describe_mapping(const struct perf_record *record,
				     struct tape_module *ret_module, char name[MODULES_NAME_MAX])
{
	struct tape_module module = { .kind = TAPE_MODULE_ELF };
	const char *path = record->mmap.path;

	if (modules_is_anonymous(path)) {
		snprintf(name, MODULES_NAME_MAX, "/tmp/perf-%d.map", record->mmap.pid);
		path = name;
		module.kind = TAPE_MODULE_JIT;
	} else if (strcmp(path, "[vdso]") == 0) {
		module.kind = TAPE_MODULE_VDSO;
	} else if (path[0] == '[') {
		/* [vsyscall], [uprobes]: neither a file nor a perf map names their code. */
		module.kind = TAPE_MODULE_JIT;
	} else {
		module.device = record->mmap.device;
		module.inode = record->mmap.inode;
		module.build_id_size = record->mmap.build_id_size;
		memcpy(module.build_id, record->mmap.build_id, sizeof(module.build_id));
	}
	*ret_module = module;
	return path;
}

size_t modules_bytes(const struct modules *modules)
{
	return modules->list.count * sizeof(*modules->list.items) + modules->paths.text.size;
}

size_t modules_row_bytes(const struct modules *modules, uint32_t at)
{
	const struct tape_module *row = &modules->list.items[at];

	return sizeof(*row) + strlen(strings_at(&modules->paths, row->path)) + 1;
}

/* Returns whether the bounds allow the module, whose path is not set yet. */
static bool modules_has_room(struct modules *modules, const struct tape_module *module,
			     const char *path, size_t sure_bytes)
{
	size_t size = strlen(path), bytes = sizeof(*module) + size + 1;
	struct tape_module known = *module;

	if (modules->list.count < MODULES_MAX && modules->paths.text.size + size < MODULES_TEXT_MAX)
		return true;
	if (bytes <= sure_bytes && modules_bytes(modules) + bytes < MODULES_BYTES_MAX)
		return true;
	known.path = strings_find(&modules->paths, path, size);
	modules_use_known_build_id(modules, &known);
	return known.path && table_find(&modules->table, modules_hash_module(&known),
					modules_module_equal, modules, &known) != TABLE_NONE;
}

int modules_add_mapped(struct modules *modules, const struct perf_record *record, size_t sure_bytes,
		       struct mapping *mapping)
{
	struct tape_module module;
	char name[MODULES_NAME_MAX];
	const char *path = modules_describe_mapping(record, &module, name);

	if (!modules_has_room(modules, &module, path, sure_bytes)) {
		modules->refused = true;
		return -ENOSPC;
	}
	if (module.kind == TAPE_MODULE_JIT)
		mapping->offset = mapping->start;
	else if (module.kind == TAPE_MODULE_VDSO)
		mapping->offset = 0;
	return modules_add(modules, &module, path, &mapping->module);
}

void modules_kernel_name(const char *path, char *name, size_t size)
{
	const char *file = strrchr(path, '/'), *suffix = file ? strstr(file, ".ko") : NULL;
	size_t used;

	if (modules_starts_with(path, "[kernel.kallsyms]")) {
		snprintf(name, size, "[kernel.kallsyms]");
	} else if (suffix) {
		used = snprintf(name, size, "[%.*s]", (int)(suffix - file - 1), file + 1);
		for (size_t i = 0; i < MIN(used, size - 1); i++)
			if (name[i] == '-')
				name[i] = '_';
	} else {
		snprintf(name, size, "%s", path);
	}
}
