// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes a name from any path of a cgroup. The name must not be longer than the path, and the name
 * of a container must contain a star.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "gauges/cgroup-names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(buffer_done) struct buffer name = { 0 };
	char *path = calloc(1, size + 1);
	enum cgroup_kind kind;

	if (!path)
		return 0;
	memcpy(path, data, size);
	kind = cgroup_name(path, &name);
	if (buffer_failed(&name) || !name.size || name.data[name.size - 1] ||
	    name.size > strlen(path) + 1)
		abort();
	if (kind == CGROUP_CONTAINER && !strchr((char *)name.data, '*'))
		abort();
	if (cgroup_pod(path, &name) ? name.size < 13 || name.data[name.size - 1] : name.size)
		abort();
	free(path);
	return 0;
}
