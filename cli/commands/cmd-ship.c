// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/size.h"
#include "cli/options/command.h"
#include "fleet/access.h"
#include "fleet/server.h"
#include "fleet/exporter.h"

#define SHIP_INTERVAL_NS (60 * NSEC_PER_SEC)
/* After a failure, the next attempt waits this long, and twice as long after each further one. */
#define SHIP_RETRY_NS (5 * NSEC_PER_SEC)
#define SHIP_RETRY_MAX_NS (600 * NSEC_PER_SEC)
#define SHIP_RATE 1000000
#define SHIP_HOST_SIZE 256

static const struct option options[] = {
	{ "to", 0, "URL", "server: http[s]://[USER@]HOST[:PORT][/DATABASE]" },
	{ "access", 0, "FILE", "user, password, certificates (default: " ACCESS_FILE ")" },
	{ "samples", 0, "none|incidents|all",
	  "single samples to ship (default: incidents, those around incidents)" },
	{ "rate", 0, "SIZE", "send at most this per second (default: 1M; 0: no limit)" },
	{ "host", 0, "NAME", "name of this host in the fleet (default: its host name)" },
	{ "state", 0, "DIR", "folder that remembers what is shipped" },
	{ "once", 0, NULL, "ship what there is, and end" },
	{ 0 },
};

static const char about[] =
	"Sends what is new in the store to the server of a fleet, once per minute: incidents,\n"
	"labels and facts of the host, figures and the heaviest stacks of each minute, and all\n"
	"samples around incidents. Only reads the store. Sends again, byte for byte, what the\n"
	"server does not acknowledge. perftape fleet init makes the tables.\n";

struct ship {
	const struct invocation *invocation;
	struct server *server;
	struct exporter *exporter;
	struct exporter_options options;
	char host[SHIP_HOST_SIZE];
	uint64_t rate;
};

static volatile sig_atomic_t ship_ended;

static void ship_end(int number)
{
	(void)number;
	ship_ended = 1;
}

/* Catches the signals that end the service, so that a sleep ends and a round stays whole. */
static void ship_catch_signals(void)
{
	const struct sigaction action = { .sa_handler = ship_end };

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
}

static int ship_parse_samples(const struct invocation *invocation,
			      enum exporter_samples *ret_samples)
{
	static const char *const words[] = {
		[EXPORTER_NO_SAMPLES] = "none",
		[EXPORTER_INCIDENTS] = "incidents",
		[EXPORTER_ALL_SAMPLES] = "all",
	};
	const char *value = option_value(invocation, "samples");

	for (size_t i = 0; value && i < ARRAY_SIZE(words); i++)
		if (strcmp(words[i], value) == 0) {
			*ret_samples = i;
			return EXIT_DONE;
		}
	if (!value)
		return EXIT_DONE;
	return option_error(invocation, "samples", "'%.40s' is not none, incidents or all", value);
}

static int ship_parse_rate(const struct invocation *invocation, uint64_t *ret_rate)
{
	const char *value = option_value(invocation, "rate");

	if (value && size_parse(value, ret_rate) < 0)
		return option_error(invocation, "rate", "'%.40s' is not a size, such as 500K",
				    value);
	return EXIT_DONE;
}

static int ship_parse_host(const struct invocation *invocation, char host[SHIP_HOST_SIZE])
{
	const char *value = option_value(invocation, "host");

	if (!value && gethostname(host, SHIP_HOST_SIZE) == 0 && *host)
		return EXIT_DONE;
	if (!value || !*value || strlen(value) >= SHIP_HOST_SIZE)
		return usage_error("this host has no name; give one with --host");
	strcpy(host, value);
	return EXIT_DONE;
}

/* Finds the folder of the state: the given one, that of root, or one below $HOME. */
static int ship_find_folder(const struct invocation *invocation, char **ret_folder)
{
	const char *given = option_value(invocation, "state");
	const char *home = secure_getenv("HOME");
	char *folder = NULL;

	if (given)
		folder = strdup(given);
	else if (geteuid() == 0)
		folder = strdup("/var/lib/perftape-ship");
	else if (!home || asprintf(&folder, "%s/.local/state/perftape-ship", home) < 0)
		return usage_error("there is no folder for the state; name one with --state");
	if (!folder)
		return fail(-ENOMEM, NULL);
	*ret_folder = folder;
	return EXIT_DONE;
}

static int ship_open(struct ship *ship, const struct access *access, const char *folder)
{
	const char *url = option_value(ship->invocation, "to");
	struct error error = { 0 };
	int r = server_open(url, &access->http, &ship->server, &error);

	if (r == -EINVAL)
		return usage_error("%s", error.text);
	if (r == 0) {
		server_limit(ship->server, ship->rate);
		r = file_make_dirs(folder, 0700);
		if (r < 0)
			error_set(&error, r, "%s: %s", folder, strerror(-r));
	}
	ship->options.store = store_path(ship->invocation);
	ship->options.folder = folder;
	ship->options.host = ship->host;
	ship->options.root = "";
	ship->options.url = url;
	if (r < 0)
		return fail(r, &error);
	r = exporter_new(ship->server, &ship->options, &ship->exporter, &error);
	return r < 0 ? fail(r, &error) : EXIT_DONE;
}

static void ship_say_sent(const struct ship *ship, const struct exporter_sent *sent)
{
	char bytes[32];

	if (!sent->batches)
		say(ship->invocation, "host %s, the server has all that this store has",
		    ship->host);
	else
		say(ship->invocation, "host %s, %llu rows in %llu batch%s, %s", ship->host,
		    (unsigned long long)sent->rows, (unsigned long long)sent->batches,
		    sent->batches == 1 ? "" : "es", size_format(sent->bytes, bytes, sizeof(bytes)));
}

/* Ships until the server has everything. Returns 0 or a negative errno with a text. */
static int ship_all(struct ship *ship, struct exporter_sent *sent, struct error *error)
{
	int r = 1;

	while (r > 0 && !ship_ended)
		r = exporter_turn(ship->exporter, sent, error);
	return MIN(r, 0);
}

static int ship_once(struct ship *ship)
{
	struct exporter_sent sent = { 0 };
	struct error error = { 0 };
	int r = ship_all(ship, &sent, &error);

	if (r < 0)
		return fail(r, &error);
	ship_say_sent(ship, &sent);
	return EXIT_DONE;
}

/*
 * Returns the time to the next minute of this host. Hosts begin their minutes at different moments,
 * so that a fleet does not post at once.
 */
static uint64_t ship_next_ns(const struct ship *ship)
{
	uint64_t shift_ns = hash_bytes(ship->host, strlen(ship->host)) % SHIP_INTERVAL_NS;

	return SHIP_INTERVAL_NS - (clock_ns(CLOCK_REALTIME) + shift_ns) % SHIP_INTERVAL_NS;
}

/* Returns a time between half of the limit and the limit. */
static uint64_t ship_retry_ns(const struct ship *ship, unsigned int failures)
{
	uint64_t limit_ns = SHIP_RETRY_NS << MIN(failures, 20u);

	limit_ns = MIN(limit_ns, SHIP_RETRY_MAX_NS);
	return limit_ns / 2 +
	       hash_u64(clock_ns(CLOCK_MONOTONIC) ^ hash_bytes(ship->host, strlen(ship->host))) %
		       (limit_ns / 2);
}

/* A signal that comes before the sleep waits for it, and then ends it. */
static void ship_sleep(uint64_t ns)
{
	const struct timespec left = { ns / NSEC_PER_SEC, ns % NSEC_PER_SEC };
	sigset_t ends, before;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigprocmask(SIG_BLOCK, &ends, &before);
	if (!ship_ended)
		pselect(0, NULL, NULL, NULL, &left, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Reports a failure once, and once that it is over. */
static int ship_serve(struct ship *ship)
{
	struct error said = { 0 };
	unsigned int failures = 0;

	while (!ship_ended) {
		struct exporter_sent sent = { 0 };
		struct error error = { 0 };
		int r = ship_all(ship, &sent, &error);

		if (r == -ENOMEM)
			return fail(r, &error);
		if (r < 0 && strcmp(error.text, said.text) != 0)
			warn("%s", error.text);
		if (r == 0 && failures)
			ship_say_sent(ship, &sent);
		said = error;
		failures = r < 0 ? failures + 1 : 0;
		ship_sleep(r < 0 ? ship_retry_ns(ship, failures - 1) : ship_next_ns(ship));
	}
	return EXIT_DONE;
}

static void ship_done(struct ship *ship)
{
	exporter_free(ship->exporter);
	server_close(ship->server);
}

static int ship_run(const struct invocation *invocation)
{
	_cleanup_(ship_done) struct ship ship = {
		.invocation = invocation,
		.rate = SHIP_RATE,
		.options.samples = EXPORTER_INCIDENTS,
	};
	_cleanup_(access_done) struct access access = { 0 };
	_cleanup_free_ char *folder = NULL;
	struct error error = { 0 };
	int r = ship_parse_samples(invocation, &ship.options.samples);

	if (r == EXIT_DONE && !option_given(invocation, "to"))
		r = usage_error("--to is missing; name the server, such as https://HOST:8443");
	if (r == EXIT_DONE)
		r = ship_parse_rate(invocation, &ship.rate);
	if (r == EXIT_DONE)
		r = ship_parse_host(invocation, ship.host);
	if (r == EXIT_DONE)
		r = ship_find_folder(invocation, &folder);
	if (r == EXIT_DONE && access_read(option_value(invocation, "access"), &access, &error) < 0)
		r = fail(-EINVAL, &error);
	if (r == EXIT_DONE)
		r = ship_open(&ship, &access, folder);
	if (r != EXIT_DONE)
		return r;
	ship_catch_signals();
	return option_given(invocation, "once") ? ship_once(&ship) : ship_serve(&ship);
}

const struct command command_ship = {
	.name = "ship",
	.summary = "Send what the store has to the server of a fleet",
	.about = about,
	.options = options,
	.run = ship_run,
};
