/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A command: a row of the table in main.c, defined in one file. Its options are a table, which the
 * parser, --help and the tests of the manual read.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum exit_code {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	/* Nothing is recorded in the window. */
	EXIT_NOTHING = 3,
	/* With --strict: the window is not fully covered. */
	EXIT_PARTIAL = 4,
	/* The audit has findings. */
	EXIT_FINDINGS = 5,
};

/*
 * A row of a table of options. The table ends with a NULL name. `argument` is NULL for a flag, else
 * the placeholder of the value in --help.
 */
struct option {
	const char *name;
	/* 0: none. */
	char letter;
	const char *argument;
	const char *help;
};

/* The row for commands that can print JSON. */
#define JSON_OPTION                                                   \
	{                                                             \
		"json", 0, NULL, "print JSON, an object on each line" \
	}

/* The row for commands with --output. */
#define OUTPUT_FORCE_OPTION                                                 \
	{                                                                   \
		"force", 0, NULL, "with -o: replace a file of another user" \
	}

#define OPTIONS_MAX 128

struct invocation;
struct conf;

struct command {
	const char *name;
	/*
	 * The placeholder in --help for the command's words; NULL: the command does not take words.
	 */
	const char *arguments;
	const char *summary;
	/* More lines for --help, or NULL. */
	const char *about;
	const struct option *options;
	/* The command writes into the store. If root runs it, it works as the store's owner. */
	bool writes;
	/* Returns an exit_code. */
	int (*run)(const struct invocation *invocation);
};

/* One call of a command, with its options and words. Borrows from argv. */
struct invocation {
	const struct command *command;
	struct {
		const struct option *option;
		const char *value;
	} given[OPTIONS_MAX];
	size_t given_count;
	/* Arguments that are not options. */
	char **words;
	size_t word_count;
	/* The contents of the settings file. */
	const struct conf *conf;
	/*
	 * The path of the store, set before root becomes the store's owner, so that the owner does
	 * not use another store.
	 */
	const char *store;
};

extern const struct option global_options[];
extern const struct command *const commands[];

extern const struct command command_audit;
extern const struct command command_completion;
extern const struct command command_diff;
extern const struct command command_explain;
extern const struct command command_flamegraph;
extern const struct command command_fleet;
extern const struct command command_heatmap;
extern const struct command command_gauges;
extern const struct command command_import;
extern const struct command command_incidents;
extern const struct command command_mark;
extern const struct command command_query;
extern const struct command command_record;
extern const struct command command_resolve;
extern const struct command command_segments;
extern const struct command command_ship;
extern const struct command command_snapshot;
extern const struct command command_spikes;
extern const struct command command_status;
extern const struct command command_top;
extern const struct command command_vacuum;
extern const struct command command_verify;

/*
 * Returns the value of an option; "" for a flag; NULL if neither the command line nor the settings
 * file contains the option. If an option is given several times, the last value counts. The command
 * line takes precedence over the file.
 */
const char *option_value(const struct invocation *invocation, const char *name);
bool option_given(const struct invocation *invocation, const char *name);
/* Returns whether the option is on the command line. */
bool option_typed(const struct invocation *invocation, const char *name);

/*
 * Returns the store: --store, else $PERFTAPE_STORE, else the store in the settings file, else
 * /var/lib/perftape for root, else a folder below $XDG_STATE_HOME or ~/.local/state. A user without
 * a store reads that of root. Valid until the next call.
 */
const char *store_path(const struct invocation *invocation);

/* Makes new files readable only for the owner, and for the store's group if it has one. */
void store_use_umask(const struct invocation *invocation);

/* Warns if users other than the owner can write to the store that a command reads. */
void store_warn_of_writers(const struct invocation *invocation);

/* Returns the program's name as the user typed it, for commands to paste: "./run", or argv[0]. */
const char *program_name(void);
void program_name_set(const char *argv0);

/*
 * Prints a message on standard error after "perftape: ", wrapped on a terminal. Prints nothing with
 * -q.
 */
void say(const struct invocation *invocation, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Prints a message as say() does, but also with -q. For failures, and for data that is missing. */
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/*
 * Prints an indented command on standard error, for the user to paste. On a terminal, backslashes
 * continue a long command.
 */
void print_shell_command(const char *command);
/* Returns the number of lines that a message takes on a terminal. */
unsigned int message_rows(const char *text);
/* Prints the error, or strerror(-code) if it has no text. Returns EXIT_FAILED. */
int fail(int code, const struct error *error);
/*
 * Prints a message about the value of an option, and names the option as it was given: "--ring", or
 * "perftape.conf:3: ring". Returns EXIT_USAGE.
 */
int option_error(const struct invocation *invocation, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
