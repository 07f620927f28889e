// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/files/dead-files.h"

#include "base/clock.h"

#define DEAD_NS (60 * NSEC_PER_SEC)
/*
 * A file system is dead if one owner has this number of dead files on it, or if this number of
 * owners have one.
 */
#define DEAD_FILES 2

static bool dead_files_is_first_of_owner(const struct dead_files *dead, size_t at, uint64_t now)
{
	for (size_t i = 0; i < at; i++)
		if (dead->items[i].device == dead->items[at].device &&
		    dead->items[i].owner == dead->items[at].owner && dead->items[i].until_ns > now)
			return false;
	return true;
}

bool dead_files_contain(const struct dead_files *dead, const struct dead_file *file, uint64_t now)
{
	unsigned int files = 0, owners = 0;

	for (size_t i = 0; file->device && i < DEAD_FILES_MAX; i++) {
		const struct dead_file *other = &dead->items[i];

		if (other->device != file->device || other->until_ns <= now)
			continue;
		if (other->inode == file->inode)
			return true;
		files += other->owner == file->owner;
		owners += dead_files_is_first_of_owner(dead, i, now);
	}
	return files >= DEAD_FILES || owners >= DEAD_FILES;
}

void dead_files_add(struct dead_files *dead, const struct dead_file *file, uint64_t now)
{
	struct dead_file *place = dead->items;

	for (size_t i = 0; i < DEAD_FILES_MAX; i++) {
		struct dead_file *other = &dead->items[i];

		if (other->device == file->device && other->inode == file->inode) {
			place = other;
			break;
		}
		if (other->until_ns < place->until_ns)
			place = other;
	}
	*place = *file;
	place->until_ns = now + DEAD_NS;
}
