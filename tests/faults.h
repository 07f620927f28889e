/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A file layer and an allocator that fail on request. Link a test that includes this file with
 * --wrap for each function below (tests/meson.build), so that the libraries call these functions.
 * SQLite gets them through its table of system calls.
 *
 * Only calls between faults_arm() and faults_disarm() count.
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
	/* the chosen call fails */
	FAULT_ONCE,
	/* the chosen call and all later ones fail */
	FAULT_ON,
	/* the chosen call writes half, and the next call fails */
	FAULT_HALF,
	/* the process ends at the chosen call */
	FAULT_KILL,
	/* the process ends after half of the chosen write */
	FAULT_KILL_HALF,
};

/* The exit code of a process that a fault ended. */
#define FAULT_EXIT 77

struct faults {
	enum fault_kind kind;
	/* count allocations instead of calls of the file layer */
	bool memory;
	int error;
	/* number of calls up to the chosen one */
	long left;
	bool armed;
};

extern struct faults faults;

/* Calls between these two functions count. */
static inline void faults_arm(void)
{
	faults.armed = true;
}

static inline void faults_disarm(void)
{
	faults.armed = false;
}

/* Makes SQLite's files fail too. */
void faults_take_sqlite(void);
