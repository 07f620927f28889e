/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What the readers of one study share. */

#include <pthread.h>

#include "query/common/common.h"
#include "query/common/contrast.h"
#include "query/explain/quiet.h"
#include "store/disk/segment-row.h"

#define NO_CPU UINT32_MAX
/* An incident with fewer controls is not compared. */
#define COMMON_CONTROLS_LEAST 3
/*
 * Segments of this size in all are read without a limit of time, so that the answer does not depend
 * on how busy this machine is.
 */
#define COMMON_FEW_BYTES (64ull << 20)
/*
 * Foreign data may have any number of rows. Bounds that do not depend on which window is an
 * incident's leave the test right. A window has at most this number of rows of CPU time, those with
 * most, and this number of gauges.
 */
#define COMMON_ROWS_MOST 2048
#define COMMON_GAUGES_MOST 1024
/* No further names are added then. */
#define COMMON_KEY_BYTES_MOST (24u << 20)
/* The values of all rows in all windows: the rows that most windows have. */
#define COMMON_CELLS_MOST (8u << 20)

struct common_segment {
	size_t store;
	struct store_segment about;
	/* the busy part of the machine's CPUs; NAN: unknown */
	double load;
	/* the recorded time of the host before it */
	uint64_t before_ns;
};

/* All stores of one host. */
struct common_host {
	uint32_t name;
	/* sorted by begin */
	array_of(struct common_segment) segments;
	/* the times of incidents, each with a margin: controls lie elsewhere */
	struct quiet_spans excluded;
	uint64_t recorded_ns;
	/* the time of a sample, and the number of CPUs; 0: not known */
	uint64_t sample_ns, cpus;
};

/* The window of an incident, or a control. */
struct common_window {
	/* index of the case */
	size_t set;
	/* 0: the incident's; else the number of the control */
	uint32_t rank;
	uint32_t host;
	/* index of the host's segments */
	size_t segment;
	uint64_t from_ns, to_ns;
	/* there was time for it, and its samples could be read */
	bool tried, read;
	uint32_t full_cpu;
};

/* CPU time, or the figure of a gauge, in one window. */
struct common_value {
	uint32_t row, window;
	float value;
};

struct common_run {
	const struct common_options *options;
	struct common_answer *answer;
	array_of(struct common_host) hosts;
	array_of(struct common_window) windows;
	/* the lock protects the members below, and the hook of the question */
	pthread_mutex_t lock;
	/* a letter for the kind, and the name; the size of all */
	struct strings keys;
	size_t key_bytes;
	/* by key: the index + 1 of its last value */
	array_of(uint32_t) last;
	array_of(struct common_value) values;
};

/* The values of windows that were read, in sets that have controls. */
struct common_matrix {
	struct contrast_input input;
	uint32_t *firsts;
	float *values, *least;
	bool *both;
	/* for each set: its case */
	size_t *cases;
	/* for each row its key */
	uint32_t *keys;
};

/* hosts: the host of each store, its segments and its incidents. Returns 0 or a negative errno. */
int common_hosts_read(struct common_run *run, struct error *error);
void common_hosts_done(struct common_run *run);
/* Returns the segment of the host that contains a moment, or NULL. */
const struct common_segment *common_hosts_at(const struct common_host *host, uint64_t at_ns);
/* Returns the seconds since boot at a moment in the segment. */
double common_hosts_uptime_s(const struct common_segment *segment, uint64_t at_ns);

/* controls: chooses the windows of all sets. Returns 0 or -ENOMEM. */
int common_controls_choose(struct common_run *run);

/*
 * values: adds a value of a window to the run, or the highest of several. Does nothing if the names
 * have no room. The caller holds the lock. Returns 0 or -ENOMEM.
 */
int common_values_add(struct common_run *run, uint32_t window, const char *key, float value);

/* window-rows: reads the windows. Returns 0 or a negative errno. */
int common_window_rows_read(struct common_run *run, struct error *error);

/* window-gauges: the figures of the gauges in a window. The caller holds the lock. */
struct tape;
int common_window_gauges_add(struct common_run *run, uint32_t window, const struct tape *tape);
/* Returns the name under which a gauge of a CPU counts, or NULL if it does not count. */
const char *common_window_gauges_name(const char *gauge, char name[128]);
/*
 * Computes the figure of a gauge in a window of a tape, in the unit that its name says. Returns
 * false if it has no reading.
 */
bool common_window_gauges_figure(const struct tape *tape, size_t gauge, uint64_t from_ns,
				 uint64_t to_ns, double *ret_figure);

/* matrix: Returns 0 or -ENOMEM. The caller calls common_matrix_done() in either case. */
int common_matrix_make(struct common_run *run, struct common_matrix *matrix);
void common_matrix_done(struct common_matrix *matrix);

/* traits: what incidents share. Returns 0 or -ENOMEM. */
int common_traits_make(struct common_run *run, struct common_matrix *matrix);

/* patterns: hosts, CPUs, queues, times. Returns 0 or -ENOMEM. */
int common_patterns_find(struct common_run *run);

/* signs: what would have warned. Returns 0 or a negative errno. */
int common_signs_find(struct common_run *run, const struct common_matrix *matrix,
		      struct error *error);

/*
 * full-sign: sets the moment from which on a CPU was full in each case, by the busy seconds.
 * Returns 0 or a negative errno.
 */
int common_full_sign_find(struct common_run *run, struct error *error);
/* Adds the sign "a full CPU" if full CPUs preceded most incidents. Returns 0 or -ENOMEM. */
int common_full_sign_set(struct common_run *run);
