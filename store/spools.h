/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The folder of what is not sealed yet: its files' names, and what is in them. */

#include "base/error.h"
#include "store/store-reader.h"
#include "tape/spool.h"

/* Is this the name of a spool's file? One that was set aside is none. */
bool spools_is_spool(const char *name);

/* Is somebody recording into the store? *ret_pid is who, 0 where that is not known; it may be NULL. */
bool spools_is_live(const char *path, int *ret_pid);

/*
 * The tape of a spool. Of one that nobody fills any more, an end that was not written whole is a loss. The errors of spool_decode(), and those of
 * reading the file.
 */
int spools_load(const char *path, const char *name, bool live, struct tape **ret_tape,
	struct spool_end *ret_end, struct error *error);

/*
 * Describes each spool, those that were set aside too, and hands it on with its tape, NULL for one that cannot be read, which `see` may take.
 * Such as were last written a day and more before the window cannot be in it.
 */
int spools_each(const char *path, uint64_t to_ns,
	int (*see)(void *context, const struct store_segment *segment, struct tape **tape),
	void *context, struct error *error);
