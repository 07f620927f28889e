// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/number.h"
#include "base/size.h"
#include "cli/options/command.h"
#include "cli/answer/host-name.h"
#include "cli/answer/progress-line.h"
#include "cli/version.h"
#include "unpacker/unpack-helper.h"
#include "query/window/when.h"
#include "import/import-clock.h"
#include "import/importer.h"
#include "recorder/run/recorder.h"

static const struct option options[] = {
	{ "event", 'e', "NAME", "event to import (default: the first with samples)" },
	{ "end", 0, "TIME", "time of the last sample, if the file does not contain it" },
	{ "clock-offset", 0, "SECONDS", "instead of --end: wall clock minus sample clock" },
	{ "segment", 0, "LENGTH", "length of a segment, 1s to 1h (default: 2m)" },
	{ 0 },
};

static const char about[] =
	"Imports perf.data files, and those directly in a folder. Files may be packed with gzip,\n"
	"xz or zstd. Importing a file twice adds nothing.\n"
	"\n"
	"The wall clock comes from the file (perf record -k), else from its name\n"
	"(perf-HOST-20251118031000-120s.data, --timestamp-filename), else from the time of its\n"
	"last change. The message states how far it may be off.\n";

struct list {
	array_of(struct import_file) files;
	/* Number of files in folders that are not perf.data. */
	size_t passed_over;
	size_t failed;
};

/*
 * Sorts files by their begin. A file that continues a recording stays directly after the file that
 * it continues.
 */
static int compare_begins(const void *a, const void *b)
{
	const struct import_file *x = a, *y = b;

	if (x->chain_ns != y->chain_ns)
		return x->chain_ns < y->chain_ns ? -1 : 1;
	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return strcmp(x->path, y->path);
}

static void sort_files(struct list *list)
{
	for (size_t i = 0; i < list->files.count; i++) {
		struct import_file *file = &list->files.items[i];

		file->chain_ns = file->continues ? file[-1].chain_ns
						 : (int64_t)file->first_ns + file->clock.offset_ns;
	}
	if (list->files.count)
		qsort(list->files.items, list->files.count, sizeof(*list->files.items),
		      compare_begins);
}

/*
 * Opens a file. A file that is not perf.data is an error only if the user named it, because a
 * folder may contain other files.
 */
static int open_one(struct list *list, const char *path, bool named,
		    const struct import_options *import)
{
	struct import_file file;
	struct error error = { 0 };
	int r = import_file_open(path, import, &file, &error);

	if (r == 0 && array_push(&list->files, file) < 0) {
		import_file_done(&file);
		return fail(-ENOMEM, NULL);
	}
	if (r == -EBADMSG && !named) {
		list->passed_over++;
	} else if (r < 0) {
		fail(r, &error);
		list->failed++;
	}
	return EXIT_DONE;
}

/* sort by name, because perf wrote the files of one recording in this order */
static int open_folder(struct list *list, const char *path, const struct import_options *import)
{
	struct dirent **entries;
	int count = scandir(path, &entries, NULL, alphasort);
	int r = EXIT_DONE;

	if (count < 0)
		return fail(-errno, NULL);
	for (int i = 0; i < count; i++) {
		char file[PATH_MAX];
		struct stat state;

		if (r == EXIT_DONE &&
		    snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name) <
			    (int)sizeof(file) &&
		    stat(file, &state) == 0 && S_ISREG(state.st_mode))
			r = open_one(list, file, false, import);
		free(entries[i]);
	}
	free(entries);
	return r;
}

static int import_open_path(struct list *list, const char *path,
			    const struct import_options *import)
{
	struct stat state;

	return stat(path, &state) == 0 && S_ISDIR(state.st_mode)
		       ? open_folder(list, path, import)
		       : open_one(list, path, true, import);
}

/*
 * Finds the times of each file that continues another file. Leaves out unreadable files with a
 * message.
 */
static void follow_all(struct list *list, const struct import_options *import)
{
	_cleanup_(cleanup_unpack_helper) struct unpack_helper *stream = NULL;
	struct import_file *files = list->files.items;
	size_t kept = 0;

	for (size_t i = 0; i < list->files.count; i++) {
		struct error error = { 0 };

		if (files[i].continues) {
			int r = import_file_follow(&files[i], kept ? &files[kept - 1] : NULL,
						   import, &stream, &error);

			if (r < 0) {
				fail(r, &error);
				list->failed++;
				import_file_done(&files[i]);
				continue;
			}
		}
		if (kept < i)
			files[kept] = files[i];
		kept++;
	}
	list->files.count = kept;
}

static const char imported_format[] =
	"%s: %s%llu sample%s of %s, %llu lost, %s to %s (accurate to %s, %s); %llu segment%s, %s";

static void import_print_file(const struct invocation *invocation, const struct import_file *file,
			      const struct import_result *result)
{
	bool utc = option_given(invocation, "utc");
	char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE], error[32], bytes[32], host[HOST_NAME_SIZE];
	struct recorded_facts facts = { 0 };

	recorded_facts_add_host(&facts, file->perf.host);
	if (!result->samples) {
		say(invocation, "%s: contains no sample of %s", file->path, file->event->name);
	} else {
		say(invocation, imported_format, file->path, host_name_prefix(&facts, host),
		    (unsigned long long)result->samples, plural(result->samples), file->event->name,
		    (unsigned long long)result->lost,
		    time_format(file->first_ns + file->clock.offset_ns, utc, 3, from),
		    time_format(file->last_ns + file->clock.offset_ns, utc, 3, to),
		    duration_format(file->clock.error_ns, error, sizeof(error)),
		    import_clock_text(file->clock.source), (unsigned long long)result->segments,
		    plural(result->segments), size_format(result->bytes, bytes, sizeof(bytes)));
	}
	if (result->damaged)
		say(invocation, "%s: %llu record%s damaged", file->path,
		    (unsigned long long)result->damaged, plural(result->damaged));
	if (result->truncated)
		say(invocation, "%s: %llu callchain%s truncated at an invalid address", file->path,
		    (unsigned long long)result->truncated, plural(result->truncated));
	if (result->note[0])
		warn("%s: %s", file->path, result->note);
}

/*
 * Imports a file. If the store already has the file, reads it only if the next file continues it
 * and needs its stream.
 */
static int import_one(const struct invocation *invocation, struct import_file *file,
		      bool is_followed, struct import_options *import, struct store_writer *writer,
		      struct unpack_helper **stream)
{
	struct progress_line progress;
	struct import_result result;
	struct error error = { 0 };
	int r;

	if (store_writer_imported(writer, file->id)) {
		say(invocation, "%s: imported already", file->path);
		r = is_followed ? import_file_pass(file, stream) : 0;
		return r < 0 ? fail(r, NULL) : EXIT_DONE;
	}
	progress_line_start(&progress, file->path, option_given(invocation, "quiet"));
	import->progress = progress_line_show;
	import->context = &progress;
	r = import_file_run(file, import, writer, stream, &result, &error);
	progress_line_end(&progress);
	if (r < 0)
		return fail(r, &error);
	r = store_writer_note_import(writer, file->id, file->path, &error);
	if (r < 0)
		return fail(r, &error);
	import_print_file(invocation, file, &result);
	return EXIT_DONE;
}

static int import_all(const struct invocation *invocation, struct list *list,
		      struct import_options *import)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(cleanup_unpack_helper) struct unpack_helper *stream = NULL;
	struct error error = { 0 };
	int r = store_writer_open(store_path(invocation), &writer, &error);

	if (r < 0)
		return fail(r, &error);
	import_clock_align(list->files.items, list->files.count);
	sort_files(list);
	for (size_t i = 0; i < list->files.count; i++) {
		struct import_file *file = &list->files.items[i];
		bool is_followed = i + 1 < list->files.count && file[1].continues;

		if (import_one(invocation, file, is_followed, import, writer, &stream) != EXIT_DONE)
			list->failed++;
	}
	if (list->passed_over)
		say(invocation, "%zu other files in the folder are not perf.data",
		    list->passed_over);
	if (!list->files.count && !list->failed)
		return usage_error(
			"no perf.data file found; name a file, or a folder that contains one");
	return list->failed ? EXIT_FAILED : EXIT_DONE;
}

/* Parses "-123.456" seconds to the nanosecond. */
static int parse_offset(const char *text, int64_t *ret_ns)
{
	char *end;
	long double seconds = strtold(text, &end);

	if (end == text || *end || seconds > 9e9L || seconds < -9e9L)
		return usage_error("--clock-offset '%s' is not a number of seconds", text);
	*ret_ns = seconds * NSEC_PER_SEC;
	return EXIT_DONE;
}

static int import_parse_options(const struct invocation *invocation, struct import_options *import)
{
	const char *end = option_value(invocation, "end");
	const char *offset = option_value(invocation, "clock-offset");
	const char *segment = option_value(invocation, "segment");
	struct error error = { 0 };
	struct when when;

	if (!invocation->word_count)
		return usage_error("nothing to import; give perf.data files, or folders of them");
	if (end && offset)
		return usage_error(
			"--end and --clock-offset both set the clock of the samples; give one");
	if (end && when_parse(end, clock_ns(CLOCK_REALTIME), option_given(invocation, "utc"), &when,
			      &error) < 0)
		return usage_error("--end: %s", error.text);
	if (end)
		import->end_ns = when.realtime_ns;
	if (segment &&
	    (duration_parse(segment, &import->segment_ns) < 0 ||
	     import->segment_ns < NSEC_PER_SEC || import->segment_ns > 3600 * NSEC_PER_SEC))
		return usage_error("--segment '%s' is not from 1s to 1h", segment);
	import->has_offset = offset;
	return offset ? parse_offset(offset, &import->offset_ns) : EXIT_DONE;
}

/* Finds ~/.debug, where perf keeps the files of recorded programs. */
static void find_debug_dir(char path[PATH_MAX], struct import_options *import)
{
	const char *home = secure_getenv("HOME");

	if (home && *home && snprintf(path, PATH_MAX, "%s/.debug", home) < PATH_MAX)
		import->debug_dir = path;
}

static int import_run(const struct invocation *invocation)
{
	struct import_options import = {
		.event = option_value(invocation, "event"),
		.folder = secure_getenv("TMPDIR") ? secure_getenv("TMPDIR") : "/tmp",
		.segment_ns = RECORDER_SEGMENT_NS,
		.version = PERFTAPE_VERSION,
	};
	struct list list = { 0 };
	char debug_dir[PATH_MAX];
	int r = import_parse_options(invocation, &import);

	find_debug_dir(debug_dir, &import);
	for (size_t i = 0; r == EXIT_DONE && i < invocation->word_count; i++)
		r = import_open_path(&list, invocation->words[i], &import);
	if (r == EXIT_DONE)
		follow_all(&list, &import);
	if (r == EXIT_DONE && import.end_ns && list.files.count > 1)
		r = usage_error("--end goes with one file, not with %zu", list.files.count);
	if (r == EXIT_DONE && !list.files.count && list.failed)
		r = EXIT_FAILED;
	else if (r == EXIT_DONE)
		r = import_all(invocation, &list, &import);
	for (size_t i = 0; i < list.files.count; i++)
		import_file_done(&list.files.items[i]);
	array_done(&list.files);
	return r;
}

const struct command command_import = {
	.name = "import",
	.arguments = "FILE|DIR...",
	.summary = "Take perf.data files into the store",
	.about = about,
	.options = options,
	.writes = true,
	.run = import_run,
};
