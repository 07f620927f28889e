/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Where in a store's time the lines of a foreign log lie. A kernel's stamp is of the clock that
 * samples have: the anchors of that boot tell the wall clock of it, whatever the log says. Where
 * the very line was recorded, its own stamp counts.
 */

#include "cli/window/incident-book.h"

struct log_map {
	/* NULL: no store, and nothing is placed */
	struct store_reader *reader;
	struct book book;
	/* all */
	struct store_segments segments;
	/* the beginning of the id of the only boot that counts; NULL: any; borrowed */
	const char *boot;
	/* of several recorded lines that say the same it is the last, where the log says no time */
	bool guesses;
	/* the last one that was looked into, for its anchors and gauges */
	struct tape *tape;
	char tape_name[64];
};

/* How it is known when a line was said. */
enum log_place_how {
	/* as the log says */
	LOG_PLACE_LOG,
	LOG_PLACE_ANCHORS,
	/* it was recorded */
	LOG_PLACE_LINE,
};

struct log_place {
	struct moment moment;
	/* "" where it is not known */
	char boot_id[40];
	enum log_place_how how;
	/* of the incident that the store has of it; 0: it has none */
	uint64_t id;
	/* how many recorded lines say the same, where the log says no time */
	size_t alike;
	enum covered covered;
	/* the recorder saw that a user wrote that line, not the kernel */
	bool forged;
};

int log_map_open(const char *path, struct log_map *ret_map, struct error *error);
void log_map_done(struct log_map *map);

/* Puts a segment into map->tape. False when it cannot be read. */
bool log_map_load(struct log_map *map, const struct store_segment *segment);
/* Whether the store has the boot that counts. */
bool log_map_has_boot(const struct log_map *map);

/* 0; -ENOMEM. */
int log_map_place(struct log_map *map, const struct incident *incident,
		  struct log_place *ret_place);
