/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The services of systemd: how long each one runs, and how often it was started, from all sources
 * that know.
 */

#include "audit/host-figures.h"

#define AGE_UNKNOWN UINT64_MAX

struct service {
	char name[256];
	/* age of the present run */
	uint64_t age_ns;
	/* a timer or a path unit starts the service, so repeated starts are normal */
	bool timed;
	/* the service exists: a link, a figure or systemd names it */
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
	/* at least one source could be read */
	bool any;
};

int services_read(const struct host *host, struct services *services);
void services_done(struct services *services);
