// SPDX-License-Identifier: GPL-2.0-only
#include "base/cleanup.h"
#include "cli/answer/screen.h"
#include "cli/options/command.h"
#include "cli/options/completion.h"

static const struct option options[] = { { 0 } };

static const char about[] =
	"A package installs completion for all three shells. To try it without one:\n\n"
	"  source <(perftape completion bash)\n";

static int completion_run(const struct invocation *invocation)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };

	if (invocation->word_count != 1)
		return usage_error("completion needs the name of one shell: bash, zsh or fish");
	if (!completion_put(invocation->words[0], &text))
		return usage_error("completion: '%s' is not a known shell; use bash, zsh or fish",
				   invocation->words[0]);
	return screen_print(&text);
}

const struct command command_completion = {
	.name = "completion",
	.arguments = "bash|zsh|fish",
	.summary = "Print a script with which a shell completes the command line",
	.about = about,
	.options = options,
	.run = completion_run,
};
