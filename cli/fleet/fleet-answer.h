/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * An answer about a whole fleet: which server is asked about which window, and the screen with the
 * answer. The first line answers, a table follows, and the last lines say what it is based on.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "cli/options/command.h"
#include "draw/columns.h"
#include "draw/terminal.h"
#include "fleet/access.h"
#include "fleet/server.h"
#include "query/window/window.h"

/* Rows of the table of a command that asks a store or a fleet. */
#define FLEET_URL_OPTIONS                                                         \
	{ "fleet", 0, "URL", "ask this server of a fleet in place of a store" },  \
	{                                                                         \
		"access", 0, "FILE", "with --fleet: user, password, certificates" \
	}
#define FLEET_LABEL_OPTION                                                      \
	{                                                                       \
		"label", 0, "NAME", "with --fleet: by this label, such as zone" \
	}

/* A table of more rows does not fit a small screen. --json has all. */
#define FLEET_ROWS 14

struct fleet_answer {
	const struct invocation *invocation;
	struct access access;
	struct server *server;
	struct window window;
	/* The name of --label, and its value after a '='; NULL: not given. */
	char *label;
	const char *value;
	bool json;
	struct terminal terminal;
	struct buffer line;
	struct buffer text;
};

/* Returns EXIT_USAGE after a message if an option needs --fleet. Call it without --fleet. */
int fleet_answer_refuse(const struct invocation *invocation);
/*
 * Checks the options, of which `allowed`, ended by NULL, go with --fleet beside those of the
 * window; opens the server; sets the window, by default the last `usual_ns`. Returns EXIT_DONE, or
 * another exit code after a message. The caller calls fleet_answer_done() in either case.
 */
int fleet_answer_open(const struct invocation *invocation, const char *url,
		      const char *const *allowed, uint64_t usual_ns, struct fleet_answer *answer);
void fleet_answer_done(struct fleet_answer *answer);

/*
 * Finds the value of the label if only its name is given: the one with which incidents of a kind
 * separate best. `split` keeps its text. Without a label, name and value are "". Returns EXIT_DONE,
 * or another exit code after a message.
 */
struct label_split;
int fleet_answer_choose_value(struct fleet_answer *answer, const char *kind,
			      struct label_split *split, const char **ret_label,
			      const char **ret_value);

/* Adds to the line that fleet_answer_line() ends. */
void fleet_answer_say(struct fleet_answer *answer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Ends a line, which is wrapped on a terminal. */
void fleet_answer_line(struct fleet_answer *answer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds the line with the window, and who was asked. */
void fleet_answer_put_window(struct fleet_answer *answer);
/* Adds the table, and says how many of its rows are not shown. */
void fleet_answer_put_table(struct fleet_answer *answer, struct columns *table, size_t rows);
/* Says why the answer is empty. Returns EXIT_NOTHING. */
int fleet_answer_nothing(struct fleet_answer *answer, const char *why);
/* Opens an object of JSON with the name of its kind, and ends it with a newline. */
void fleet_answer_open_json(struct fleet_answer *answer, const char *kind);
void fleet_answer_put_json_text(struct fleet_answer *answer, const char *key, const char *text);
void fleet_answer_put_json_count(struct fleet_answer *answer, const char *key, uint64_t count);
/* A number with digits after the point. */
void fleet_answer_put_json_real(struct fleet_answer *answer, const char *key, double real);
/* The begin and the end of the window, in UTC. */
void fleet_answer_put_json_window(struct fleet_answer *answer);
void fleet_answer_close_json(struct fleet_answer *answer);
/* Prints the answer. Returns the exit code. */
int fleet_answer_print(struct fleet_answer *answer);
