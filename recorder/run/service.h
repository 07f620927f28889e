/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What a service manager wants to know of a service: that it is ready, that it is alive, what it
 * does. The protocol of systemd's notify socket (sd_notify(3)), without its library. Without such a
 * manager nothing is said. It is never waited for: what its socket has no room for is not said.
 */

#include <stdbool.h>
#include <stdint.h>

struct service {
	/* -1: nobody wants to know */
	int fd;
	/* 0: nobody watches; else it is to be told at least so often that we live */
	uint64_t watchdog_ns;
	/* when it was told last, CLOCK_MONOTONIC */
	uint64_t alive_ns;
	uint64_t status_ns;
	/* it was told so */
	bool ready;
	/* and that */
	bool stopping;
};

/* By the environment, which our children then do not get. */
void service_init(struct service *service);
void service_done(struct service *service);

/* Assignments, one a line: "READY=1\nSTATUS=records". */
void service_say(struct service *service, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The service is busy and will be ready again: says so with the moment, as systemd needs it. */
void service_reloading(struct service *service);
/*
 * Whether a new status is due, which is at most every ten seconds, and says that we live where that
 * is due before the next call: there is one a second.
 */
bool service_alive(struct service *service);
