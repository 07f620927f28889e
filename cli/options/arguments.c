// SPDX-License-Identifier: GPL-2.0-only
/*
 * Options that every command has may stand before or after the command, and the command's own
 * options only after it. "--name value" is the same as "--name=value", "-o value" as "-ovalue", and
 * "-q -o value" as "-qo value".
 */
#include "cli/options/arguments.h"

#include <string.h>

#include "base/cleanup.h"
#include "cli/options/did-you-mean.h"

static const struct command *arguments_find_command(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

/* Reports an unknown name, and offers the most similar name, if any is similar. */
static int arguments_unknown(const struct command *command, const char *what, const char *dashes,
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
	return arguments_unknown(NULL, "command", "", &did_you_mean);
}

static int unknown_option(const struct command *command, const char *name)
{
	const struct option *tables[] = { command ? command->options : NULL, global_options };
	struct did_you_mean did_you_mean;

	did_you_mean_init(&did_you_mean, name);
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (const struct option *option = tables[i]; option && option->name; option++)
			did_you_mean_offer(&did_you_mean, option->name);
	return arguments_unknown(command, "option", "--", &did_you_mean);
}

/* Finds an option by its long name of `size` letters, or by its letter if name is NULL. */
static const struct option *arguments_find_option(const struct command *command, const char *name,
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

/* Reports an unknown letter. Shows the letter alone only if the letters before it are options. */
static int unknown_letter(const struct command *command, const char *word, const char *letter)
{
	const char text[] = { '-', *letter, 0 };

	return arguments_unknown(
		command, "option", "",
		&(struct did_you_mean){ .text = letter == word + 1 ? word : text });
}

/*
 * Parses a word such as "-qo", with "FILE" as the next word. The word contains flags, and at its
 * end an option that takes a value.
 */
static int arguments_parse_letters(struct invocation *invocation, const char *word, char ***words)
{
	int r = EXIT_DONE;

	for (const char *letter = word + 1; r == EXIT_DONE && *letter; letter++) {
		const struct option *option =
			arguments_find_option(invocation->command, NULL, 0, *letter);

		if (!option)
			return unknown_letter(invocation->command, word, letter);
		if (option->argument)
			return parse_value(invocation, option, letter[1] ? letter + 1 : NULL,
					   words);
		r = take_option(invocation, option, "");
	}
	return r;
}

static int arguments_parse_option(struct invocation *invocation, const char *word, char ***words)
{
	const struct option *option;
	size_t size;

	if (word[1] != '-')
		return arguments_parse_letters(invocation, word, words);
	word += 2;
	size = strcspn(word, "=");
	option = arguments_find_option(invocation->command, word, size, 0);
	if (!option && !invocation->command &&
	    arguments_find_option(&command_record, word, size, 0))
		return usage_error("'--%.*s' is an option of 'record'; write 'record' before it",
				   (int)size, word);
	if (!option)
		return unknown_option(invocation->command, word);
	return parse_value(invocation, option, word[size] ? word + size + 1 : NULL, words);
}

/* Treats the words "help" and "version" as the options of the same names. */
static int arguments_parse_command(struct invocation *invocation, const char *word)
{
	static const char *const options[] = { "help", "version" };

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (strcmp(options[i], word) == 0 && !option_typed(invocation, options[i]))
			return take_option(invocation,
					   arguments_find_option(NULL, word, strlen(word), 0), "");
	invocation->command = arguments_find_command(word);
	return invocation->command ? EXIT_DONE : unknown_command(word);
}

int arguments_parse(char **words, struct invocation *invocation)
{
	/* false after the word -- */
	bool options = true;
	int r = EXIT_DONE;

	while (r == EXIT_DONE && *words) {
		const char *word = *words++;

		if (options && strcmp(word, "--") == 0) {
			options = false;
		} else if (options && word[0] == '-' && word[1]) {
			r = arguments_parse_option(invocation, word, &words);
		} else if (!invocation->command) {
			r = arguments_parse_command(invocation, word);
		} else if (invocation->command->arguments) {
			invocation->words[invocation->word_count++] = words[-1];
		} else {
			r = usage_error("'%s' takes no argument '%s'; see 'perftape %s --help'",
					invocation->command->name, word, invocation->command->name);
		}
	}
	return r;
}
