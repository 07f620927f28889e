/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Small caches of stacks and addresses, for fuzz targets. The recorder's own caches take megabytes,
 * which cost the kernel most of the time of an execution, and which an input cannot fill. Link with
 * --wrap=lru_cache_init.
 */

#include "base/cleanup.h"
#include "recorder/build/lru-cache.h"

#define SMALL_CACHES_SETS 16

int __real_lru_cache_init(struct lru_cache *cache, size_t sets);
int __wrap_lru_cache_init(struct lru_cache *cache, size_t sets);

int __wrap_lru_cache_init(struct lru_cache *cache, size_t sets)
{
	return __real_lru_cache_init(cache, MIN(sets, (size_t)SMALL_CACHES_SETS));
}
