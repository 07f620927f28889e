/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The services of systemd: since when each one runs, and how often it was started, from all sources
 * that know.
 */

#include "audit/host-figures.h"

#define AGE_UNKNOWN UINT64_MAX

struct service {
	char name[256];
	/* age of the present run */
	uint64_t age_ns;
	/* a timer or a path unit starts it, so repeated starts are normal */
	bool timed;
	/* it runs, or was seen to run */
	bool there;
	/* systemd reports it as failed */
	bool failed;
	/* systemd waits to start it again */
	bool restarting;
	/* systemd's own count of automatic restarts; -1: not known */
	int64_t restarts;
	struct host_starts starts;
};

struct services {
	array_of(struct service) list;
	/* systemd answered */
	bool asked;
	/* there was any source at all */
	bool any;
};

int services_read(const struct host *host, struct services *services);
void services_done(struct services *services);
