// SPDX-License-Identifier: GPL-2.0-only
#include "naming/known-files.h"

#include <stdlib.h>

/* known_file_age() keeps at least this number of addresses that the current tape lacks. */
#define ANSWERS_SPARE 4096

static void known_file_done(struct known_file *known)
{
	free(known->path);
	addresses_done(&known->answers);
}

void known_files_done(struct known_files *files)
{
	for (size_t i = 0; i < files->list.count; i++)
		known_file_done(&files->list.items[i]);
	array_done(&files->list);
	table_done(&files->table);
}

/* The identity of a file. */
struct known_key {
	const struct tape_module *module;
	const char *path;
};

static uint64_t known_hash(const struct tape_module *module, const char *path)
{
	return hash_numbers(module->inode, module->device) ^ hash_text(path, strlen(path)) ^
	       hash_text(module->build_id, sizeof(module->build_id));
}

static bool known_equal(const void *context, uint32_t at, const void *key)
{
	const struct known_file *known = &((const struct known_files *)context)->list.items[at];
	const struct tape_module *module = ((const struct known_key *)key)->module;

	return known->module.inode == module->inode && known->module.device == module->device &&
	       known->module.build_id_size == module->build_id_size &&
	       memcmp(known->module.build_id, module->build_id, TAPE_BUILD_ID_MAX) == 0 &&
	       strcmp(known->path, ((const struct known_key *)key)->path) == 0;
}

static int known_files_add(struct known_files *files, const struct tape_module *module,
			   const char *path)
{
	struct known_file fresh = { .path = strdup(path), .module = *module, .found = *module };

	if (!fresh.path || array_reserve(&files->list, files->list.count + 1) < 0 ||
	    table_add(&files->table, known_hash(module, path), files->list.count) < 0) {
		free(fresh.path);
		return -ENOMEM;
	}
	files->list.items[files->list.count++] = fresh;
	return 0;
}

int known_files_get(struct known_files *files, const struct tape_module *module, const char *path,
		    struct known_file **ret_file)
{
	const struct known_key key = { module, path };
	uint32_t at = table_find(&files->table, known_hash(module, path), known_equal, files, &key);
	int r = 0;

	if (at == TABLE_NONE) {
		at = files->list.count;
		r = known_files_add(files, module, path);
	}
	if (r < 0)
		return r;
	*ret_file = &files->list.items[at];
	return 0;
}

static bool known_file_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

void known_file_identify(struct known_file *known, const struct stat *about)
{
	if (known->about.st_ino && !known_file_is_same(about, &known->about))
		addresses_open(&known->answers);
	known->about = *about;
}

/*
 * Drops a module's addresses that the current tape does not use, if they are many, so that they do
 * not accumulate over months of recording.
 */
static int known_file_age(struct known_file *known, size_t used)
{
	known->used = known->searched = false;
	if (known->answers.list.count > 2 * used + ANSWERS_SPARE)
		return addresses_shrink(&known->answers);
	for (size_t i = 0; i < known->answers.list.count; i++)
		known->answers.list.items[i].used = false;
	return 0;
}

int known_files_drop_unused(struct known_files *files)
{
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < files->list.count; i++) {
		struct known_file *known = &files->list.items[i];
		size_t used = 0, open = known->answers.open;

		for (size_t k = 0; k < known->answers.list.count; k++)
			used += known->answers.list.items[k].used;
		if (known->used && open < known->answers.list.count) {
			if (known_file_age(known, used) < 0)
				r = -ENOMEM;
			files->list.items[kept++] = *known;
		} else {
			known_file_done(known);
		}
	}
	files->list.count = kept;
	table_clear(&files->table);
	for (size_t i = 0; i < kept; i++) {
		const struct known_file *known = &files->list.items[i];

		/* the table had at least as many entries before, so this does not need memory */
		table_add(&files->table, known_hash(&known->module, known->path), i);
	}
	return r;
}
