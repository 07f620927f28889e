// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/fleet/fleet-drift.h"
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
	{ "to", 0, "URL", "init: server, as http[s]://[USER@]HOST[:PORT][/DATABASE]" },
	{ "fleet", 0, "URL", "drift: the server to ask" },
	{ "label", 0, "NAME", "drift: compare hosts by this label, too, such as zone or zone=a" },
	{ "kind", 0, "KIND", "drift: only these incidents, such as ena_reset" },
	{ "since", 0, "TIME", "drift: start of the window (default: 7 days ago)" },
	{ "until", 0, "TIME", "drift: end of the window (default: now)" },
	{ "access", 0, "FILE", "user, password, certificates (default: " ACCESS_FILE ")" },
	{ "cluster", 0, "NAME", "make replicated tables on all nodes of this cluster" },
	{ "keep", 0, "LENGTH", "keep single samples for this time (default: 14d)" },
	{ "keep-sums", 0, "LENGTH", "keep everything else for this time (default: 400d)" },
	{ "print", 0, NULL, "print the SQL instead of running it" },
	JSON_OPTION,
	{ 0 },
};

static const char about[] =
	"fleet init makes the tables of a fleet on a ClickHouse server, or adds what tables of an\n"
	"older perftape lack. It may be repeated at any time.\n"
	"fleet drift lists which facts differ between hosts with and without incidents: labels,\n"
	"units, versions, sysctls. With --label, also between the value of the label with most\n"
	"incidents and all others: two zones may look the same, and not be.\n"
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
	if (r < 0)
		return fail(r, NULL);
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
	if (r < 0)
		return fail(r, &error);
	target.database = server_database(server);
	r = schema_ask_target(server, &target, &error);
	if (r < 0)
		return fail(r, &error);
	return option_given(invocation, "print") ? fleet_print(&target)
						 : fleet_apply(invocation, server, &target);
}

/* Options of the one have no effect on the other. */
static int fleet_refuse(const struct invocation *invocation, const char *word,
			const char *const *names)
{
	for (; *names; names++)
		if (option_typed(invocation, *names))
			return usage_error("--%s does not go with fleet %s", *names, word);
	return EXIT_DONE;
}

static int fleet_run(const struct invocation *invocation)
{
	static const char *const of_init[] = {
		"to", "cluster", "keep", "keep-sums", "print", NULL
	};
	static const char *const of_drift[] = { "fleet", "label", "kind", "since",
						"until", "json",  NULL };
	const char *word = invocation->word_count == 1 ? invocation->words[0] : "";
	int r;

	if (strcmp(word, "drift") == 0) {
		if (option_typed(invocation, "to"))
			return usage_error(
				"fleet drift asks a server; name it with --fleet, not with --to");
		r = fleet_refuse(invocation, word, of_init);
		return r == EXIT_DONE ? fleet_drift(invocation) : r;
	}
	if (strcmp(word, "init") != 0)
		return usage_error(
			"name what to do: perftape fleet init --to URL, or drift --fleet URL");
	r = fleet_refuse(invocation, word, of_drift);
	if (r != EXIT_DONE)
		return r;
	if (!option_given(invocation, "to"))
		return usage_error("--to is missing; name the server, such as https://HOST:8443");
	return fleet_init(invocation);
}

const struct command command_fleet = {
	.name = "fleet",
	.arguments = "init|drift",
	.summary = "Prepare the server of a fleet, or ask how its hosts differ",
	.about = about,
	.options = options,
	.run = fleet_run,
};
