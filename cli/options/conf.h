/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The settings file: values of options that are not on the command line. Each line is `name =
 * value`, with the long name of an option. Options that every command has come first. The
 * options of one command follow the command's name in brackets. A flag is yes or no.
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
	/* NULL: an option that every command has. */
	const char *section;
	/* For a flag: "" for yes, NULL for no. */
	const char *value;
	unsigned int line;
};

struct conf {
	const char *path;
	/* The bytes of the file; the values point into it. */
	char *text;
	array_of(struct conf_row) list;
};

/*
 * Reads a settings file. A missing file is empty unless `required` is set. Returns 0, or a negative
 * errno with file and line in `error`. Borrows the path.
 */
int conf_read(const char *path, bool required, struct conf *ret_settings, struct error *error);
void conf_done(struct conf *settings);

/* Returns the last setting that applies to a command, or NULL. */
const struct conf_row *conf_find(const struct conf *settings, const struct command *command,
				 const char *name);
