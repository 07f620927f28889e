/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Opens files of other processes in a child process, the helper. Such a file may block forever, for
 * example on a dead mount. If the helper blocks, we ask for its replacement. A second child, the
 * keeper, kills and starts helpers, so that we never wait for one. The keeper does not open such
 * files, and ends when we end. If the keeper is killed, we start another keeper. Both keep only the
 * rights to open files. The helper has its own naming helper (namer/name-helper.h), which reads the
 * contents of the files, such as build-ids.
 *
 * Each `struct open_helper` belongs to one thread, has its own keeper, and answers one question
 * after another.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "naming/finder.h"

/*
 * A question from one process to another of the same program. So the sender sends the struct as it
 * is in memory, up to the end of the path.
 */
struct open_helper_question {
	struct tape_module module;
	uint64_t until_ns;
	uint64_t since_ns;
	uint64_t owner;
	uint32_t kind;
	int32_t pid;
	bool live;
	char path[PATH_MAX];
};

struct open_helper_answer {
	struct tape_module module;
	/* result of finder_find() */
	int32_t result;
	/* which of the two files come with the answer */
	bool has_file[2];
	/* describes the first of these files */
	struct stat about;
};

struct open_helper {
	/* socket to the keeper; -1: the keeper is gone */
	int control;
	/* socket to the helper; -1: no helper yet */
	int fd;
	int32_t pid;
	/* pid of the keeper */
	int32_t keeper;
	/* when the keeper started, CLOCK_MONOTONIC */
	uint64_t started_ns;
};

/* The jobs of these processes, see process/helper.h. */
#define OPEN_KEEPER_JOB "keep"
#define OPEN_HELPER_JOB "open"
int open_helper_keep(int socket);
int open_helper_run(int socket);

/* Starts a keeper and asks it for a helper. Returns 0 or a negative errno. */
int open_helper_start(struct open_helper *helper);
/* Ends the helper and the keeper. Does nothing if they did not start. */
void open_helper_stop(struct open_helper *helper);

/*
 * Returns whether a helper is ready. Waits for the helper for at most `timeout_ms`. Starts another
 * keeper if the keeper is gone.
 */
bool open_helper_ready(struct open_helper *helper, int timeout_ms);
/* Kills the helper, and asks the keeper for another one. */
void open_helper_replace(struct open_helper *helper);
/*
 * Returns whether the helper is runnable and waits for a CPU. The caller does not kill such a
 * helper.
 */
bool open_helper_waits_for_cpu(const struct open_helper *helper);

/*
 * Sends a question; never waits. Returns 0; -EAGAIN when the helper has too many questions; another
 * negative errno when the helper is gone.
 */
int open_helper_ask(struct open_helper *helper, const struct open_helper_question *question);
/*
 * Receives the next answer. Returns 1, and the caller owns the files; 0 when no answer came within
 * `timeout_ms`; a negative errno when the helper is gone or its message is not an answer.
 */
int open_helper_listen(struct open_helper *helper, int timeout_ms,
		       struct open_helper_answer *ret_answer, struct finder_files *ret_files);

/* Makes a question from a request. Returns 0 or -ENAMETOOLONG. */
int open_helper_question(const struct finder *finder, const struct finder_request *request,
			 struct open_helper_question *ret_question);
