/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A file layer and an allocator that fail when they are told to. A test that includes this is
 * linked with --wrap for each function below (tests/meson.build), so that the libraries call these;
 * SQLite gets them through its table of system calls.
 *
 * Only between faults_arm() and faults_disarm() calls count.
 */

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum fault_kind {
	FAULT_NONE,
	/* that call fails */
	FAULT_ONCE,
	/* that call and all after it fail */
	FAULT_ON,
	/* it writes half, and the next one fails */
	FAULT_HALF,
	/* the process ends at that call */
	FAULT_KILL,
	/* and half of what it should have written is written */
	FAULT_KILL_HALF,
};

/* The process ends so when it is killed. */
#define FAULT_EXIT 77

struct faults {
	enum fault_kind kind;
	/* allocations count, not files */
	bool memory;
	int error;
	/* calls until it strikes */
	long left;
	bool armed;
};

extern struct faults faults;

/* Each call between these counts. */
static inline void faults_arm(void)
{
	faults.armed = true;
}

static inline void faults_disarm(void)
{
	faults.armed = false;
}

/* SQLite's files too. */
void faults_take_sqlite(void);
