// SPDX-License-Identifier: GPL-2.0-only
#include "cli/answer/file-format.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

static const struct {
	const char *ending;
	enum file_format format;
} endings[] = {
	{ ".txt", FILE_FORMAT_TEXT },
	{ ".folded", FILE_FORMAT_FOLDED },
	{ ".collapsed", FILE_FORMAT_FOLDED },
	/* speedscope's own format, which begins with one object */
	{ ".speedscope.json", FILE_FORMAT_OTHER },
	{ ".json", FILE_FORMAT_JSON },
	{ ".jsonl", FILE_FORMAT_JSON },
	{ ".ndjson", FILE_FORMAT_JSON },
	{ ".svg", FILE_FORMAT_SVG },
	{ ".svgz", FILE_FORMAT_SVG },
	{ ".tape", FILE_FORMAT_TAPE },
	{ ".pprof", FILE_FORMAT_OTHER },
	{ ".pb", FILE_FORMAT_OTHER },
	{ ".prof", FILE_FORMAT_OTHER },
	{ ".data", FILE_FORMAT_OTHER },
	{ ".otlp", FILE_FORMAT_OTHER },
	{ ".pftrace", FILE_FORMAT_OTHER },
	{ ".jfr", FILE_FORMAT_OTHER },
	{ ".csv", FILE_FORMAT_OTHER },
	{ ".tsv", FILE_FORMAT_OTHER },
	{ ".html", FILE_FORMAT_OTHER },
	{ ".pdf", FILE_FORMAT_OTHER },
	{ ".png", FILE_FORMAT_OTHER },
	{ ".parquet", FILE_FORMAT_OTHER },
};

enum file_format file_format_of(const char *path)
{
	size_t size = path ? strlen(path) : 0, end_size;

	if (size > 3 && strcasecmp(path + size - 3, ".gz") == 0)
		size -= 3;
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		end_size = strlen(endings[i].ending);
		/* a name such as ".json" does not have an ending */
		if (size > end_size && path[size - end_size - 1] != '/' &&
		    strncasecmp(path + size - end_size, endings[i].ending, end_size) == 0)
			return endings[i].format;
	}
	return FILE_FORMAT_ANY;
}
