/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Looks for the files of others in a process of its own: they may keep who touches them waiting for
 * ever, on a mount that is dead, and then that process is killed and another one takes its place.
 * It is forked by a keeper, which was forked before there were threads and much memory; that
 * touches no file, and goes when we go. A keeper that is killed is replaced by one that we fork as
 * we are: it has what memory we had then, shared as long as we do not change it.
 *
 * Each helper is one thread's, has a keeper of its own, and answers one question after the other.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "naming/finder.h"

/* Between two images of one program: as it lies in memory, cut behind the path. */
struct open_helper_question {
	struct tape_module module;
	uint64_t until_ns;
	uint32_t kind;
	int32_t pid;
	bool live;
	char path[PATH_MAX];
};

struct open_helper_answer {
	struct tape_module module;
	/* as of finder_find() */
	int32_t result;
	/* which of the two files come with it */
	bool there[2];
	/* of the first of them */
	struct stat about;
};

struct open_helper {
	/* to the keeper; -1: it is gone */
	int control;
	/* to the helper; -1: there is none, or none yet */
	int fd;
	int32_t pid;
	/* its pid */
	int32_t keeper;
	/* the keeper, CLOCK_MONOTONIC */
	uint64_t started_ns;
};

/* Starts a keeper and asks it for a helper. 0 or a negative errno. */
int open_helper_start(struct open_helper *helper);
/* Also of one that did not start. */
void open_helper_stop(struct open_helper *helper);

/* Is there one? Waits for it at most so long; where the keeper is gone, another one is started. */
bool open_helper_ready(struct open_helper *helper, int timeout_ms);
/* Kills it, and asks the keeper for another one. */
void open_helper_replace(struct open_helper *helper);
/* Not killed as long as it has not even had a CPU to run on since. */
bool open_helper_waits_for_cpu(const struct open_helper *helper);

/* 0; -EAGAIN when it has too much to do already; another negative errno when it is gone. Never
 * waits. */
int open_helper_ask(struct open_helper *helper, const struct open_helper_question *question);
/* The next answer. 1, with files that are the caller's; 0 when there was none in that time; a
 * negative errno when the helper is gone. */
int open_helper_listen(struct open_helper *helper, int timeout_ms,
		       struct open_helper_answer *ret_answer, struct finder_files *ret_files);

/* Writes a request down. -ENAMETOOLONG. */
int open_helper_question(const struct finder *finder, const struct finder_request *request,
			 struct open_helper_question *ret_question);
