// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads /proc/pressure: the number of microseconds in which some or all tasks waited for a
 * resource.
 */
#include <string.h>

#include "gauges/source.h"

#define LIMIT 4096

static const char *const resources[] = { "cpu", "io", "irq", "memory" };

struct pressure {
	struct source_file files[ARRAY_SIZE(resources)];
	struct source_ids ids;
};

static void *pressure_make(const char *root)
{
	struct pressure *pressure = calloc(1, sizeof(*pressure));
	char path[64];

	for (size_t i = 0; pressure && i < ARRAY_SIZE(resources); i++) {
		snprintf(path, sizeof(path), "/proc/pressure/%s", resources[i]);
		source_file_init(&pressure->files[i], root, path);
	}
	return pressure;
}

static void pressure_done(void *state)
{
	struct pressure *pressure = state;

	for (size_t i = 0; i < ARRAY_SIZE(resources); i++)
		source_file_done(&pressure->files[i]);
	source_ids_done(&pressure->ids);
	free(pressure);
}

/* Puts the total of a line such as "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234". */
static int pressure_put_line(struct pressure *pressure, const struct gauges_sink *sink,
			     size_t resource, struct words line)
{
	struct words kind, word;
	int64_t total;
	bool full;

	if (!words_next(&line, &kind))
		return 0;
	full = words_equal(&kind, "full");
	if (!full && !words_equal(&kind, "some"))
		return 0;
	while (words_next(&line, &word))
		if (words_skip(&word, "total=") && words_number(&word, &total))
			return source_put(&pressure->ids, 2 * resource + full, sink, total,
					  "pressure/%s_%s_us", resources[resource],
					  full ? "full" : "some");
	return 0;
}

static int put_file(struct pressure *pressure, const struct gauges_sink *sink, size_t resource)
{
	const struct source_file *file = &pressure->files[resource];
	struct words text = { file->text, file->text + file->size }, line;
	int r = 0;

	while (r == 0 && words_line(&text, &line))
		r = pressure_put_line(pressure, sink, resource, line);
	return r;
}

/* Reads the files. A kernel may lack some or all of them. */
static int pressure_read(void *state, const struct gauges_sink *sink)
{
	struct pressure *pressure = state;
	bool any = false;
	int r = 0, error = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(resources); i++) {
		int one = source_file_read(&pressure->files[i], LIMIT);

		any |= one == 0;
		error = one < 0 ? one : error;
		r = one == 0 ? put_file(pressure, sink, i) : 0;
	}
	return any ? r : error;
}

const struct source_kind source_pressure = { "pressure",    1,	 pressure_make, pressure_read,
					     pressure_done, NULL };
