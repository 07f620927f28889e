/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* An opener, and files for it. All functions CHECK. Include helpers.h with HELPERS_OPEN, too. */

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "recorder/files/opener.h"
#include "tests/check.h"
#include "tests/wait.h"

#define HOLD_NS (60 * NSEC_PER_SEC)

struct place {
	char dir[64];
	char path[PATH_MAX];
	struct stat about;
};

/* Makes a file in a separate folder below `below`, which determines the file system. */
static inline struct place make_file(const char *below, const char *text)
{
	struct place place;

	snprintf(place.dir, sizeof(place.dir), "%s/perftape-opener-XXXXXX", below);
	CHECK(mkdtemp(place.dir));
	snprintf(place.path, sizeof(place.path), "%s/file", place.dir);
	CHECK_EQ(file_replace(place.dir, "file", text, strlen(text)), 0);
	CHECK_EQ(stat(place.path, &place.about), 0);
	return place;
}

static inline void remove_file(const struct place *place)
{
	unlink(place->path);
	CHECK_EQ(rmdir(place->dir), 0);
}

static inline struct perf_record record_of(const struct place *place)
{
	struct perf_record record = { .type = PERF_TYPE_MMAP2, .misc = PERF_MODE_USER };

	record.mmap.pid = record.mmap.tid = getpid();
	record.mmap.start = 0x1000;
	record.mmap.size = 0x1000;
	record.mmap.device = place->about.st_dev;
	record.mmap.inode = place->about.st_ino;
	record.mmap.path = place->path;
	return record;
}

static inline void see(struct opener *opener, const struct place *place)
{
	struct perf_record record = record_of(place);

	opener_see(opener, &record, 0);
}

static inline void see_for(struct opener *opener, const struct place *place, uint64_t owner)
{
	struct perf_record record = record_of(place);

	opener_see(opener, &record, owner);
}

/* Requests the file as the sealer does, and checks that the descriptor is of this file. */
static inline int find(struct opener *opener, const struct place *place)
{
	const struct finder finder = { .live = true, .delegate = opener_find, .context = opener };
	_cleanup_(finder_files_close) struct finder_files files;
	struct finder_request request = { .pid = getpid(), .path = place->path };
	struct stat about;
	int r;

	request.module.kind = TAPE_MODULE_ELF;
	request.module.device = place->about.st_dev;
	request.module.inode = place->about.st_ino;
	r = finder_find(&finder, &request, &files);
	if (r < 0)
		return r;
	CHECK_EQ(fstat(files.fd, &about), 0);
	CHECK_EQ(about.st_ino, place->about.st_ino);
	return 0;
}

static inline uint64_t turn(struct opener *opener, struct opener_counts *counts)
{
	opener_turn(opener, NULL);
	opener_counts(opener, counts);
	return counts->opened + counts->failed;
}

static inline struct opener_counts turn_until_tried(struct opener *opener, uint64_t tried)
{
	struct opener_counts counts = { 0 };

	WAIT_UNTIL(turn(opener, &counts) >= tried);
	return counts;
}

static inline struct opener *make_opener(uint64_t hold_ns)
{
	struct opener *opener = NULL;

	CHECK_EQ(opener_new(hold_ns, &opener, NULL), 0);
	return opener;
}
