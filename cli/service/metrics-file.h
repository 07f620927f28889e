/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Writes the metrics of a recording into a file, for node-exporter's textfile collector. A thread
 * reads the store as any other reader does, so a disk that hangs does not delay the recorder. A
 * reader of the file sees the old text or the new text, never a part.
 */

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

/*
 * The shortest pause between two texts. A store with many segments takes longer to read, so the
 * pause grows with the CPU time of a text. The alerts treat a recorder as dead after three minutes,
 * so the longest pause is well below this time.
 */
#define METRICS_FILE_NS (15 * 1000000000ull)
#define METRICS_FILE_MOST_NS (100 * 1000000000ull)
#define METRICS_FILE_SHARE 300

struct metrics_file;

/* Starts the thread. Copies the texts. Returns 0 or a negative errno. */
int metrics_file_start(const char *store, const char *path, struct metrics_file **ret_file,
		       struct error *error);
/*
 * Reports a new incident, so that the next text comes before the end of a long pause. `file` may be
 * NULL.
 */
void metrics_file_found(struct metrics_file *file);
/*
 * Writes a last text, which says that no recorder runs, and ends the thread. Waits at most half a
 * second: a thread that hangs stays until the process ends. Returns NULL.
 */
struct metrics_file *metrics_file_stop(struct metrics_file *file);
DEFINE_CLEANUP(metrics_file, struct metrics_file *, metrics_file_stop)
