// SPDX-License-Identifier: GPL-2.0-only
#include "cli/commands/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "recorder/run/capabilities.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mutation.h"
#include "cli/answer/limit-change.h"
#include "base/number.h"
#include "cli/options/limit-options.h"
#include "cli/options/conf.h"

/*
 * Sealing may take longer than the service manager's deadline. While sealing makes progress, the
 * recording moves the deadline this far ahead each second.
 */
#define STOP_MORE_USEC 10000000
/*
 * timeout(1) signals the process and then its group. Two signals within this time count as one
 * request.
 */
#define STOP_ONCE_NS (500 * NSEC_PER_MSEC)

static struct recorder_orders orders;
static bool had_terminal;

const struct recorder_orders *recording_orders(void)
{
	return &orders;
}

static bool has_terminal(void)
{
	int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void order_stop(int number)
{
	static uint64_t last_ns;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (orders.stop && now_ns - last_ns < STOP_ONCE_NS)
		return;
	if (!orders.stop)
		orders.signal = number;
	orders.stop++;
	last_ns = now_ns;
}

/*
 * SIGHUP stops the recording if the terminal went away. Otherwise it is a request to read the
 * settings again.
 */
static void on_signal(int number)
{
	int saved = errno;

	if (number == SIGUSR2)
		orders.rotate++;
	else if (number == SIGCONT)
		orders.continued++;
	else if (number == SIGHUP && !(had_terminal && !has_terminal()))
		orders.reload++;
	else
		order_stop(number);
	errno = saved;
}

static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal }, before;

	had_terminal = has_terminal();
	sigfillset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	sigaction(SIGCONT, &action, NULL);
	/* keep SIGHUP ignored if nohup ignores it, so that the process survives */
	sigaction(SIGHUP, NULL, &before);
	if (before.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &action, NULL);
}

void recording_init(struct recording *recording, const struct invocation *invocation)
{
	*recording = (struct recording){
		.invocation = invocation,
		.live = isatty(STDERR_FILENO) && !option_given(invocation, "quiet"),
	};
	service_init(&recording->service);
	catch_signals();
}

void recording_done(struct recording *recording)
{
	service_done(&recording->service);
}

static void report_status(struct recording *recording, const struct recorder_progress *progress)
{
	char waits[64] = "";

	if (progress->stopping) {
		service_send(&recording->service, "STATUS=sealing: %llu segment%s",
			     (unsigned long long)progress->waiting, plural(progress->waiting));
		return;
	}
	if (progress->waiting > 1)
		snprintf(waits, sizeof(waits), ", %llu segments wait to be sealed",
			 (unsigned long long)progress->waiting);
	service_send(&recording->service,
		     "STATUS=%s at %llu Hz on %llu CPU%s: %llu samples, %llu lost%s%s",
		     progress->event, (unsigned long long)progress->frequency,
		     (unsigned long long)progress->cpus, plural(progress->cpus),
		     (unsigned long long)progress->samples, (unsigned long long)progress->lost,
		     waits, progress->store_blocked ? "; the store cannot be written" : "");
}

void recording_report(struct recording *recording, const struct recorder_progress *progress)
{
	struct service *service = &recording->service;

	if (!service->ready) {
		service->ready = true;
		service_send(service, "READY=1");
	}
	if (progress->stopping) {
		recording_stopping(recording);
		service_send(service, "EXTEND_TIMEOUT_USEC=%d", STOP_MORE_USEC);
	}
	service->hangs = progress_naming_hangs(progress);
	if (!service_tick(service) && !progress->stopping)
		return;
	report_status(recording, progress);
	/* a status without samples must not stay for seconds: report again at the next call */
	if (!progress->samples)
		service->status_ns = 0;
}

void recording_stopping(struct recording *recording)
{
	if (recording->service.stopping)
		return;
	recording->service.stopping = true;
	service_send(&recording->service, "STOPPING=1");
}

static bool same_setting(const struct conf_row *one, const struct conf_row *other)
{
	if (!one || !other || !one->value || !other->value)
		return (one && one->value) == (other && other->value);
	return strcmp(one->value, other->value) == 0;
}

/*
 * Prints which changed settings apply only after a restart. Prints this with -q, too, because the
 * user expects the change to have an effect.
 */
static void report_restart(const struct invocation *invocation, const struct conf *fresh)
{
	const struct option *tables[] = { global_options, invocation->command->options };

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (const struct option *option = tables[i]; option->name; option++)
			if (!limit_options_has(option->name) &&
			    !same_setting(
				    conf_find(invocation->conf, invocation->command, option->name),
				    conf_find(fresh, invocation->command, option->name)))
				warn("%s: %s applies after a restart", fresh->path, option->name);
}

static int recording_reread(const struct invocation *invocation, struct store_limits *ret_limits)
{
	struct invocation again = *invocation;
	struct conf fresh = { 0 };
	struct store_limits limits;
	struct error error = { 0 };
	/*
	 * somebody may be replacing a missing file just now: report it instead of applying the
	 * defaults
	 */
	int r = conf_read(invocation->conf->path, invocation->conf->text != NULL, &fresh, &error);

	if (r < 0) {
		fail(r, &error);
		return r;
	}
	again.conf = &fresh;
	store_limits_default(store_path(invocation), &limits);
	if (limit_options_parse(&again, &limits) != EXIT_DONE)
		r = -EINVAL;
	else
		report_restart(invocation, &fresh);
	conf_done(&fresh);
	if (r < 0)
		return r;
	*ret_limits = limits;
	return 0;
}

/*
 * Checks limits from settings that were read again. Opens its own writer, because the recorder's
 * writer belongs to another thread. --force applies only at the start.
 */
static int check_reread(const struct invocation *invocation, const struct store_limits *limits)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	struct store_limits noted;
	struct error error = { 0 };
	int r = store_writer_open_dry(store_path(invocation), &writer, &error);

	if (r == 0)
		r = limit_change_is_drastic(invocation, writer, limits, &noted, &error);
	if (r < 0)
		fail(r, &error);
	if (r > 0)
		warn("%s; restart the recorder with --force to apply these limits", error.text);
	return r ? -EPERM : 0;
}

int recording_reload(void *context, struct store_limits *ret_limits)
{
	struct recording *recording = context;
	_cleanup_(buffer_done) struct buffer text = { 0 };
	int r;

	service_reloading(&recording->service);
	/* the caller named these files, and must have the right to open them */
	capabilities_lower();
	r = recording_reread(recording->invocation, ret_limits);
	if (r == 0)
		r = check_reread(recording->invocation, ret_limits);
	capabilities_raise();
	if (r == 0) {
		limits_describe(ret_limits, &text);
		say(recording->invocation, "settings reread: %s", buffer_shown(&text));
	} else {
		warn("the limits stay unchanged");
	}
	service_send(&recording->service, "READY=1");
	return mutated("keep-old-limits") ? -ECANCELED : r;
}
