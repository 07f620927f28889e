/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Places the lines of a log in the time of a store. A kernel stamp uses the clock of the samples.
 * So the anchors of that boot convert the stamp to the wall clock, and the time in the log does not
 * matter. If the recorder recorded the same line, the stamp of the recorded line counts.
 */

#include "cli/window/incident-book.h"

struct log_map {
	/* NULL: no store, so log_map_place() keeps the times of the log. */
	struct store_reader *reader;
	struct book book;
	/* All segments of the store. */
	struct store_segments segments;
	/* The start of the chosen boot's ID; NULL: any boot; borrowed. */
	const char *boot;
	/* If several recorded lines are equal and the log has no time, take the last one. */
	bool guesses;
	/* The last tape that was loaded, for its anchors and gauges. */
	struct tape *tape;
	char tape_name[64];
	/* Number of tapes that were loaded, and of lines for which no more were. */
	uint64_t loads, unplaced;
	/* -ENOMEM if a tape could not be loaded because memory ran out */
	int failed;
};

/* The source of a line's time. */
enum log_place_how {
	/* The time in the log. */
	LOG_PLACE_LOG,
	LOG_PLACE_ANCHORS,
	/* The stamp of the recorded line. */
	LOG_PLACE_LINE,
};

struct log_place {
	struct moment moment;
	/* "": unknown. */
	char boot_id[40];
	enum log_place_how how;
	/* By how much the stamp may be too early, because a user typed fewer digits of it. */
	uint64_t stamp_error_ns;
	/* The ID of the recorded incident; 0: none. */
	uint64_t id;
	/* Number of recorded lines that are equal to this line, if the log has no time. */
	size_t alike;
	enum covered covered;
	/* The recorder saw that a user wrote the line, not the kernel. */
	bool forged;
};

int log_map_open(const char *path, struct log_map *ret_map, struct error *error);
void log_map_done(struct log_map *map);

/* Loads a segment into map->tape. Returns false if the segment cannot be read. */
bool log_map_load(struct log_map *map, const struct store_segment *segment);
/* Returns whether the store contains the chosen boot. */
bool log_map_has_boot(const struct log_map *map);

/* Places an incident. Returns 0 or -ENOMEM. */
int log_map_place(struct log_map *map, const struct incident *incident,
		  struct log_place *ret_place);
