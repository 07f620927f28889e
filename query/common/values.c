// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "query/common/common-internal.h"

/* Returns 1 if there is no room for another name. */
static int values_key(struct common_run *run, const char *key, uint32_t *ret_row)
{
	size_t size = strlen(key);
	uint32_t count = strings_count(&run->keys);
	int r;

	if (run->key_bytes >= COMMON_KEY_BYTES_MOST) {
		*ret_row = strings_find(&run->keys, key, size);
		return !*ret_row;
	}
	r = strings_add(&run->keys, key, size, ret_row);
	if (r < 0)
		return r;
	if (strings_count(&run->keys) > count)
		run->key_bytes += size;
	return 0;
}

int common_values_add(struct common_run *run, uint32_t window, const char *key, float value)
{
	struct common_value added = { .window = window, .value = value };
	int r = values_key(run, key, &added.row);
	uint32_t *last;

	if (r)
		return MIN(r, 0);
	while (run->last.count <= added.row)
		if (array_push(&run->last, 0) < 0)
			return -ENOMEM;
	last = &run->last.items[added.row];
	if (*last && run->values.items[*last - 1].window == window) {
		struct common_value *has = &run->values.items[*last - 1];

		has->value = MAX(has->value, value);
		return 0;
	}
	r = array_push(&run->values, added);
	if (r < 0)
		return r;
	*last = run->values.count;
	return 0;
}
