// SPDX-License-Identifier: GPL-2.0-only
#include "cli/commands/forecast.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/number.h"
#include "base/size.h"
#include "cli/answer/field-lines.h"
#include "cli/answer/screen.h"
#include "cli/service/forecast-rate.h"
#include "store/read/store-reader.h"

#define TRIAL_NS (60 * NSEC_PER_SEC)
#define TRIAL_LEAST_NS (3 * NSEC_PER_SEC)
/* The first piece is a third of the trial. */
#define FIRST_PART 3
#define NIGHT_S (12 * 3600.0)
#define DAY_S (24 * 3600.0)
#define WORDS_MAX (2 * OPTIONS_MAX + 16)

/* Options about the place and the length of the recording, and about work beside sampling. */
static const char *const not_in_trial[] = {
	"forecast", "duration", "segment", "max-age",	   "max-size",	   "keep-free",	   "pin",
	"force",    "user",	"group",   "snapshot-dir", "snapshot-max", "metrics-file",
};

struct trial {
	const struct invocation *invocation;
	uint64_t length_ns;
	char store[PATH_MAX];
	/* The command line of the recorder, which borrows from `options`. */
	const char *words[WORDS_MAX];
	size_t word_count;
	array_of(char *) options;
	char duration[32];
	array_of(struct forecast_piece) pieces;
};

static bool forecast_has(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static void forecast_add(struct trial *trial, const char *word)
{
	if (trial->word_count + 1 < WORDS_MAX)
		trial->words[trial->word_count++] = word;
}

static int forecast_add_option(struct trial *trial, const struct option *option, const char *value)
{
	char *word = NULL;

	if (asprintf(&word, "--%s%s%s", option->name, option->argument ? "=" : "",
		     option->argument ? value : "") < 0)
		return -ENOMEM;
	if (array_push(&trial->options, word) < 0) {
		free(word);
		return -ENOMEM;
	}
	forecast_add(trial, word);
	return 0;
}

/*
 * Copies an option to the trial: each occurrence on the command line, or else the value from the
 * settings.
 */
static int forecast_take_option(struct trial *trial, const struct option *option)
{
	const struct invocation *invocation = trial->invocation;
	const char *value = option_value(invocation, option->name);
	int r = 0;

	if (!value || forecast_has(not_in_trial, ARRAY_SIZE(not_in_trial), option->name))
		return 0;
	if (!option_typed(invocation, option->name))
		return forecast_add_option(trial, option, value);
	for (size_t i = 0; r == 0 && i < invocation->given_count; i++)
		if (strcmp(invocation->given[i].option->name, option->name) == 0)
			r = forecast_add_option(trial, option, invocation->given[i].value);
	return r;
}

static int forecast_words(struct trial *trial)
{
	int r = 0;

	snprintf(trial->duration, sizeof(trial->duration), "%llums",
		 (unsigned long long)(trial->length_ns / NSEC_PER_MSEC));
	forecast_add(trial, "perftape");
	forecast_add(trial, "record");
	for (const struct option *option = trial->invocation->command->options;
	     r == 0 && option->name; option++)
		r = forecast_take_option(trial, option);
	/*
	 * ignore the settings file, because the limits and files of the service do not apply to the
	 * trial
	 */
	forecast_add(trial, "--config=/dev/null");
	forecast_add(trial, "-q");
	forecast_add(trial, "--segment=1h");
	forecast_add(trial, "--duration");
	forecast_add(trial, trial->duration);
	forecast_add(trial, "--store");
	forecast_add(trial, trial->store);
	trial->words[trial->word_count] = NULL;
	return r;
}

static int forecast_remove_one(const char *path, const struct stat *about, int kind,
			       struct FTW *place)
{
	(void)about;
	(void)kind;
	(void)place;
	remove(path);
	return 0;
}

/*
 * Waits for the recorder. Returns the recorder's exit code, or 128 plus the number of the signal
 * that ended us.
 */
static int forecast_wait(pid_t pid, const sigset_t *signals, uint64_t seal_ns)
{
	bool sealed = false;
	int status, ended = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
		struct timespec left = { 0, 100 * NSEC_PER_MSEC };
		int number;

		if (!sealed && now_ns >= seal_ns) {
			sealed = true;
			kill(pid, SIGUSR2);
		}
		number = sigtimedwait(signals, NULL, &left);
		if (number < 0 || number == SIGCHLD)
			continue;
		ended = number;
		kill(pid, SIGTERM);
	}
	if (ended)
		return 128 + ended;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

/*
 * Runs the recorder. A signal that ends us also ends the recorder, and forecast_run() then removes
 * the temporary store.
 */
static int forecast_record(struct trial *trial)
{
	sigset_t signals, before;
	posix_spawnattr_t attributes;
	pid_t pid;
	int r;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &signals, &before);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attributes, &before);
	r = -posix_spawn(&pid, "/proc/self/exe", NULL, &attributes, (char *const *)trial->words,
			 environ);
	posix_spawnattr_destroy(&attributes);
	if (r < 0)
		return fail(r, NULL);
	return forecast_wait(pid, &signals,
			     clock_ns(CLOCK_MONOTONIC) + trial->length_ns / FIRST_PART);
}

static int forecast_measure(struct trial *trial, struct error *error)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	int r = store_reader_open(trial->store, &reader, error);

	if (r < 0)
		return r;
	r = store_reader_list(reader, 0, UINT64_MAX, &segments, error);
	for (size_t i = 0; r == 0 && i < segments.list.count; i++) {
		const struct store_segment *segment = &segments.list.items[i];
		struct forecast_piece piece = {
			.length_ns = segment->end_ns - segment->begin_ns,
			.bytes = segment->bytes,
		};

		/* a piece without samples has only the fixed part */
		if (piece.length_ns && segment->samples && !*segment->damage && !segment->unsealed)
			r = array_push(&trial->pieces, piece);
	}
	return r;
}

static void forecast_line(struct field_lines *fields, const char *label,
			  const struct forecast *forecast, double seconds)
{
	char usual[32], least[32], most[32];

	field_line(fields, label, "%s, between %s and %s",
		   size_format(forecast->rate * seconds, usual, sizeof(usual)),
		   size_format(forecast->least * seconds, least, sizeof(least)),
		   size_format(forecast->most * seconds, most, sizeof(most)));
}

static int forecast_print(const struct trial *trial, uint64_t segment_ns,
			  const struct store_limits *limits)
{
	_cleanup_(field_lines_done) struct field_lines fields = { 0 };
	struct forecast forecast;
	struct terminal terminal;
	uint64_t bytes = 0, length_ns = 0;
	char size[32], length[32], limit[32];
	int r = screen_read(trial->invocation, &terminal);

	if (r != EXIT_DONE)
		return r;
	for (size_t i = 0; i < trial->pieces.count; i++) {
		bytes += trial->pieces.items[i].bytes;
		length_ns += trial->pieces.items[i].length_ns;
	}
	forecast_compute(trial->pieces.items, trial->pieces.count, segment_ns, &forecast);
	field_lines_init(&fields);
	field_line(&fields, "trial", "%s in %s, with the load of that time",
		   size_format(bytes, size, sizeof(size)),
		   duration_format(length_ns, length, sizeof(length)));
	forecast_line(&fields, "12 hours", &forecast, NIGHT_S);
	forecast_line(&fields, "a day", &forecast, DAY_S);
	if (limits->max_bytes != UINT64_MAX && forecast.rate > 0)
		field_line(&fields, "limit", "%s hold %.1f days, between %.1f and %.1f",
			   size_format(limits->max_bytes, limit, sizeof(limit)),
			   limits->max_bytes / (forecast.rate * DAY_S),
			   limits->max_bytes / (forecast.most * DAY_S),
			   limits->max_bytes / (forecast.least * DAY_S));
	return screen_print_drawing(&terminal, &fields.lines);
}

static int forecast_try(struct trial *trial, uint64_t segment_ns, const struct store_limits *limits)
{
	char length[32];
	struct error error = { 0 };
	int r = forecast_words(trial);

	if (r < 0)
		return fail(r, NULL);
	say(trial->invocation, "records into a temporary store for %s",
	    duration_format(trial->length_ns, length, sizeof(length)));
	r = forecast_record(trial);
	if (r != EXIT_DONE)
		return r;
	r = forecast_measure(trial, &error);
	if (r < 0)
		return fail(r, &error);
	if (!trial->pieces.count)
		r = error_set(&error, -ENODATA,
			      "the trial has no samples; give a longer --duration");
	return r < 0 ? fail(r, &error) : forecast_print(trial, segment_ns, limits);
}

int forecast_run(const struct invocation *invocation, const struct recorder_options *options,
		 const struct store_limits *limits)
{
	const char *folder = secure_getenv("TMPDIR");
	struct trial trial = {
		.invocation = invocation,
		.length_ns = option_typed(invocation, "duration") ? options->duration_ns : TRIAL_NS,
	};
	int r;

	if (trial.length_ns < TRIAL_LEAST_NS)
		return usage_error("--forecast needs a --duration of at least 3s");
	snprintf(trial.store, sizeof(trial.store), "%s/perftape-forecast-XXXXXX",
		 folder && *folder ? folder : "/tmp");
	if (!mkdtemp(trial.store)) {
		warn("%s: %s", trial.store, strerror(errno));
		return EXIT_FAILED;
	}
	r = forecast_try(&trial, options->segment_ns, limits);
	nftw(trial.store, forecast_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	array_done(&trial.pieces);
	for (size_t i = 0; i < trial.options.count; i++)
		free(trial.options.items[i]);
	array_done(&trial.options);
	return r;
}
