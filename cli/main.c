// SPDX-License-Identifier: GPL-2.0-only
/* Has the table of commands, and runs the command that the arguments name. */
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
#include "recorder/run/rights.h"
#include "unpacker/unpack-server.h"
#include "base/cleanup.h"
#include "process/helper.h"
#include "cli/options/arguments.h"
#include "cli/options/command.h"
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
	&command_explain,
	&command_top,
	&command_spikes,
	&command_diff,
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
	&command_ship,
	&command_fleet,
	&command_completion,
	NULL,
};

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
 * Warns that the program ignores the environment. The caller chose the environment, but not the
 * rights that the program's file gives.
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

/* Files that root makes in the store of another user must belong to that user. */
static int become_owner(const struct invocation *invocation)
{
	struct error error = { 0 };
	int r = 0;

	if (invocation->command->writes)
		r = rights_become_owner(store_path(invocation), &error);
	return r < 0 ? fail(r, &error) : EXIT_DONE;
}

static int main_run(struct invocation *invocation)
{
	struct conf settings = { 0 };
	int r = load_settings(invocation, &settings);

	if (r == EXIT_DONE) {
		invocation->store = store_path(invocation);
		check_time_zone(invocation);
		check_environment(invocation);
		store_use_umask(invocation);
		store_warn_of_writers(invocation);
		r = become_owner(invocation);
	}
	if (r == EXIT_DONE)
		r = invocation->command->run(invocation);
	conf_done(&settings);
	return r;
}

static bool reader_is_gone(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	return poll(&out, 1, 0) > 0 && out.revents & POLLERR;
}

/*
 * Flushes standard output. An incomplete output is a failure, and this is the last chance to report
 * it.
 */
static int close_output(int code)
{
	struct error error;
	int r = fflush(stdout) < 0 ? -errno : 0;

	/* an earlier write failed, and its errno is not known any more */
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

/* The jobs of helper processes. */
static const struct helper_job jobs[] = {
	{ NAME_SERVER_JOB, name_server_run },
	{ OPEN_HELPER_JOB, open_helper_run },
	{ OPEN_KEEPER_JOB, open_helper_keep },
	{ UNPACK_SERVER_JOB, unpack_server_run },
	{ 0 },
};

int main(int argc, char **argv)
{
	char *words[argc + 1];
	struct invocation invocation = { .words = words };
	int r;

	helper_enter(argc, argv, jobs);
	/* open files that the caller names with the caller's own rights */
	if (capabilities_lower() < 0)
		return main_cannot_drop();

	open_standard_files();
	/* make a write to a closed pipe fail with EPIPE, which is not an error for commands */
	signal(SIGPIPE, SIG_IGN);
	/*
	 * make a write beyond the file size limit fail with EFBIG, so that commands report it and
	 * clean up
	 */
	signal(SIGXFSZ, SIG_IGN);
	tzset();
	program_name_set(argv[0]);
	r = arguments_parse(argv + 1, &invocation);
	if (r != EXIT_DONE)
		return r;
	/* only a recording needs more rights than its caller has */
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
		return invocation.given_count
			       ? usage_error("no command given; add one, such as 'record'")
			       : usage_error("no command given; see 'perftape --help'");
	return close_output(main_run(&invocation));
}
