// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "cli/options/command.h"
#include "cli/answer/progress-line.h"
#include "store/disk/files.h"
#include "store/disk/notes.h"
#include "store/read/store-reader.h"
#include "store/write/store-writer.h"

static const struct option options[] = {
	{ "rebuild", 0, NULL,
	  "make the index anew first, and set aside what is damaged in the notes" },
	{ 0 },
};

static const char about[] =
	"Reads every byte of the store and prints a line for each thing that is wrong.\n"
	"Exits with 1 when something is damaged.\n";

/* What loading a segment says begins with its name already. */
static void print_finding(void *context, const char *file, const char *what)
{
	size_t size = strlen(file);

	progress_line_end(context);
	if (strncmp(what, file, size) == 0 && what[size] == ':')
		printf("%s\n", what);
	else
		printf("%s: %s\n", file, what);
}

/* The writer would make a store where there is none. */
static int verify_rebuild(const struct invocation *invocation)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct error error = { 0 };
	uint64_t bytes = 0;
	int r = store_reader_open(store_path(invocation), &reader, &error);

	if (r == 0)
		r = store_writer_open(store_path(invocation), &writer, &error);
	if (r == 0)
		r = store_writer_rebuild(writer, &error);
	if (r == 0)
		r = notes_repair(store_path(invocation), &bytes, &error);
	if (r < 0)
		return fail(r, &error);
	if (bytes)
		say(invocation, "%llu bytes of the notes were damaged, and are in %s/%s now",
		    (unsigned long long)bytes, store_path(invocation), STORE_NOTES_DAMAGED);
	say(invocation, "the index is made anew");
	return EXIT_DONE;
}

static int verify_tell(const struct invocation *invocation, const struct store_verified *verified)
{
	char size[32];

	say(invocation, "%llu segment%s, %llu samples, %s: %s",
	    (unsigned long long)verified->segments, verified->segments == 1 ? "" : "s",
	    (unsigned long long)verified->samples, size_format(verified->bytes, size, sizeof(size)),
	    verified->damaged ? "some of it is damaged" : "sound");
	if (verified->stale)
		say(invocation,
		    "%llu rows of the index are missing or say something else; answers do not depend on it, and verify --rebuild makes it anew",
		    (unsigned long long)verified->stale);
	return verified->damaged ? EXIT_FAILED : EXIT_DONE;
}

static int verify_run(const struct invocation *invocation)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct store_verified verified = { 0 };
	struct progress_line progress;
	struct error error = { 0 };
	int r = option_given(invocation, "rebuild") ? verify_rebuild(invocation) : EXIT_DONE;

	if (r != EXIT_DONE)
		return r;
	/* only now: what it has open is the index that it judges */
	r = store_reader_open(store_path(invocation), &reader, &error);
	if (r < 0)
		return fail(r, &error);
	progress_line_start(&progress, "bytes", option_given(invocation, "quiet"));
	r = store_reader_verify(reader, print_finding, progress_line_show, &progress, &verified,
				&error);
	progress_line_end(&progress);
	return r < 0 ? fail(r, &error) : verify_tell(invocation, &verified);
}

const struct command command_verify = {
	.name = "verify",
	.summary = "Look at every byte that is stored, and say what is damaged",
	.about = about,
	.options = options,
	.run = verify_run,
};
