// SPDX-License-Identifier: GPL-2.0-only
/*
 * Logs of all forms. Each incident must lie within the log, must not depend on how the log is split
 * into pieces, and must have valid JSON.
 */
#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include "base/json.h"
#include "incidents/logs/episode.h"
#include "incidents/logs/incident-json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	struct buffer json;
	struct episodes episodes;
};

static void check_json(const char *text, size_t size)
{
	struct json_reader reader;
	struct json_token token;
	int r;

	json_reader_init(&reader, text, size);
	while ((r = json_next(&reader, &token)) == 1)
		assert(!token.truncated);
	assert(r == 0 && !reader.depth);
}

static void see(void *context, const struct incident *incident)
{
	struct seen *seen = context;
	size_t before = seen->json.size;

	assert(incident->line_number);
	for (size_t i = 0; i < incident->fields.count; i++)
		assert(incident->fields.list[i].name && incident->fields.list[i].value);
	incident_json(incident, "x", COVERED_NOT, &seen->json);
	check_json((const char *)seen->json.data + before, seen->json.size - before);
	assert(episodes_add(&seen->episodes, incident, NULL) == 0);
}

static void scan(const uint8_t *data, size_t size, size_t piece, struct seen *seen)
{
	static struct catalogue *catalogue;
	struct scanner_options options = { .clock = { .end_ns = 1767312000000000000 },
					   .give = see,
					   .context = seen };
	struct scan_summary summary;
	struct scanner *scanner = NULL;

	if (!catalogue && catalogue_new(NULL, &catalogue, NULL) < 0)
		abort();
	options.catalogue = catalogue;
	if (scanner_new(&options, &scanner) < 0)
		abort();
	scanner_span(scanner, (const char *)data, size, (const char *)data, size);
	for (size_t at = 0; at < size; at += piece)
		if (scanner_feed(scanner, data + at, MIN(piece, size - at)) < 0)
			abort();
	if (scanner_finish(scanner, &summary) < 0)
		abort();
	assert(summary.bytes == size && summary.incidents == seen->episodes.count);
	scanner_free(scanner);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen whole = { 0 }, pieces = { 0 };

	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	scan(data, size, size ? size : 1, &whole);
	scan(data, size, 37, &pieces);
	assert(whole.json.size == pieces.json.size);
	assert(!whole.json.size || !memcmp(whole.json.data, pieces.json.data, whole.json.size));
	buffer_done(&whole.json);
	buffer_done(&pieces.json);
	episodes_done(&whole.episodes);
	episodes_done(&pieces.episodes);
	return 0;
}
