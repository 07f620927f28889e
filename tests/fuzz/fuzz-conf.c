// SPDX-License-Identifier: GPL-2.0-only
/* Reads any bytes as a settings file. Each setting must be an option, in a line of the file. */
#include <stdlib.h>

#include "cli/options/conf.h"
#include "tests/fuzz/root.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Some global options. Those of the program are in cli/main.c. */
const struct option global_options[] = {
	{ "store", 0, "DIR", "" },
	{ "utc", 0, NULL, "" },
	{ "quiet", 'q', NULL, "" },
	{ 0 },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(conf_done) struct conf conf = { 0 };
	struct error error = { 0 };
	char path[128];

	if (!*root)
		make_root(NULL, 0);
	put("/conf", data, size);
	snprintf(path, sizeof(path), "%s/conf", root);
	if (conf_read(path, true, &conf, &error) < 0) {
		if (!*error.text)
			abort();
		return 0;
	}
	for (size_t i = 0; i < conf.list.count; i++) {
		const struct conf_row *row = &conf.list.items[i];

		if (!row->option || !row->line || row->line > size)
			abort();
		if (row->value && *row->value &&
		    (row->value < conf.text || row->value > conf.text + size))
			abort();
	}
	conf_find(&conf, &command_record, "segment");
	return 0;
}
