// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/number.h"
#include "base/size.h"
#include "cli/answer/host-name.h"
#include "cli/answer/screen.h"
#include "cli/options/command.h"
#include "cli/answer/progress-line.h"
#include "cli/commands/digest-adding.h"
#include "draw/lines.h"
#include "query/read/store-host.h"
#include "recorder/run/rights.h"
#include "store/disk/files.h"
#include "store/disk/notes.h"
#include "store/read/store-reader.h"
#include "store/write/store-writer.h"

static const struct option options[] = {
	{ "rebuild", 0, NULL, "rebuild the index first, set damaged notes aside, and add sums" },
	JSON_OPTION,
	{ 0 },
};

static const char about[] = "Reads every byte of the store and prints a line for each damage.\n"
			    "Exit code 1: something is damaged.\n";

struct verifying {
	struct progress_line progress;
	bool json;
};

static void verify_print_json(const char *file, const char *what)
{
	_cleanup_(buffer_done) struct buffer json = { 0 };

	json_open(&json, '{');
	json_key(&json, "file");
	json_string(&json, file);
	json_key(&json, "damage");
	json_string(&json, what);
	json_close(&json, '}');
	buffer_u8(&json, '\n');
	screen_print(&json);
}

/* Prints a finding. The message may already begin with the file's name. */
static void print_finding(void *context, const char *file, const char *what)
{
	struct verifying *verifying = context;
	size_t size = strlen(file);
	bool named = strncmp(what, file, size) == 0 && what[size] == ':';

	_cleanup_(buffer_done) struct buffer finding = { 0 }, lines = { 0 };
	struct terminal terminal;

	progress_line_end(&verifying->progress);
	if (verifying->json) {
		verify_print_json(file, named ? what + size + 1 + (what[size + 1] == ' ') : what);
		return;
	}
	if (named)
		buffer_text(&finding, what);
	else
		buffer_printf(&finding, "%s: %s", file, what);
	buffer_u8(&finding, 0);
	screen_read_lines(NULL, &terminal);
	if (buffer_failed(&finding))
		warn("%s: out of memory", file);
	else
		lines_put(&terminal, (struct lines_shape){ .indent = HEAD_INDENT },
			  (const char *)finding.data, &lines);
	screen_print(&lines);
}

/* Rebuilds the index, and repairs the notes, while no other writer works. */
static int verify_rebuild_index(const char *store, uint64_t *ret_bytes, struct error *error)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	int r = rights_become_owner(store, error);

	if (r < 0)
		return r;
	r = store_writer_open(store, &writer, error);
	if (r < 0)
		return r;
	r = store_writer_rebuild(writer, error);
	return r < 0 ? r : notes_repair(store, ret_bytes, error);
}

/*
 * Rebuilds the index. Opens the store for reading first, because a writer would create a missing
 * store.
 */
static int verify_rebuild(const struct invocation *invocation)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	const char *store = store_path(invocation);
	struct error error = { 0 };
	uint64_t bytes = 0, digests = 0;
	int r = store_reader_open(store, &reader, &error);

	if (r < 0)
		return fail(r, &error);
	r = verify_rebuild_index(store, &bytes, &error);
	if (r < 0)
		return fail(r, &error);
	r = digest_adding_run(store, reader, &digests, &error);
	if (r < 0)
		return fail(r, &error);
	if (bytes)
		say(invocation, "%llu damaged bytes of the notes were moved to %s/%s",
		    (unsigned long long)bytes, store, STORE_NOTES_DAMAGED);
	if (digests)
		say(invocation, "%llu segment%s got sums, so that long windows answer faster",
		    (unsigned long long)digests, plural(digests));
	say(invocation, "the index was rebuilt");
	return EXIT_DONE;
}

/*
 * Rebuilds the index in a child process that gives up root's rights. This process keeps root's
 * rights, to read the store afterwards.
 */
static int verify_rebuild_apart(const struct invocation *invocation)
{
	struct error error = { 0 };
	int status = 0, code;
	struct stat store;
	pid_t child;

	if (geteuid() != 0 || stat(store_path(invocation), &store) < 0 || store.st_uid == 0)
		return verify_rebuild(invocation);
	fflush(NULL);
	child = fork();
	if (child == 0) {
		code = verify_rebuild(invocation);
		fflush(NULL);
		_exit(code);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return fail(error_set(&error, -ECHILD, "cannot rebuild the index: %s",
				      child < 0 ? strerror(errno) : "its process was killed"),
			    &error);
	return WEXITSTATUS(status);
}

static void verify_show_progress(void *context, uint64_t bytes, uint64_t total_bytes)
{
	progress_line_show(&((struct verifying *)context)->progress, bytes, total_bytes);
}

static void verify_print_coverage(const struct invocation *invocation,
				  const struct recorded_facts *facts,
				  const struct store_verified *verified)
{
	_cleanup_(buffer_done) struct buffer json = { 0 };

	json_open(&json, '{');
	json_key(&json, "coverage");
	json_open(&json, '{');
	json_key(&json, "store");
	json_string(&json, store_path(invocation));
	recorded_facts_put_host(facts, &json);
	json_key(&json, "segments");
	json_u64(&json, verified->segments);
	json_key(&json, "samples");
	json_u64(&json, verified->samples);
	json_key(&json, "bytes");
	json_u64(&json, verified->bytes);
	json_key(&json, "damaged");
	json_u64(&json, verified->damaged);
	json_key(&json, "stale_rows");
	json_u64(&json, verified->stale);
	json_close(&json, '}');
	json_close(&json, '}');
	buffer_u8(&json, '\n');
	screen_print(&json);
}

static int verify_print_summary(const struct invocation *invocation,
				const struct recorded_facts *facts,
				const struct store_verified *verified)
{
	char size[32], stale[128] = "", host[HOST_NAME_SIZE];

	if (verified->stale)
		snprintf(stale, sizeof(stale),
			 "; the index is behind in %llu row%s, answers are right; use --rebuild",
			 (unsigned long long)verified->stale, plural(verified->stale));
	say(invocation, "%s%llu segment%s, %llu sample%s, %s: %s%s", host_name_prefix(facts, host),
	    (unsigned long long)verified->segments, plural(verified->segments),
	    (unsigned long long)verified->samples, plural(verified->samples),
	    size_format(verified->bytes, size, sizeof(size)),
	    verified->damaged ? "some of it is damaged" : "sound", stale);
	return verified->damaged ? EXIT_FAILED : EXIT_DONE;
}

static int verify_run(const struct invocation *invocation)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct store_verified verified = { 0 };
	struct recorded_facts facts = { 0 };
	struct verifying verifying = { .json = option_given(invocation, "json") };
	struct error error = { 0 };
	int r = option_given(invocation, "rebuild") ? verify_rebuild_apart(invocation) : EXIT_DONE;

	if (r != EXIT_DONE)
		return r;
	/*
	 * open the store only after the rebuild, because the reader keeps the index open that it
	 * checks
	 */
	r = store_reader_open(store_path(invocation), &reader, &error);
	if (r < 0)
		return fail(r, &error);
	progress_line_start(&verifying.progress, "bytes", option_given(invocation, "quiet"));
	r = store_reader_verify(reader, print_finding, verify_show_progress, &verifying, &verified,
				&error);
	progress_line_end(&verifying.progress);
	if (r < 0)
		return fail(r, &error);
	r = store_host_find_all(reader, &facts, &error);
	if (r < 0)
		return fail(r, &error);
	if (verifying.json)
		verify_print_coverage(invocation, &facts, &verified);
	return verify_print_summary(invocation, &facts, &verified);
}

const struct command command_verify = {
	.name = "verify",
	.summary = "Check every stored byte, and report what is damaged",
	.about = about,
	.options = options,
	.run = verify_run,
};
