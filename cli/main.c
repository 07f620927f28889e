// SPDX-License-Identifier: GPL-2.0-only
/*
 * perftape: finds the command, parses its options by its table, runs it.
 *
 * Options that every command has may stand before or after the command, the command's own options
 * after it. "--name value" is the same as "--name=value", "-o value" as "-ovalue", and "-q -o
 * value" as "-qo value".
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

#include "recorder/run/capabilities.h"
#include "base/cleanup.h"
#include "process/helper.h"
#include "cli/options/command.h"
#include "cli/options/did-you-mean.h"
#include "cli/options/conf.h"
#include "cli/options/help.h"
#include "cli/options/print.h"
#include "cli/options/time-zone.h"
#include "cli/version.h"
#include "namer/name-server.h"
#include "recorder/files/open-helper.h"

const struct option global_options[] = {
	{ "store", 0, "DIR|FILE",
	  "store, or .tape file (default: $PERFTAPE_STORE, or /var/lib/perftape as root)" },
	{ "color", 0, "auto|always|never", "default: auto, which respects $NO_COLOR" },
	{ "config", 0, "FILE", "settings (default: $PERFTAPE_CONFIG, else " CONF_FILE ")" },
	{ "utc", 0, NULL, "read and print times in UTC" },
	{ "quiet", 'q', NULL, "print only errors, and gaps in the recorded data" },
	{ "verbose", 'v', NULL, "print how an answer was made" },
	{ "help", 'h', NULL, "show this help" },
	{ "version", 'V', NULL, "show the version" },
	{ 0 },
};

const struct command *const commands[] = {
	&command_record,
	&command_query,
	&command_top,
	&command_spikes,
	&command_heatmap,
	&command_flamegraph,
	&command_gauges,
	&command_audit,
	&command_incidents,
	&command_import,
	&command_segments,
	&command_status,
	&command_verify,
	&command_vacuum,
	&command_snapshot,
	&command_mark,
	&command_resolve,
	&command_completion,
	NULL,
};

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

/* Prints the most similar name, if there is one. */
static int main_unknown(const struct command *command, const char *what, const char *dashes,
			const struct did_you_mean *did_you_mean)
{
	if (did_you_mean->best)
		return usage_error("unknown %s '%s%s'; did you mean '%s%s'?", what, dashes,
				   did_you_mean->text, dashes, did_you_mean->best);
	return usage_error("unknown %s '%s%s'; see 'perftape%s%s --help'", what, dashes,
			   did_you_mean->text, command ? " " : "", command ? command->name : "");
}

static int unknown_command(const char *name)
{
	struct did_you_mean did_you_mean;

	did_you_mean_init(&did_you_mean, name);
	for (size_t i = 0; commands[i]; i++)
		did_you_mean_offer(&did_you_mean, commands[i]->name);
	did_you_mean_offer(&did_you_mean, "help");
	did_you_mean_offer(&did_you_mean, "version");
	return main_unknown(NULL, "command", "", &did_you_mean);
}

static int unknown_option(const struct command *command, const char *name)
{
	const struct option *tables[] = { command ? command->options : NULL, global_options };
	struct did_you_mean did_you_mean;

	did_you_mean_init(&did_you_mean, name);
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (const struct option *option = tables[i]; option && option->name; option++)
			did_you_mean_offer(&did_you_mean, option->name);
	return main_unknown(command, "option", "--", &did_you_mean);
}

/* Finds an option by its long name of `size` letters, or by its letter if name is NULL. */
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

/* Reads the value from the rest of the word, or else from the next word. */
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

/* In the message, shows the letter alone only if the letters before it are options. */
static int unknown_letter(const struct command *command, const char *word, const char *letter)
{
	const char text[] = { '-', *letter, 0 };

	return main_unknown(command, "option", "",
			    &(struct did_you_mean){ .text = letter == word + 1 ? word : text });
}

/*
 * Parses a word such as "-qo", with "FILE" as the next word. The word contains flags, and at its
 * end an option that takes a value.
 */
static int main_parse_letters(struct invocation *invocation, const char *word, char ***words)
{
	int r = EXIT_DONE;

	for (const char *letter = word + 1; r == EXIT_DONE && *letter; letter++) {
		const struct option *option =
			main_find_option(invocation->command, NULL, 0, *letter);

		if (!option)
			return unknown_letter(invocation->command, word, letter);
		if (option->argument)
			return parse_value(invocation, option, letter[1] ? letter + 1 : NULL,
					   words);
		r = take_option(invocation, option, "");
	}
	return r;
}

static int main_parse_option(struct invocation *invocation, const char *word, char ***words)
{
	const struct option *option;
	size_t size;

	if (word[1] != '-')
		return main_parse_letters(invocation, word, words);
	word += 2;
	size = strcspn(word, "=");
	option = main_find_option(invocation->command, word, size, 0);
	if (!option)
		return unknown_option(invocation->command, word);
	return parse_value(invocation, option, word[size] ? word + size + 1 : NULL, words);
}

/* Treats the words "help" and "version" as the options of the same names. */
static int main_parse_command(struct invocation *invocation, const char *word)
{
	static const char *const options[] = { "help", "version" };

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (strcmp(options[i], word) == 0 && !option_typed(invocation, options[i]))
			return take_option(invocation,
					   main_find_option(NULL, word, strlen(word), 0), "");
	invocation->command = find_command(word);
	return invocation->command ? EXIT_DONE : unknown_command(word);
}

static int main_parse(struct invocation *invocation, char **words)
{
	/* false after the word -- */
	bool options = true;
	int r = EXIT_DONE;

	while (r == EXIT_DONE && *words) {
		const char *word = *words++;

		if (options && strcmp(word, "--") == 0) {
			options = false;
		} else if (options && word[0] == '-' && word[1]) {
			r = main_parse_option(invocation, word, &words);
		} else if (!invocation->command) {
			r = main_parse_command(invocation, word);
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
 * Keeps the descriptors 0 to 2 occupied. Otherwise a file that we open could get one of them, and
 * messages would go into that file. Writing to a closed standard output still fails.
 */
static void open_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) < 0)
			return;
}

/* Reads the settings file. It must exist if the user named it. */
static int load_settings(struct invocation *invocation, struct conf *settings)
{
	const char *path = option_value(invocation, "config"), *environment, *by = "--config";
	struct error error = { 0 };
	int r;

	environment = secure_getenv("PERFTAPE_CONFIG");
	if (!path && environment && *environment) {
		path = environment;
		by = "$PERFTAPE_CONFIG";
	}
	r = conf_read(path ? path : CONF_FILE, path != NULL, settings, &error);
	if (r == -ENOENT)
		return usage_error(
			"%s: the file does not exist; give %s another file, or leave it out", path,
			by);
	if (r == -ENOMEM)
		return fail(r, NULL);
	if (r < 0)
		return usage_error("%s", error.text);
	invocation->conf = settings;
	return EXIT_DONE;
}

/* Warns about an unknown TZ. All times would be wrong by hours and still look right. */
static void check_time_zone(const struct invocation *invocation)
{
	const char *zone = secure_getenv("TZ");

	if (!option_given(invocation, "utc") && !time_zone_is_known(zone))
		say(invocation,
		    "TZ: this host does not know the time zone \"%.60s\"; local times are UTC",
		    zone);
}

/*
 * Warns that the environment does not count. The caller chose it, but not the rights that the
 * program's file gives.
 */
static void check_environment(const struct invocation *invocation)
{
	static const char *const names[] = { "PERFTAPE_STORE", "PERFTAPE_CONFIG" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (capabilities_come_from_file() && getenv(names[i]))
			say(invocation,
			    "%s is ignored, as this program has file capabilities; use an option",
			    names[i]);
}

static int main_run(struct invocation *invocation)
{
	struct conf settings = { 0 };
	int r = load_settings(invocation, &settings);

	if (r == EXIT_DONE) {
		check_time_zone(invocation);
		check_environment(invocation);
		store_use_umask(invocation);
		store_warn_of_writers(invocation);
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

/*
 * Closes standard output. If the output was not written completely, that is a failure, and this is
 * the last chance to report it.
 */
static int close_output(int code)
{
	struct error error;
	int r = fflush(stdout) < 0 ? -errno : 0;

	/* an earlier write failed, and its errno is gone by now */
	if (r == 0 && ferror(stdout))
		r = reader_is_gone() ? -EPIPE : -EIO;
	if (r == 0 || r == -EPIPE || (code != EXIT_DONE && code != EXIT_FINDINGS))
		return code;
	error_set(&error, r, "cannot write standard output: %s",
		  r == -EIO ? "a write to it failed" : strerror(-r));
	return fail(r, &error);
}

static int main_cannot_drop(void)
{
	warn("cannot give up the program's rights: %s; check its file capabilities",
	     strerror(errno));
	return EXIT_FAILED;
}

/* What helper processes do. */
static const struct helper_job jobs[] = {
	{ NAME_SERVER_JOB, name_server_run },
	{ OPEN_HELPER_JOB, open_helper_run },
	{ OPEN_KEEPER_JOB, open_helper_keep },
	{ 0 },
};

int main(int argc, char **argv)
{
	char *words[argc + 1];
	struct invocation invocation = { .words = words };
	int r;

	helper_enter(argc, argv, jobs);
	/* Files that the caller names are opened with the caller's own rights. */
	if (capabilities_lower() < 0)
		return main_cannot_drop();

	open_standard_files();
	/* Makes a write to a closed pipe fail with EPIPE, which is not an error for commands. */
	signal(SIGPIPE, SIG_IGN);
	/*
	 * Makes a write beyond the file size limit fail with EFBIG, which commands report and clean
	 * up.
	 */
	signal(SIGXFSZ, SIG_IGN);
	tzset();
	program_name_set(argv[0]);
	r = main_parse(&invocation, argv + 1);
	if (r != EXIT_DONE)
		return r;
	/* Only a recording needs more rights than its caller has. */
	if (invocation.command != &command_record && capabilities_drop() < 0)
		return main_cannot_drop();
	if (option_given(&invocation, "version")) {
		print_string(stdout, "perftape " PERFTAPE_VERSION "\n");
		return close_output(EXIT_DONE);
	}
	if (option_given(&invocation, "help")) {
		help_print(invocation.command);
		return close_output(EXIT_DONE);
	}
	if (!invocation.command)
		return usage_error("no command given; see 'perftape --help'");
	return close_output(main_run(&invocation));
}
