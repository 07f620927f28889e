// SPDX-License-Identifier: GPL-2.0-only
#include "cli/options/command.h"

#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/foreign.h"
#include "cli/options/conf.h"
#include "cli/options/journal.h"
#include "cli/options/print.h"
#include "draw/lines.h"
#include "store/disk/files.h"

#define MESSAGE_INDENT 4

static const char *called = "perftape";

/* Looks only at the command line, not at the settings file. */
static const char *given_value(const struct invocation *invocation, const char *name)
{
	for (size_t i = invocation->given_count; i-- > 0;)
		if (strcmp(invocation->given[i].option->name, name) == 0)
			return invocation->given[i].value;
	return NULL;
}

const char *option_value(const struct invocation *invocation, const char *name)
{
	const char *given = given_value(invocation, name);
	const struct conf_row *setting =
		given || !invocation->conf ? NULL
					   : conf_find(invocation->conf, invocation->command, name);

	return setting ? setting->value : given;
}

bool option_given(const struct invocation *invocation, const char *name)
{
	return option_value(invocation, name) != NULL;
}

bool option_typed(const struct invocation *invocation, const char *name)
{
	return given_value(invocation, name) != NULL;
}

/*
 * Returns whether to use the host's store: yes for a user without a store, in all commands except
 * record and import.
 */
static bool is_of_host(const struct invocation *invocation, const char *own)
{
	return invocation->command != &command_record && invocation->command != &command_import &&
	       access(own, F_OK) < 0 && access(STORE_OF_HOST, F_OK) == 0;
}

/*
 * Returns the user's home folder. With file capabilities, the environment does not count, so asks
 * the user database.
 */
static const char *home_folder(void)
{
	const char *home = secure_getenv("HOME");
	const struct passwd *user;

	if (home && *home)
		return home;
	user = getauxval(AT_SECURE) ? getpwuid(geteuid()) : NULL;
	return user && *user->pw_dir ? user->pw_dir : ".";
}

const char *store_path(const struct invocation *invocation)
{
	const char *given = given_value(invocation, "store"), *state;
	static char path[PATH_MAX];

	if (invocation->store)
		return invocation->store;
	if (given)
		return given;
	given = secure_getenv("PERFTAPE_STORE");
	if (given && *given)
		return given;
	given = option_value(invocation, "store");
	if (given)
		return given;
	if (geteuid() == 0)
		return STORE_OF_HOST;
	state = secure_getenv("XDG_STATE_HOME");
	if (state && *state)
		snprintf(path, sizeof(path), "%s/perftape", state);
	else
		snprintf(path, sizeof(path), "%s/.local/state/perftape", home_folder());
	return is_of_host(invocation, path) ? STORE_OF_HOST : path;
}

void store_use_umask(const struct invocation *invocation)
{
	umask(store_umask(store_path(invocation)));
}

void store_warn_of_writers(const struct invocation *invocation)
{
	const char *path = store_path(invocation);
	struct stat about;

	/* the recorder itself removes these rights */
	if (strcmp(invocation->command->name, "record") != 0 && stat(path, &about) == 0 &&
	    S_ISDIR(about.st_mode) && about.st_mode & (S_IWGRP | S_IWOTH))
		say(invocation, "%s: other users can write there; it may contain what they forged",
		    path);
}

const char *program_name(void)
{
	const char *wrapper = secure_getenv("PERFTAPE_CALLED_AS");

	return wrapper && *wrapper ? wrapper : called;
}

void program_name_set(const char *argv0)
{
	if (argv0 && *argv0)
		called = argv0;
}

static void message_put(const char *message, struct buffer *lines, unsigned int *ret_rows)
{
	struct terminal terminal;

	terminal_read(&terminal, STDERR_FILENO, TERMINAL_COLOR_NEVER);
	/* copy bytes unchanged, because a locale without UTF-8 must not change paths */
	terminal.unicode = true;
	*ret_rows = lines_put(&terminal, (struct lines_shape){ .indent = MESSAGE_INDENT }, message,
			      lines);
}

unsigned int message_rows(const char *text)
{
	_cleanup_(buffer_done) struct buffer message = { 0 }, lines = { 0 };
	unsigned int rows;

	buffer_printf(&message, "perftape: %s", text);
	buffer_u8(&message, 0);
	if (buffer_failed(&message))
		return 1;
	message_put((const char *)message.data, &lines, &rows);
	return rows;
}

/* Writes whole lines, because other processes may write to the same terminal. */
static void message_print(enum journal_priority priority, const char *format, va_list args)
{
	_cleanup_(buffer_done) struct buffer message = { 0 }, lines = { 0 };
	_cleanup_free_ char *text = NULL;
	unsigned int rows;
	char before[16];

	snprintf(before, sizeof(before), "%sperftape: ", journal_prefix(priority));
	if (vasprintf(&text, format, args) < 0) {
		text = NULL;
		print_string(stderr, "perftape: out of memory\n");
		return;
	}
	foreign_clean(text);
	buffer_printf(&message, "perftape: %s", text);
	buffer_u8(&message, 0);
	if (isatty(STDERR_FILENO) && !buffer_failed(&message))
		message_put((const char *)message.data, &lines, &rows);
	/* without memory for the layout, print the message unwrapped */
	if (lines.size && !buffer_failed(&lines))
		print_text(stderr, &lines, false);
	else
		print_message(before, text);
}

void say(const struct invocation *invocation, const char *format, ...)
{
	va_list args;

	if (option_given(invocation, "quiet"))
		return;
	va_start(args, format);
	message_print(JOURNAL_INFO, format, args);
	va_end(args);
}

void warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	message_print(JOURNAL_WARNING, format, args);
	va_end(args);
}

static void message_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void message_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	message_print(JOURNAL_ERROR, format, args);
	va_end(args);
}

void print_shell_command(const char *command)
{
	_cleanup_(buffer_done) struct buffer lines = { 0 };
	struct terminal terminal;

	terminal_read(&terminal, STDERR_FILENO, TERMINAL_COLOR_NEVER);
	terminal.unicode = true;
	if (!isatty(STDERR_FILENO))
		terminal.wrap = 0;
	buffer_text(&lines, "  ");
	lines_put_command(&terminal, (struct lines_shape){ 2, 2 * MESSAGE_INDENT, false }, command,
			  &lines);
	if (buffer_failed(&lines))
		print_message("  ", command);
	else
		print_text(stderr, &lines, false);
}

int fail(int code, const struct error *error)
{
	message_fail("%s", error && error->text[0] ? error->text : strerror(-code));
	return EXIT_FAILED;
}

int usage_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	message_print(JOURNAL_ERROR, format, args);
	va_end(args);
	return EXIT_USAGE;
}

int option_error(const struct invocation *invocation, const char *name, const char *format, ...)
{
	const struct conf_row *setting =
		given_value(invocation, name) || !invocation->conf
			? NULL
			: conf_find(invocation->conf, invocation->command, name);
	_cleanup_free_ char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (setting)
		message_fail("%s:%u: %s %s", invocation->conf->path, setting->line, name,
			     text ? text : "");
	else
		message_fail("--%s %s", name, text ? text : "");
	return EXIT_USAGE;
}
