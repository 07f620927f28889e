// SPDX-License-Identifier: GPL-2.0-only
/*
 * perftape: finds the command, parses its options by its table, runs it.
 *
 * Options of every command may stand before and after it, its own after it; "--name value" and
 * "--name=value" are the same, and so are "-o value" and
 * "-ovalue".
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/options/command.h"
#include "cli/options/did-you-mean.h"
#include "cli/options/conf.h"
#include "cli/options/time-zone.h"
#include "cli/version.h"

const struct option global_options[] = {
	{ "store", 0, "DIR",
	  "the store (default: $PERFTAPE_STORE, else /var/lib/perftape as root)" },
	{ "color", 0, "WHEN", "auto (default), always or never; auto respects $NO_COLOR" },
	{ "config", 0, "FILE", "settings (default: $PERFTAPE_CONFIG, else " CONF_FILE ")" },
	{ "utc", 0, NULL, "times are read and shown in UTC" },
	{ "quiet", 'q', NULL, "say nothing but errors, and what is missing" },
	{ "verbose", 'v', NULL, "say more of how an answer came about" },
	{ "help", 'h', NULL, "show this" },
	{ "version", 0, NULL, "show the version" },
	{ 0 },
};

const struct command *const commands[] = {
	&command_record, &command_query,    &command_top,
	&command_spikes, &command_heatmap,  &command_flamegraph,
	&command_gauges, &command_audit,    &command_incidents,
	&command_import, &command_segments, &command_status,
	&command_verify, &command_vacuum,   &command_snapshot,
	&command_mark,	 &command_resolve,  NULL,
};

static void print_options(const struct option *options)
{
	for (; options->name; options++) {
		char left[64];

		snprintf(left, sizeof(left), "%c%c%c --%s%s%s", options->letter ? '-' : ' ',
			 options->letter ? options->letter : ' ', options->letter ? ',' : ' ',
			 options->name, options->argument ? " " : "",
			 options->argument ? options->argument : "");
		printf("  %-26s %s\n", left, options->help);
	}
}

static void print_help(const struct command *command)
{
	if (command) {
		printf("Usage: perftape %s [OPTIONS]%s%s\n\n%s.\n", command->name,
		       command->arguments ? " " : "", command->arguments ? command->arguments : "",
		       command->summary);
		if (command->about)
			printf("\n%s", command->about);
		if (command->options->name)
			printf("\nOptions:\n");
		print_options(command->options);
	} else {
		printf("Usage: perftape COMMAND [OPTIONS]\n\n"
		       "A flight recorder for CPU stacks: records all CPUs, finds any moment again.\n\n"
		       "Commands:\n");
		for (size_t i = 0; commands[i]; i++)
			printf("  %-26s %s\n", commands[i]->name, commands[i]->summary);
		printf("\n\"perftape COMMAND --help\" shows the options of a command.\n");
	}
	printf("\nOptions of every command:\n");
	print_options(global_options);
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

/* One line, with the nearest name where there is one. */
static int main_unknown(const struct command *command, const char *what, const char *dashes,
			const struct did_you_mean *nearest)
{
	if (nearest->best)
		return usage_error("unknown %s '%s%s'; did you mean '%s%s'?", what, dashes,
				   nearest->text, dashes, nearest->best);
	return usage_error("unknown %s '%s%s'; see 'perftape%s%s --help'", what, dashes,
			   nearest->text, command ? " " : "", command ? command->name : "");
}

static int unknown_command(const char *name)
{
	struct did_you_mean nearest;

	did_you_mean_init(&nearest, name);
	for (size_t i = 0; commands[i]; i++)
		did_you_mean_offer(&nearest, commands[i]->name);
	return main_unknown(NULL, "command", "", &nearest);
}

static int unknown_option(const struct command *command, const char *name)
{
	const struct option *tables[] = { command ? command->options : NULL, global_options };
	struct did_you_mean nearest;

	did_you_mean_init(&nearest, name);
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (const struct option *option = tables[i]; option && option->name; option++)
			did_you_mean_offer(&nearest, option->name);
	return main_unknown(command, "option", "--", &nearest);
}

/* By its long name of size letters, or by its letter when name is NULL. */
static const struct option *main_find_option(const struct command *command, const char *name,
					     size_t size, char letter)
{
	const struct option *tables[] = { command ? command->options : NULL, global_options };

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (const struct option *option = tables[i]; option && option->name; option++)
			if (name ? strlen(option->name) == size &&
					    strncmp(option->name, name, size) == 0
				 : letter && option->letter == letter)
				return option;
	return NULL;
}

static int take_option(struct invocation *invocation, const struct option *option,
		       const char *value)
{
	if (invocation->given_count == OPTIONS_MAX)
		return usage_error("more than %d options", OPTIONS_MAX);
	invocation->given[invocation->given_count].option = option;
	invocation->given[invocation->given_count++].value = value;
	return EXIT_DONE;
}

/* The value of an option from the rest of its own word, or else from the next one. */
static int parse_value(struct invocation *invocation, const struct option *option, const char *rest,
		       char ***words)
{
	if (!option->argument)
		return rest ? usage_error("option '--%s' takes no value", option->name)
			    : take_option(invocation, option, "");
	if (!rest)
		rest = **words ? *(*words)++ : NULL;
	if (!rest || !*rest)
		return usage_error("option '--%s' needs a value: %s", option->name,
				   option->argument);
	return take_option(invocation, option, rest);
}

static int main_parse_option(struct invocation *invocation, const char *word, char ***words)
{
	const struct option *option;
	size_t size;

	if (word[1] != '-') {
		option = main_find_option(invocation->command, NULL, 0, word[1]);
		if (!option)
			return main_unknown(invocation->command, "option", "",
					    &(struct did_you_mean){ .text = word });
		return parse_value(invocation, option, word[2] ? word + 2 : NULL, words);
	}
	word += 2;
	size = strcspn(word, "=");
	option = main_find_option(invocation->command, word, size, 0);
	if (!option)
		return unknown_option(invocation->command, word);
	return parse_value(invocation, option, word[size] ? word + size + 1 : NULL, words);
}

static int main_parse(struct invocation *invocation, char **words)
{
	bool options = true; /* up to a word that is -- */
	int r = EXIT_DONE;

	while (r == EXIT_DONE && *words) {
		const char *word = *words++;

		if (options && strcmp(word, "--") == 0) {
			options = false;
		} else if (options && word[0] == '-' && word[1]) {
			r = main_parse_option(invocation, word, &words);
		} else if (!invocation->command) {
			invocation->command = find_command(word);
			if (!invocation->command)
				r = unknown_command(word);
		} else if (invocation->command->arguments) {
			invocation->words[invocation->word_count++] = words[-1];
		} else {
			r = usage_error("'%s' takes no argument '%s'; see 'perftape %s --help'",
					invocation->command->name, word, invocation->command->name);
		}
	}
	return r;
}

/*
 * A file that we open must not become one of the standard three: what is said would go into it. An
 * answer to a standard output that is closed fails as it would without this.
 */
static void open_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) < 0)
			return;
}

/* One that is named has to be there. */
static int load_settings(struct invocation *invocation, struct conf *settings)
{
	const char *path = option_value(invocation, "config"), *environment, *by = "--config";
	struct error error = { 0 };
	int r;

	environment = getenv("PERFTAPE_CONFIG");
	if (!path && environment && *environment) {
		path = environment;
		by = "$PERFTAPE_CONFIG";
	}
	r = conf_read(path ? path : CONF_FILE, path != NULL, settings, &error);
	if (r == -ENOENT)
		return usage_error(
			"%s: there is no such file; give %s one that is there, or leave it out",
			path, by);
	if (r < 0)
		return usage_error("%s", *error.text ? error.text : "out of memory");
	invocation->conf = settings;
	return EXIT_DONE;
}

/* All times would be an hour or ten off, and look right. */
static void check_time_zone(const struct invocation *invocation)
{
	const char *zone = getenv("TZ");

	if (!option_given(invocation, "utc") && !time_zone_is_known(zone))
		say(invocation,
		    "TZ is \"%.60s\", which is no time zone of this host: local times are UTC",
		    zone);
}

static int main_run(struct invocation *invocation)
{
	struct conf settings = { 0 };
	int r = load_settings(invocation, &settings);

	if (r == EXIT_DONE) {
		check_time_zone(invocation);
		r = invocation->command->run(invocation);
	}
	conf_done(&settings);
	return r;
}

static bool reader_is_gone(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	return poll(&out, 1, 0) > 0 && out.revents & POLLERR;
}

/* Data that did not reach standard output is a failure, and the last moment to say so. */
static int close_output(int code)
{
	struct error error;
	int r = fflush(stdout) < 0 ? -errno : 0;

	/* what an earlier write failed with is not known any more, and errno is of something else
	 * by now */
	if (r == 0 && ferror(stdout))
		r = reader_is_gone() ? -EPIPE : -EIO;
	if (r == 0 || r == -EPIPE || (code != EXIT_DONE && code != EXIT_FINDINGS))
		return code;
	error_set(&error, r, "cannot write standard output: %s",
		  r == -EIO ? "a write to it failed" : strerror(-r));
	return fail(r, &error);
}

int main(int argc, char **argv)
{
	char *words[argc + 1];
	struct invocation invocation = { .words = words };
	int r;

	open_standard_files();
	/* a reader that went away is EPIPE, which commands tell from a failure */
	signal(SIGPIPE, SIG_IGN);
	/* a file that may not grow is EFBIG, which is told, and leaves no half of it behind */
	signal(SIGXFSZ, SIG_IGN);
	tzset();
	program_name_set(argv[0]);
	r = main_parse(&invocation, argv + 1);
	if (r != EXIT_DONE)
		return r;
	if (option_given(&invocation, "version")) {
		printf("perftape %s\n", PERFTAPE_VERSION);
		return close_output(EXIT_DONE);
	}
	if (option_given(&invocation, "help")) {
		print_help(invocation.command);
		return close_output(EXIT_DONE);
	}
	if (!invocation.command)
		return usage_error("which command? See 'perftape --help'");
	return close_output(main_run(&invocation));
}
