// SPDX-License-Identifier: GPL-2.0-only
#include "cli/options/completion.h"

#include <ctype.h>
#include <string.h>

#include "cli/options/command.h"

/* The words, files or folders that complete a value. */
struct completion {
	/* Words, with a blank behind each. */
	char words[128];
	bool files, folders;
};

/* Reads a placeholder such as "[scan FILE]". */
static struct completion completion_of(const char *placeholder)
{
	struct completion completion = { 0 };
	size_t used = 0;

	for (const char *at = placeholder; *at;) {
		size_t size = strcspn(at, "[]|. ");

		if (size == 4 && strncmp(at, "FILE", size) == 0) {
			completion.files = true;
		} else if (size == 3 && strncmp(at, "DIR", size) == 0) {
			completion.folders = true;
		} else if (islower((unsigned char)*at) &&
			   used + size + 2 <= sizeof(completion.words)) {
			memcpy(completion.words + used, at, size);
			used += size;
			completion.words[used++] = ' ';
		}
		at += size + (at[size] != 0);
	}
	return completion;
}

/* Puts a text between single quotes. Puts a backslash before the letters of `special`. */
static void completion_put_escaped(const char *words, const char *special, struct buffer *text)
{
	for (; *words; words++) {
		if (*words == '\'')
			buffer_text(text, "'\\'");
		else if (strchr(special, *words))
			buffer_u8(text, '\\');
		buffer_u8(text, (uint8_t)*words);
	}
}

static void bash_put_options(const struct option *options, struct buffer *text)
{
	for (; options->name; options++) {
		buffer_printf(text, " --%s", options->name);
		if (options->letter)
			buffer_printf(text, " -%c", options->letter);
	}
}

/* Puts a pattern that matches each option with a value, and its values. */
static void bash_put_values(const char *command, const struct option *options, struct buffer *text)
{
	for (; options->name; options++) {
		struct completion completion;

		if (!options->argument)
			continue;
		completion = completion_of(options->argument);
		buffer_printf(text, "\t%s' --%s'", command, options->name);
		if (options->letter)
			buffer_printf(text, "|%s' -%c'", command, options->letter);
		buffer_printf(text, ") words='%s' files=%s ;;\n", completion.words,
			      completion.files	   ? "-f"
			      : completion.folders ? "-d"
						   : "");
	}
}

static void bash_put_skipped(struct buffer *text)
{
	const char *before = "";

	for (const struct option *option = global_options; option->name; option++)
		if (option->argument) {
			buffer_printf(text, "%s--%s", before, option->name);
			before = "|";
		}
}

static const char bash_begin[] =
	"# Bash completion for perftape.\n"
	"_perftape() {\n"
	"\tlocal current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
	"\tlocal command= options= words= files= i\n"
	"\t# bash splits --name=value into three words\n"
	"\tif [[ $current == = ]]; then\n"
	"\t\tcurrent=\n"
	"\telif [[ $previous == = ]]; then\n"
	"\t\tprevious=${COMP_WORDS[COMP_CWORD - 2]}\n"
	"\tfi\n"
	"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	"\t\tcase ${COMP_WORDS[i]} in\n"
	"\t\t";

static const char bash_end[] = "\tesac\n"
			       "\t[[ $current != -* ]] || words=$options\n"
			       "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\"\n"
			       "\t\t[[ -z $files ]] || compgen \"$files\" -- \"$current\")\n"
			       "\t[[ -z $files ]] || compopt -o filenames 2>/dev/null\n"
			       "}\n"
			       "complete -F _perftape perftape\n";

static void bash_put(struct buffer *text)
{
	buffer_text(text, bash_begin);
	bash_put_skipped(text);
	buffer_text(text, ") [[ ${COMP_WORDS[i + 1]-} != = ]] || i=$((i + 1))\n"
			  "\t\t\ti=$((i + 1)) ;;\n"
			  "\t\t-*) ;;\n"
			  "\t\t*) command=${COMP_WORDS[i]}\n"
			  "\t\t\tbreak ;;\n"
			  "\t\tesac\n"
			  "\tdone\n"
			  "\tcase $command in\n"
			  "\t'') words='");
	for (size_t i = 0; commands[i]; i++)
		buffer_printf(text, "%s ", commands[i]->name);
	buffer_text(text, "help version' options='");
	bash_put_options(global_options, text);
	buffer_text(text, "' ;;\n\thelp) words='");
	for (size_t i = 0; commands[i]; i++)
		buffer_printf(text, "%s ", commands[i]->name);
	buffer_text(text, "' ;;\n");
	for (size_t i = 0; commands[i]; i++) {
		struct completion completion =
			completion_of(commands[i]->arguments ? commands[i]->arguments : "");

		buffer_printf(text, "\t%s) words='%s' files=%s options='", commands[i]->name,
			      completion.words, completion.files ? "-f" : "");
		bash_put_options(commands[i]->options, text);
		bash_put_options(global_options, text);
		buffer_text(text, "' ;;\n");
	}
	buffer_text(text, "\tesac\n\tcase \"$command $previous\" in\n");
	for (size_t i = 0; commands[i]; i++)
		bash_put_values(commands[i]->name, commands[i]->options, text);
	bash_put_values("*", global_options, text);
	buffer_text(text, bash_end);
}

static void zsh_put_values(const char *placeholder, struct buffer *text)
{
	struct completion completion = completion_of(placeholder);

	buffer_u8(text, ':');
	completion_put_escaped(placeholder, "[]:", text);
	if (completion.files && completion.words[0])
		buffer_printf(text,
			      ": _alternative \"words\\:word\\:(%s)\" \"files\\:file\\:_files\"",
			      completion.words);
	else if (completion.files)
		buffer_text(text, ":_files");
	else if (completion.folders)
		buffer_text(text, ":_files -/");
	else if (completion.words[0])
		buffer_printf(text, ":(%s)", completion.words);
	else
		buffer_text(text, ": ");
}

static void zsh_put_option(const struct option *option, bool letter, struct buffer *text)
{
	buffer_text(text, " '*-");
	if (letter)
		buffer_printf(text, "%c%s", option->letter, option->argument ? "+" : "");
	else
		buffer_printf(text, "-%s%s", option->name, option->argument ? "=" : "");
	buffer_u8(text, '[');
	completion_put_escaped(option->help, "[]:", text);
	buffer_u8(text, ']');
	if (option->argument)
		zsh_put_values(option->argument, text);
	buffer_u8(text, '\'');
}

static void zsh_put_options(const struct option *options, struct buffer *text)
{
	for (; options->name; options++) {
		zsh_put_option(options, false, text);
		if (options->letter)
			zsh_put_option(options, true, text);
	}
}

static void zsh_put_commands(struct buffer *text)
{
	for (size_t i = 0; commands[i]; i++) {
		buffer_printf(text, " '%s:", commands[i]->name);
		completion_put_escaped(commands[i]->summary, ":", text);
		buffer_u8(text, '\'');
	}
}

static void zsh_put(struct buffer *text)
{
	buffer_text(text, "#compdef perftape\n"
			  "_perftape() {\n"
			  "\tlocal curcontext=$curcontext state line\n"
			  "\tlocal -a globals names\n"
			  "\tglobals=(");
	zsh_put_options(global_options, text);
	buffer_text(text, ")\n\tnames=(");
	zsh_put_commands(text);
	buffer_text(text, ")\n"
			  "\t_arguments -C -s $globals '1:command:->command' '*::rest:->rest'\n"
			  "\tcase $state in\n"
			  "\tcommand) _describe command names ;;\n"
			  "\trest) case $line[1] in\n"
			  "\t\thelp) _describe command names ;;\n");
	for (size_t i = 0; commands[i]; i++) {
		buffer_printf(text, "\t\t%s) _arguments -s $globals", commands[i]->name);
		zsh_put_options(commands[i]->options, text);
		if (commands[i]->arguments) {
			buffer_text(text, " '*");
			zsh_put_values(commands[i]->arguments, text);
			buffer_u8(text, '\'');
		}
		buffer_text(text, " ;;\n");
	}
	buffer_text(text, "\tesac ;;\n"
			  "\tesac\n"
			  "}\n"
			  "if [[ -n $funcstack ]]; then\n"
			  "\t_perftape \"$@\"\n"
			  "else\n"
			  "\tcompdef _perftape perftape\n"
			  "fi\n");
}

/* Puts the rest of a line that completes the option's value, if the option takes a value. */
static void fish_put_values(const char *placeholder, struct buffer *text)
{
	struct completion completion = completion_of(placeholder);

	if (completion.files)
		buffer_text(text, " -r -F");
	else if (completion.folders)
		buffer_text(text, " -x -a '(__fish_complete_directories)'");
	else
		buffer_printf(text, " -x -a '%s'", completion.words);
}

static void fish_put_options(const char *command, const struct option *options, struct buffer *text)
{
	for (; options->name; options++) {
		buffer_text(text, "complete -c perftape");
		if (command)
			buffer_printf(text, " -n '__fish_seen_subcommand_from %s'", command);
		buffer_printf(text, " -l %s", options->name);
		if (options->letter)
			buffer_printf(text, " -s %c", options->letter);
		if (options->argument)
			fish_put_values(options->argument, text);
		buffer_text(text, " -d '");
		completion_put_escaped(options->help, "\\", text);
		buffer_text(text, "'\n");
	}
}

static void fish_put_words(const struct command *command, struct buffer *text)
{
	struct completion completion = completion_of(command->arguments);

	if (completion.words[0] || completion.files)
		buffer_printf(
			text,
			"complete -c perftape -n '__fish_seen_subcommand_from %s' -a '%s'%s\n",
			command->name, completion.words, completion.files ? " -F" : "");
}

static void fish_put_names(struct buffer *text)
{
	for (size_t i = 0; commands[i]; i++) {
		buffer_printf(text, "complete -c perftape -n '__perftape_needs_command' -a %s -d '",
			      commands[i]->name);
		completion_put_escaped(commands[i]->summary, "\\", text);
		buffer_text(text, "'\n");
	}
}

static void fish_put(struct buffer *text)
{
	buffer_text(text, "# Fish completion for perftape.\n"
			  "function __perftape_needs_command\n"
			  "\tnot __fish_seen_subcommand_from");
	for (size_t i = 0; commands[i]; i++)
		buffer_printf(text, " %s", commands[i]->name);
	buffer_text(text, "\nend\ncomplete -c perftape -f\n");
	fish_put_names(text);
	fish_put_options(NULL, global_options, text);
	for (size_t i = 0; commands[i]; i++) {
		fish_put_options(commands[i]->name, commands[i]->options, text);
		if (commands[i]->arguments)
			fish_put_words(commands[i], text);
	}
}

bool completion_put(const char *shell, struct buffer *text)
{
	static const struct {
		const char *shell;
		void (*put)(struct buffer *text);
	} shells[] = { { "bash", bash_put }, { "zsh", zsh_put }, { "fish", fish_put } };

	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
		if (strcmp(shells[i].shell, shell) == 0) {
			shells[i].put(text);
			return true;
		}
	return false;
}
