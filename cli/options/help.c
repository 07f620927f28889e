// SPDX-License-Identifier: GPL-2.0-only
#include "cli/options/help.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "cli/options/print.h"
#include "draw/lines.h"

#define LEFT_WIDTH 29
#define SHORT_INDENT 10
/* On a narrower terminal, the explanation stands below the name. */
#define WIDTH_BESIDE 72
/* Longer lines are hard to read. */
#define WIDTH_MAX 100
/*
 * The width if the output is not a terminal. A pager may show the text on the narrowest usual
 * terminal.
 */
#define WIDTH_PIPE 80

static const char intro[] =
	"Usage: perftape COMMAND [OPTIONS]\n"
	"\n"
	"A flight recorder for CPU stacks: records all CPUs, finds any moment again.\n"
	"\n"
	"Commands:\n";

struct help {
	struct terminal terminal;
	struct buffer text;
};

static void help_put_row(struct help *help, const char *left, const char *right)
{
	bool narrow = help->terminal.wrap < WIDTH_BESIDE;
	unsigned int indent = narrow ? SHORT_INDENT : LEFT_WIDTH;
	size_t size = strlen(left);

	buffer_printf(&help->text, "  %s", left);
	if (narrow || size + 3 > LEFT_WIDTH)
		buffer_printf(&help->text, "\n%*s", (int)indent, "");
	else
		buffer_printf(&help->text, "%*s", (int)(LEFT_WIDTH - size - 2), "");
	lines_put(&help->terminal, (struct lines_shape){ indent, indent, true }, right,
		  &help->text);
}

static void help_put_options(struct help *help, const struct option *options)
{
	for (; options->name; options++) {
		char left[64];

		snprintf(left, sizeof(left), "%c%c%c --%s%s%s", options->letter ? '-' : ' ',
			 options->letter ? options->letter : ' ', options->letter ? ',' : ' ',
			 options->name, options->argument ? " " : "",
			 options->argument ? options->argument : "");
		help_put_row(help, left, options->help);
	}
}

/*
 * Puts a text that already has line breaks. Joins lines that do not end in a full stop, and wraps
 * them again.
 */
static void help_put_text(struct help *help, const char *text)
{
	_cleanup_(buffer_done) struct buffer joined = { 0 };

	for (const char *at = text; *at; at++) {
		bool joins = *at == '\n' && at[1] && at[1] != '\n' && at > text && at[-1] != '\n' &&
			     at[-1] != '.';

		buffer_u8(&joined, joins ? ' ' : *at);
	}
	buffer_u8(&joined, 0);
	if (buffer_failed(&joined))
		help->text.failed = true;
	else
		lines_put(&help->terminal, (struct lines_shape){ .prose = true },
			  (const char *)joined.data, &help->text);
}

static void help_put_command(struct help *help, const struct command *command)
{
	buffer_printf(&help->text, "Usage: perftape %s [OPTIONS]%s%s\n\n", command->name,
		      command->arguments ? " " : "", command->arguments ? command->arguments : "");
	help_put_text(help, command->summary);
	help->text.size--;
	buffer_text(&help->text, ".\n");
	if (command->about) {
		buffer_u8(&help->text, '\n');
		help_put_text(help, command->about);
	}
	if (command->options->name)
		buffer_text(&help->text, "\nOptions:\n");
	help_put_options(help, command->options);
}

static void help_put_program(struct help *help)
{
	help_put_text(help, intro);
	for (size_t i = 0; commands[i]; i++)
		help_put_row(help, commands[i]->name, commands[i]->summary);
	help_put_text(help, "\n\"perftape help COMMAND\" shows the options of a command.\n");
}

void help_print(const struct command *command)
{
	struct help help = { 0 };

	terminal_read(&help.terminal, STDOUT_FILENO, TERMINAL_COLOR_NEVER);
	help.terminal.wrap =
		help.terminal.wrap ? MIN(help.terminal.wrap, (unsigned int)WIDTH_MAX) : WIDTH_PIPE;
	if (command)
		help_put_command(&help, command);
	else
		help_put_program(&help);
	buffer_text(&help.text, "\nOptions of every command:\n");
	help_put_options(&help, global_options);
	print_text(stdout, &help.text, false);
	buffer_done(&help.text);
}
