/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Reports to a service manager that the recorder is ready and alive, and what it does. Speaks the
 * protocol of systemd's notify socket (sd_notify(3)) without its library. Does nothing without a
 * manager. Never waits: drops a message when the socket is full.
 */

#include <stdbool.h>
#include <stdint.h>

struct service {
	/* -1: no manager */
	int fd;
	/* the longest time between two signs of life; 0: no watchdog */
	uint64_t watchdog_ns;
	/* the last sign of life, CLOCK_MONOTONIC */
	uint64_t alive_ns;
	uint64_t status_ns;
	/* a part of the service hangs: give no signs of life, so that the manager restarts it */
	bool hangs;
	/* the manager knows that we are ready */
	bool ready;
	/* the manager knows that we stop */
	bool stopping;
};

/*
 * Reads the manager's variables from the environment, and removes them, so that children do not get
 * them.
 */
void service_init(struct service *service);
void service_done(struct service *service);

/* Sends assignments, one per line: "READY=1\nSTATUS=records". */
void service_send(struct service *service, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * Reports that the service reloads, with the present time, as systemd requires. READY=1 ends that
 * state.
 */
void service_reloading(struct service *service);
/*
 * Sends a sign of life when one is due before the next call. Call it once per second. Returns
 * whether a new status is due, at most every ten seconds.
 */
bool service_tick(struct service *service);
