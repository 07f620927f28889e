/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What do many incidents have in common? A case-control study: the window of each incident is
 * compared with control windows of the same host away from incidents (query/common/controls.h), row
 * by row (window-rows.h), by a matched permutation test (contrast.h). docs/EXPLAIN.md has it in
 * words.
 *
 * The caller gives the stores and the incidents. Names are numbers of `names`. NAN means unknown.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/intern.h"
#include "query/read/loader.h"
#include "store/read/store-reader.h"

/*
 * Claims are wrong in at most one of 20 answers about incidents without a cause. The test uses
 * less than that, because windows without a cause rarely agree in everything: the first share is
 * for rows, the second one for all patterns of times and places together.
 */
#define COMMON_ROW_CHANCE 0.02
#define COMMON_PATTERN_CHANCE 0.01
/* The newest incidents: memory and time grow with their number. */
#define COMMON_CASES_MOST 250
/* A window is at most this long, because the time to read it grows with it. */
#define COMMON_WINDOW_NS 7500000000ull

struct common_store {
	struct store_reader *reader;
	/* what the user typed */
	const char *path;
};

/* An incident. The caller sets the first members. */
struct common_case {
	size_t store;
	uint64_t id;
	uint64_t stall_from_ns, stall_to_ns;
	/* names */
	uint32_t kind, device;
	bool has_queue, has_queue_cpu;
	uint64_t queue;
	uint32_t queue_cpu;
	/* the reader sets the rest */
	uint32_t host;
	/* its window was read */
	bool read;
	/* seconds since boot */
	double uptime_s;
	/* the part of the machine's CPUs that was busy in its segment */
	double load;
	/* the CPU that was full in its window; UINT32_MAX: none */
	uint32_t full_cpu;
	/* when it became full */
	uint64_t full_from_ns;
	/* the trait that it belongs to + 1; 0: none */
	size_t trait;
};

enum common_kind {
	COMMON_THREAD,
	/* the threads of a name on the CPU where they had most time */
	COMMON_THREAD_ON_CPU,
	COMMON_FUNCTION,
	COMMON_PATH,
	COMMON_CGROUP,
	COMMON_GAUGE,
	/* rows of the kinds below lead a trait only if no other row can */
	COMMON_CPU,
	COMMON_MACHINE,
};
#define COMMON_KINDS 8

/* A row that more incidents than controls have. CPU time is in CPUs. */
struct common_row {
	enum common_kind kind;
	uint32_t name;
	/* for a gauge: enum series_unit */
	int unit;
	/*
	 * the least value (with `below` the greatest) that counts, and how many windows have such a
	 * value
	 */
	double level;
	bool below;
	unsigned int cases, controls;
	/* medians of the incidents that reach the level, and of all controls */
	double now, usual;
	/* what the test says (query/common/contrast.h) */
	double score, p;
};

#define COMMON_COMPANIONS 8

/* Rows that the same incidents have. */
struct common_trait {
	struct common_row lead;
	struct common_row companions[COMMON_COMPANIONS];
	size_t companion_count;
	/* the number of compared incidents and controls; earlier traits explain the others */
	unsigned int of_cases, of_controls;
};

#define COMMON_TRAITS 4

enum common_pattern_kind {
	COMMON_OF_HOST,
	COMMON_OF_CPU,
	COMMON_OF_QUEUE,
	COMMON_OF_HOUR,
	COMMON_OF_UPTIME,
	COMMON_OF_INTERVAL,
};
#define COMMON_PATTERNS 6

/* A pattern of places or times that chance does not explain. */
struct common_pattern {
	/* there are enough incidents for the test */
	bool tested;
	/* allows for the number of patterns that were tried */
	double p;
	/*
	 * the number of incidents of the host, CPU or queue that has most, or in the fullest hours
	 */
	unsigned int cases, of;
	/* the host; or the number of the CPU or queue; or the first of the fullest hours (UTC) */
	uint32_t name;
	uint64_t number;
	/* seconds: uptime, or interval: quartiles and median */
	double low, middle, high;
};

/* What would have warned. */
struct common_sign {
	/* 0: a full CPU; else a gauge */
	uint32_t gauge;
	int unit;
	double level;
	bool below;
	/* incidents and controls that had the sign */
	unsigned int cases, of_cases, controls, of_controls;
	/* how long the sign precedes the incident's line: the median and the least */
	uint64_t before_ns, least_ns;
	/* the recording begins with the sign in at least one of them */
	bool at_least;
	/*
	 * the part of the recorded time that has the sign although no incident follows; NAN:
	 * unknown
	 */
	double vain;
};

#define COMMON_SIGNS 4

struct common_answer {
	array_of(struct common_case) cases;
	struct strings names;
	/* older incidents that common_keep_newest() left out */
	size_t older;
	/* the names of the hosts of all stores; struct common_case has indices of it */
	array_of(uint32_t) hosts;
	/* incidents that were read and have controls, and incidents without samples */
	unsigned int compared, unread;
	/* incidents that the time limit left out */
	unsigned int late;
	/* segments with such windows whose samples cannot be read */
	unsigned int damaged;
	/* controls */
	unsigned int controls;
	/* the shortest time between a control and an incident; medians of the differences */
	uint64_t apart_ns, time_of_day_ns;
	double load_apart;
	/* recorded time of these hosts */
	uint64_t recorded_ns;
	uint64_t from_ns, to_ns;
	unsigned int rows;
	/* the lowest p-value of all rows */
	double lowest_p;
	struct common_trait traits[COMMON_TRAITS];
	size_t trait_count;
	struct common_pattern patterns[COMMON_PATTERNS];
	struct common_sign signs[COMMON_SIGNS];
	size_t sign_count;
	/* the time limit left controls unread */
	bool limited;
};

struct common_options {
	const struct common_store *stores;
	size_t store_count;
	/* the filter and the hook of the question; the window is not used */
	struct question question;
	/* limit of the time for reading controls */
	uint64_t limit_ns;
	/* at least 1 */
	unsigned int threads;
	void (*progress)(void *context, uint64_t done, uint64_t of);
	void *progress_context;
};

/*
 * Leaves out all cases but the newest COMMON_CASES_MOST, and counts the others. The order stays.
 * Returns 0 or -ENOMEM.
 */
int common_keep_newest(struct common_answer *answer);

/*
 * Compares the cases of the answer, at most COMMON_CASES_MOST. Returns 0 or a negative errno. Free
 * the answer with common_done() in either case.
 */
int common_run(const struct common_options *options, struct common_answer *answer,
	       struct error *error);
void common_done(struct common_answer *answer);

static inline const char *common_name(const struct common_answer *answer, uint32_t name)
{
	return strings_at(&answer->names, name);
}

/*
 * Writes the command that explains an incident alone. An incident without a number goes by its
 * time.
 */
void common_command(const struct common_case *of, const struct common_store *stores, char *command,
		    size_t size);
/* Returns "thread", "function" and so on. */
const char *common_kind_name(enum common_kind kind);
/* Returns the pattern's name for programs, such as "host". */
const char *common_pattern_name(enum common_pattern_kind kind);
/* Returns whether chance does not explain a pattern. */
static inline bool common_pattern_stands(const struct common_pattern *pattern)
{
	return pattern->tested && pattern->p <= COMMON_PATTERN_CHANCE;
}

/* Appends the answer as an object of JSON on one line. */
void common_put_json(const struct common_answer *answer, const struct common_store *stores,
		     struct buffer *json);
