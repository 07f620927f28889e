// SPDX-License-Identifier: GPL-2.0-only
#include "base/array.h"

#include <stdint.h>

#include "base/cleanup.h"

int array_grow(void *items, size_t *capacity, size_t count, size_t size)
{
	size_t wanted = MAX(MAX(*capacity * 2, count), (size_t)8);
	void *old, *grown;

	memcpy(&old, items, sizeof(old));
	if (wanted > SIZE_MAX / size)
		return -ENOMEM;
	grown = realloc(old, wanted * size);
	if (!grown)
		return -ENOMEM;
	memcpy(items, &grown, sizeof(grown));
	*capacity = wanted;
	return 0;
}
