/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The host's figures (gauges/gauges.h): as the audit read them while it watched, and as the
 * recorder stored them before.
 */

#include "audit/audit.h"
#include "base/intern.h"
#include "gauges/cgroups.h"

struct host_figure {
	/* readings of the audit */
	bool read;
	int64_t first, last;
	/*
	 * readings of the recorder; from_ns is 0 if none exists, and equals to_ns if only one
	 * exists
	 */
	uint64_t from_ns, to_ns;
	int64_t recorded_first, recorded_last;
	/*
	 * growth of a counter in the recorder's readings, without resets: over the whole history,
	 * and in the last hour
	 */
	int64_t grown, grown_hour;
	/* when a reading of the recorder last showed growth; 0: never */
	uint64_t grew_ns;
};

/* The dying cgroups of one kind of path, from the recorder's last event (tape/tape-events.h). */
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
	/* parts that were skipped because a read hangs */
	struct strings hung;
	/* indexed by the number of the name in `names` */
	array_of(struct host_figure) figures;
	/* wall clock of the last reading */
	uint64_t now_ns;
	uint64_t watched_ns;
	/* since the host was booted; 0: not known */
	uint64_t uptime_ns;
	uint64_t recorded_from_ns, recorded_to_ns;
	/* "memory_cgroups/dying", as recorded */
	array_of(struct host_point) dying_points;
	/* the highest count first */
	array_of(struct host_dying) dying;
	/* wall clock of the recorder's last events about dying cgroups */
	uint64_t dying_ns;
	/*
	 * for how long the recorder had counted at dying_ns; 0: not known. The recorder does not
	 * know cgroups that were removed before it ran.
	 */
	int64_t dying_counted_s;
	/* the counts may be wrong by at most this number */
	int64_t dying_unsure;
	bool has_cgroups, has_memory;
	/* the hierarchy with the memory controller; if the host lacks it, any hierarchy */
	struct cgroups cgroups;
};

/*
 * Watches the host as the options say, and leaves out figures that do not exist. Returns 0 or
 * -ENOMEM.
 */
int host_watch(const struct audit_options *options, struct host *host);
void host_done(struct host *host);

/* Calls audit_options.enter. Returns false when the part must be skipped. */
bool host_enter(struct host *host, const char *what);
void host_leave(struct host *host);

/*
 * Finds the figure of a name, or makes it. Returns 0 or -ENOMEM. *ret_figure is valid until the
 * next new figure.
 */
int host_name(struct host *host, const char *name, struct host_figure **ret_figure);
/* Returns a figure that the audit or the recorder read; NULL: the figure does not exist. */
const struct host_figure *host_find(const struct host *host, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * Returns the growth of a figure while the audit watched the host; 0 if the audit did not read it.
 */
int64_t host_growth(const struct host *host, const char *name);
/* Returns the growth of a figure per second while the audit watched the host. */
double host_rate(const struct host *host, const char *name);

/*
 * Copies the part between `begin` and `end` out of a figure's name: "unit/", "/starts". Returns
 * false when the name does not match, or the part is empty or too long.
 */
#define HOST_PART_SIZE 256
bool host_name_part(const char *name, const char *begin, const char *end,
		    char part[HOST_PART_SIZE]);

/*
 * Like host_name_part(), but only for the name of a figure that counts starts. Such a figure counts
 * the starts that a read once per minute found, or the cgroups that were made. The number of
 * cgroups includes all starts whose events the kernel delivered.
 */
bool host_started(const char *name, const char *begin, char part[HOST_PART_SIZE]);

/* The starts that the audit or the recorder saw; more may have happened. */
struct host_starts {
	/* while the audit watched */
	int64_t now;
	/* recorded in the last hour */
	int64_t hour;
	/* the part of the last hour for which the recorder has readings */
	uint64_t hour_ns;
	/* when a reading last showed a start; 0: never */
	uint64_t last_ns;
};
/* Adds the starts of one figure. */
void host_add_starts(const struct host *host, const struct host_figure *figure,
		     struct host_starts *starts);
/* Returns how long ago the last start was, at least; UINT64_MAX: nobody saw a start. */
uint64_t host_quiet_ns(const struct host *host, const struct host_starts *starts);
/*
 * Puts ", the last of them 18 min ago". Puts nothing when the last start is more recent than
 * readings once per minute can show.
 */
void host_put_quiet(const struct host *host, const struct host_starts *starts, struct buffer *text);

/*
 * Adds a command that shows new cgroups of a name; a star in the name matches anything. Adds
 * nothing on a host without cgroups.
 */
void host_put_search(const struct host *host, const char *name, struct buffer *confirm);

/*
 * Returns whether we may read a file or folder below the root. Does not open it, because that may
 * hang.
 */
bool host_has(const struct host *host, const char *path);
/* Returns why a file has no data: "/proc/vmstat is not in the copy". */
#define HOST_LACK_SIZE 240
const char *host_lack(const struct host *host, const char *path, char text[HOST_LACK_SIZE]);

/*
 * Reads a number from a small file below the root. Returns false if the file cannot be read or does
 * not hold a number.
 */
bool host_number(const struct host *host, const char *path, int64_t *ret_value);
