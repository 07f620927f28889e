// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/options/command.h"
#include "cli/options/print.h"
#include "fleet/access.h"
#include "fleet/schema.h"
#include "fleet/server.h"

#define FLEET_DAY_NS (86400 * NSEC_PER_SEC)
/* The server counts its times in 32 bits, up to the year 2106. */
#define FLEET_DAYS_MAX 18250
#define FLEET_SAMPLES_DAYS 14
#define FLEET_SUMS_DAYS 400

static const struct option options[] = {
	{ "to", 0, "URL", "server: http[s]://[USER@]HOST[:PORT][/DATABASE]" },
	{ "access", 0, "FILE", "user, password, certificates (default: " ACCESS_FILE ")" },
	{ "cluster", 0, "NAME", "make replicated tables on all nodes of this cluster" },
	{ "keep", 0, "LENGTH", "keep single samples for this time (default: 14d)" },
	{ "keep-sums", 0, "LENGTH", "keep everything else for this time (default: 400d)" },
	{ "print", 0, NULL, "print the SQL instead of running it" },
	{ 0 },
};

static const char about[] =
	"fleet init makes the tables of a fleet on a ClickHouse server, or adds what tables of an\n"
	"older perftape lack. It may be repeated at any time.\n"
	"The password or token is in the file of --access, as password = ... or token = ...\n";

/* Reads a length in whole days. */
static int fleet_parse_days(const struct invocation *invocation, const char *name,
			    uint32_t *ret_days)
{
	const char *text = option_value(invocation, name);
	uint64_t ns;

	if (!text)
		return EXIT_DONE;
	if (duration_parse(text, &ns) < 0 || ns % FLEET_DAY_NS || !ns ||
	    ns / FLEET_DAY_NS > FLEET_DAYS_MAX)
		return option_error(invocation, name,
				    "'%.40s' is not a number of days, such as 14d", text);
	*ret_days = ns / FLEET_DAY_NS;
	return EXIT_DONE;
}

/* The name stands in SQL as it is. */
static int fleet_check_cluster(const struct invocation *invocation, const char *name)
{
	for (const char *at = name; at && *at; at++)
		if (!isalnum((unsigned char)*at) && *at != '_')
			return option_error(invocation, "cluster",
					    "'%.100s' is not a name of letters, digits and '_'",
					    name);
	if (name && !*name)
		return option_error(invocation, "cluster", "the name is empty");
	return EXIT_DONE;
}

static int fleet_print(const struct schema_target *target)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	_cleanup_(schema_done) struct schema schema = { 0 };
	int r = schema_make(target, &schema);

	for (size_t i = 0; r == 0 && i < schema.statements.count; i++)
		buffer_printf(&text, "%s;\n\n", schema.statements.items[i]);
	if (r == 0)
		r = print_text(stdout, &text, false);
	return r < 0 ? fail(r, NULL) : EXIT_DONE;
}

static int fleet_apply(const struct invocation *invocation, struct server *server,
		       const struct schema_target *target)
{
	struct schema_result result;
	struct error error = { 0 };
	int r = schema_apply(server, target, &result, &error);

	if (r < 0)
		return fail(r, &error);
	if (!result.version)
		say(invocation, "the tables of version %d are made in database %s", SCHEMA_VERSION,
		    target->database);
	else if (result.added)
		say(invocation, "the tables in database %s lacked %zu columns, which are added",
		    target->database, result.added);
	else
		say(invocation, "the tables in database %s are up to date, version %d",
		    target->database, SCHEMA_VERSION);
	if (!target->current)
		say(invocation,
		    "this server keeps old rows; drop partitions as docs/FLEET.md says");
	return EXIT_DONE;
}

static int fleet_init(const struct invocation *invocation)
{
	_cleanup_(cleanup_server) struct server *server = NULL;
	_cleanup_(access_done) struct access access = { 0 };
	struct schema_target target = {
		.cluster = option_value(invocation, "cluster"),
		.samples_days = FLEET_SAMPLES_DAYS,
		.sums_days = FLEET_SUMS_DAYS,
	};
	struct error error = { 0 };
	int r = fleet_check_cluster(invocation, target.cluster);

	if (r == EXIT_DONE)
		r = fleet_parse_days(invocation, "keep", &target.samples_days);
	if (r == EXIT_DONE)
		r = fleet_parse_days(invocation, "keep-sums", &target.sums_days);
	if (r != EXIT_DONE)
		return r;
	r = access_read(option_value(invocation, "access"), &access, &error);
	if (r == 0)
		r = server_open(option_value(invocation, "to"), &access.http, &server, &error);
	if (r == -EINVAL)
		return usage_error("%s", error.text);
	if (r == 0) {
		target.database = server_database(server);
		r = schema_ask_target(server, &target, &error);
	}
	if (r < 0)
		return fail(r, &error);
	return option_given(invocation, "print") ? fleet_print(&target)
						 : fleet_apply(invocation, server, &target);
}

static int fleet_run(const struct invocation *invocation)
{
	if (invocation->word_count != 1 || strcmp(invocation->words[0], "init") != 0)
		return usage_error("name what to do: perftape fleet init --to URL");
	if (!option_given(invocation, "to"))
		return usage_error("--to is missing; name the server, such as https://HOST:8443");
	return fleet_init(invocation);
}

const struct command command_fleet = {
	.name = "fleet",
	.arguments = "init",
	.summary = "Prepare a server for the samples of many hosts",
	.about = about,
	.options = options,
	.run = fleet_run,
};
