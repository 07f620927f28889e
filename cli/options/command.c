// SPDX-License-Identifier: GPL-2.0-only
#include "cli/options/command.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/options/conf.h"

static const char *called = "perftape";

/* On the command line. */
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

const char *store_path(const struct invocation *invocation)
{
	const char *given = given_value(invocation, "store"), *state, *home;
	static char path[PATH_MAX];

	if (given)
		return given;
	given = getenv("PERFTAPE_STORE");
	if (given && *given)
		return given;
	given = option_value(invocation, "store");
	if (given)
		return given;
	if (geteuid() == 0)
		return "/var/lib/perftape";
	state = getenv("XDG_STATE_HOME");
	home = getenv("HOME");
	if (state && *state)
		snprintf(path, sizeof(path), "%s/perftape", state);
	else
		snprintf(path, sizeof(path), "%s/.local/state/perftape",
			 home && *home ? home : ".");
	return path;
}

const char *program_name(void)
{
	const char *wrapper = getenv("PERFTAPE_CALLED_AS");

	return wrapper && *wrapper ? wrapper : called;
}

void program_name_set(const char *argv0)
{
	if (argv0 && *argv0)
		called = argv0;
}

static void print_line(const char *format, va_list args)
{
	fputs("perftape: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

void say(const struct invocation *invocation, const char *format, ...)
{
	va_list args;

	if (option_given(invocation, "quiet"))
		return;
	va_start(args, format);
	print_line(format, args);
	va_end(args);
}

int fail(int code, const struct error *error)
{
	fprintf(stderr, "perftape: %s\n", error && error->text[0] ? error->text : strerror(-code));
	return EXIT_FAILED;
}

int usage_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(format, args);
	va_end(args);
	return EXIT_USAGE;
}

int option_error(const struct invocation *invocation, const char *name, const char *format, ...)
{
	const struct conf_row *setting =
		given_value(invocation, name) || !invocation->conf
			? NULL
			: conf_find(invocation->conf, invocation->command, name);
	va_list args;

	if (setting)
		fprintf(stderr, "perftape: %s:%u: %s ", invocation->conf->path, setting->line,
			name);
	else
		fprintf(stderr, "perftape: --%s ", name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return EXIT_USAGE;
}
