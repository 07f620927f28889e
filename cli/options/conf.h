/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The file of settings: values of options that are not on the command line. `name = value`, a line
 * each, by the long names of the options; those of every command first, those of a command behind
 * its name in brackets. A flag is yes or no.
 *
 *   # /etc/perftape/perftape.conf
 *   store = /srv/perftape
 *   [record]
 *   max-size = 50G
 */

#include "base/array.h"
#include "base/error.h"
#include "cli/options/command.h"

#define CONF_FILE "/etc/perftape/perftape.conf"

struct conf_row {
	const struct option *option;
	/* NULL: of every command */
	const char *section;
	/* of a flag: "", or NULL for no */
	const char *value;
	unsigned int line;
};

struct conf {
	const char *path;
	/* in which the values are */
	char *text;
	array_of(struct conf_row) list;
};

/*
 * Reads a file; without `required` one that is not there is empty. 0, or the error names file and
 * line. The path is borrowed.
 */
int conf_read(const char *path, bool required, struct conf *ret_settings, struct error *error);
void conf_done(struct conf *settings);

/* The last one for a command, NULL when there is none. */
const struct conf_row *conf_find(const struct conf *settings, const struct command *command,
				 const char *name);
