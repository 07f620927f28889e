/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The services of systemd: since when each runs, and how often it was started, from wherever that can be known. */

#include "audit/host-figures.h"

#define AGE_UNKNOWN UINT64_MAX

struct service {
	char name[256];
	uint64_t age_ns; /* of what runs now */
	bool timed; /* a timer or a path starts it: again and again is as it should be */
	bool there; /* it runs, or was seen to */
	bool failed; /* systemd says so */
	bool restarting; /* and that it waits to start it again */
	int64_t restarts; /* as systemd counts them, without those that somebody asked for; -1: not known */
	struct host_starts starts;
};

struct services {
	array_of(struct service) list;
	bool asked; /* systemd answered */
	bool any; /* there is anything to tell them by */
};

int services_read(const struct host *host, struct services *services);
void services_done(struct services *services);
