/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What a command is: a row of the table in main.c, made by one file. Its options are a table too,
 * from which the parser,
 * --help and the tests of the manual work.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum exit_code {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	/* nothing is recorded in that window */
	EXIT_NOTHING = 3,
	/* with --strict: not all of it is there */
	EXIT_PARTIAL = 4,
	/* of an audit: something is wrong */
	EXIT_FINDINGS = 5,
};

/* argument is NULL for a flag, else what stands for its value in --help. A table ends with a NULL
 * name. */
struct option {
	const char *name;
	/* 0: none */
	char letter;
	const char *argument;
	const char *help;
};

/* A row for commands that can say it for programs. */
#define JSON_OPTION                                              \
	{                                                        \
		"json", 0, NULL, "print JSON, one object a line" \
	}

#define OPTIONS_MAX 32

struct invocation;
struct conf;

struct command {
	const char *name;
	/* what stands for its words in --help; NULL: it takes none */
	const char *arguments;
	const char *summary;
	/* more lines for --help, or NULL */
	const char *about;
	const struct option *options;
	/* an exit_code */
	int (*run)(const struct invocation *invocation);
};

/* One call: the command and what was given to it. Borrowed from argv. */
struct invocation {
	const struct command *command;
	struct {
		const struct option *option;
		const char *value;
	} given[OPTIONS_MAX];
	size_t given_count;
	/* that are no options */
	char **words;
	size_t word_count;
	/* the settings of the file */
	const struct conf *conf;
};

extern const struct option global_options[];
extern const struct command *const commands[];

extern const struct command command_audit;
extern const struct command command_flamegraph;
extern const struct command command_heatmap;
extern const struct command command_gauges;
extern const struct command command_import;
extern const struct command command_incidents;
extern const struct command command_mark;
extern const struct command command_query;
extern const struct command command_record;
extern const struct command command_resolve;
extern const struct command command_segments;
extern const struct command command_snapshot;
extern const struct command command_spikes;
extern const struct command command_status;
extern const struct command command_top;
extern const struct command command_vacuum;
extern const struct command command_verify;

/* The value of an option, "" for a flag, NULL where it was not given, nor set in the file of
 * settings. The last one given counts. */
const char *option_value(const struct invocation *invocation, const char *name);
bool option_given(const struct invocation *invocation, const char *name);
/* On the command line, and not in the file of settings. */
bool option_typed(const struct invocation *invocation, const char *name);

/* The store: --store, else $PERFTAPE_STORE, else as the settings say, else /var/lib/perftape for
 * root, else under $XDG_STATE_HOME or ~/.local/state. */
const char *store_path(const struct invocation *invocation);

/* How the person called us, for commands to paste: "./run", or argv[0]. */
const char *program_name(void);
void program_name_set(const char *argv0);

/* One line on standard error, "perftape: " first; with -q only errors are said. */
void say(const struct invocation *invocation, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Prints the error (strerror(-code) when it has no text) and gives the exit code of a failure. */
int fail(int code, const struct error *error);
/* About the value of an option, which is named as it was given: "--ring", or "perftape.conf:3:
 * ring". */
int option_error(const struct invocation *invocation, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
