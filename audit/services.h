/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The services of systemd: since when each runs, and how often it was started, from wherever that
 * can be known. */

#include "audit/host-figures.h"

#define AGE_UNKNOWN UINT64_MAX

struct service {
	char name[256];
	/* of what runs now */
	uint64_t age_ns;
	/* a timer or a path starts it: again and again is as it should be */
	bool timed;
	/* it runs, or was seen to */
	bool there;
	/* systemd says so */
	bool failed;
	/* and that it waits to start it again */
	bool restarting;
	/* as systemd counts them, without those that somebody asked for; -1: not known */
	int64_t restarts;
	struct host_starts starts;
};

struct services {
	array_of(struct service) list;
	/* systemd answered */
	bool asked;
	/* there is anything to tell them by */
	bool any;
};

int services_read(const struct host *host, struct services *services);
void services_done(struct services *services);
