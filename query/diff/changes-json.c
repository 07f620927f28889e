// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "query/diff/changes.h"

static const char *const changes_json_keys[CHANGES_BYS] = {
	[CHANGES_BY_NAME] = "name",	    [CHANGES_BY_THREAD] = "thread",
	[CHANGES_BY_CGROUP] = "cgroup",	    [CHANGES_BY_POD] = "pod",
	[CHANGES_BY_FUNCTION] = "function", [CHANGES_BY_PATH] = "path",
	[CHANGES_BY_CPU] = "cpu",
};

/* Numbers have six decimals. */
static void changes_json_put_load(struct buffer *json, const char *key,
				  const struct change_load *load)
{
	json_key(json, key);
	json_open(json, '{');
	json_key(json, "cpus");
	json_signed_nano(json, llround(load->cpus * 1e6) * 1000);
	json_key(json, "part");
	json_signed_nano(json, llround(load->part * 1e6) * 1000);
	json_close(json, '}');
}

static void changes_json_put_flag(struct buffer *json, const char *key, bool value)
{
	json_key(json, key);
	json_bool(json, value);
}

static void changes_json_put_row(const struct changes *changes, const struct change *row,
				 struct buffer *json)
{
	const struct change_load change = { row->after.cpus - row->before.cpus,
					    row->after.part - row->before.part, 0 };

	json_open(json, '{');
	json_key(json, "change");
	json_open(json, '{');
	json_key(json, "by");
	json_string(json, changes_json_keys[changes->by]);
	if (row->name) {
		json_key(json, "name");
		json_string(json, row->name);
	} else {
		json_key(json, "cpu");
		json_u64(json, row->cpu);
	}
	if (changes->by == CHANGES_BY_FUNCTION)
		changes_json_put_flag(json, "kernel", row->kernel);
	changes_json_put_flag(json, "stands_out", row->stands_out);
	changes_json_put_flag(json, "appeared", row->before.cpus == 0);
	changes_json_put_flag(json, "vanished", row->after.cpus == 0);
	changes_json_put_load(json, "before", &row->before);
	changes_json_put_load(json, "after", &row->after);
	changes_json_put_load(json, "change", &change);
	json_close(json, '}');
	json_close(json, '}');
	buffer_text(json, "\n");
}

void changes_put_json(const struct changes *changes, size_t rows, struct buffer *json)
{
	size_t count = rows ? MIN(rows, changes->rows.count) : changes->rows.count;

	for (size_t i = 0; i < count; i++)
		changes_json_put_row(changes, &changes->rows.items[i], json);
}
