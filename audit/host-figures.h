/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What was measured of the host: each figure (gauges/gauges.h) while it was watched, and as it was
 * recorded before. */

#include "audit/audit.h"
#include "base/intern.h"
#include "gauges/cgroups.h"

struct host_figure {
	/* while watching */
	bool read;
	int64_t first, last;
	/* recorded; from_ns is 0 where it was not, and the same as to_ns where it was once */
	uint64_t from_ns, to_ns;
	int64_t recorded_first, recorded_last;
	/* by how much a counter has grown, what began anew left out: in all of it, and within its
	 * last hour */
	int64_t grown, grown_hour;
	/* when it was last read to have grown; 0: never */
	uint64_t grew_ns;
};

/* What is dying under one kind of path, as the recorder told of it last (tape/tape-events.h). */
struct host_dying {
	char prefix[192];
	char made_by[32], removed_by[32];
	int64_t count;
	int64_t oldest_s;
};

struct host_point {
	uint64_t time_ns;
	int64_t value;
};

struct host {
	const struct audit_options *options;
	const char *root;
	struct strings names;
	/* memory ran out */
	bool failed;
	/* what was passed over, as its reads do not come back */
	struct strings hung;
	/* by the number of the name */
	array_of(struct host_figure) figures;
	/* of the wall clock, at the last reading */
	uint64_t now_ns;
	uint64_t watched_ns;
	/* since the host was started; 0: not known */
	uint64_t uptime_ns;
	uint64_t recorded_from_ns, recorded_to_ns;
	/* "memory_cgroups/dying", as recorded */
	array_of(struct host_point) dying_points;
	/* the most first */
	array_of(struct host_dying) dying;
	/* when that was told, of the wall clock */
	uint64_t dying_ns;
	/* for how long they were counted then: those from before are not among them; 0: not known
	 */
	int64_t dying_counted_s;
	/* so many more or fewer it may be */
	int64_t dying_unsure;
	bool has_cgroups, has_memory;
	/* where those of memory are, or else any */
	struct cgroups cgroups;
};

/* Watches it as the options say. 0 or -ENOMEM; what is not there is not among the figures. */
int host_watch(const struct audit_options *options, struct host *host);
void host_done(struct host *host);

/* audit_options.enter: false: it is passed over. */
bool host_enter(struct host *host, const char *what);
void host_leave(struct host *host);

/* The figure of a name, made where there is none. 0 or -ENOMEM. */
int host_name(struct host *host, const char *name, struct host_figure **ret_figure);
/* One that was read or recorded; NULL where there is none. */
const struct host_figure *host_find(const struct host *host, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* By how much it grew while the host was watched; 0 where it was not read. */
int64_t host_growth(const struct host *host, const char *name);
/* The same, a second. */
double host_rate(const struct host *host, const char *name);

/* What stands between the two in a figure's name: "unit/", "/starts". False where that is nothing,
 * or too long. */
#define HOST_PART_SIZE 256
bool host_name_part(const char *name, const char *begin, const char *end,
		    char part[HOST_PART_SIZE]);

/*
 * The same of a figure that counts starts, of either kind: those that a look once a minute found,
 * and cgroups that were made, which is all of them as far as the kernel's events came.
 */
bool host_started(const char *name, const char *begin, char part[HOST_PART_SIZE]);

/* Starts that were seen, at the least. */
struct host_starts {
	/* while watching */
	int64_t now;
	/* within the last one, as recorded */
	int64_t hour;
	/* how far back in it they were looked for */
	uint64_t hour_ns;
	/* when the last of these was read; 0: never */
	uint64_t last_ns;
};
/* What one figure of them tells. */
void host_add_starts(const struct host *host, const struct host_figure *figure,
		     struct host_starts *starts);
/* How long ago the last one was, at the least; UINT64_MAX: none was seen. */
uint64_t host_quiet_ns(const struct host *host, const struct host_starts *starts);
/* ", the last of them 18 min ago": nothing where that was as late as can be told from readings once
 * a minute. */
void host_put_quiet(const struct host *host, const struct host_starts *starts, struct buffer *text);

/* A command that shows cgroups of that name, a star for what differs, as they are made anew:
 * nothing where there are no cgroups. */
void host_put_look(const struct host *host, const char *name, struct buffer *confirm);

/* Is a file or folder below the root to be read? Nothing of it is. */
bool host_has(const struct host *host, const char *path);
/* Why it tells nothing, for who expected something of it: "/proc/vmstat is not in the copy". */
#define HOST_LACK_SIZE 240
const char *host_lack(const struct host *host, const char *path, char text[HOST_LACK_SIZE]);

/* A number in a small file below the root. */
bool host_number(const struct host *host, const char *path, int64_t *ret_value);
