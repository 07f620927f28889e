// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <stdbool.h>
#include <string.h>

#include "recorder/build/lru-cache.h"
#include "tests/random.h"

static struct lru_cache_key key_of(uint64_t key, uint32_t more, uint32_t place)
{
	return (struct lru_cache_key){ key, more, place };
}

/* A key has the value that was put last, or no value. A key that was just put has its value. */
static void test_model(void)
{
	enum { KEYS = 2000, MORES = 3 };
	static uint32_t model[KEYS][MORES];
	struct lru_cache cache;
	size_t found = 0;

	CHECK_EQ(lru_cache_init(&cache, 256), 0);
	for (int round = 0; round < 3; round++) {
		memset(model, 0xff, sizeof(model));
		for (uint32_t step = 0; step < 50000; step++) {
			uint32_t a = random_below(KEYS), b = random_below(MORES), value;
			struct lru_cache_key key = key_of(a, b, (a * MORES + b) * 0x9e3779b9u >> 8);

			lru_cache_prefetch(&cache, key);
			value = lru_cache_find(&cache, key);
			CHECK(value == LRU_CACHE_NONE || value == model[a][b]);
			found += value != LRU_CACHE_NONE;
			if (random_below(2) || value != LRU_CACHE_NONE)
				lru_cache_put(&cache, key, step);
			else
				lru_cache_offer(&cache, key, step);
			CHECK_EQ(lru_cache_find(&cache, key), step);
			model[a][b] = step;
		}
		lru_cache_clear(&cache);
		for (uint32_t i = 0; i < KEYS * MORES; i++)
			CHECK_EQ(lru_cache_find(&cache,
						key_of(i / MORES, i % MORES, i * 0x9e3779b9u >> 8)),
				 LRU_CACHE_NONE);
	}
	/* the cache evicted some values, and kept others */
	CHECK(found > 3000 && found < 140000);
	lru_cache_done(&cache);
	lru_cache_done(&cache);
}

/* If a set is full, the key that was not used for the longest time is evicted. */
static void test_room(void)
{
	struct lru_cache cache;

	CHECK_EQ(lru_cache_init(&cache, 1), 0);
	CHECK_EQ(lru_cache_find(&cache, key_of(0, 0, 0)), LRU_CACHE_NONE);
	for (uint32_t i = 0; i < LRU_CACHE_WAYS; i++)
		lru_cache_offer(&cache, key_of(i, 0, i), i);
	for (uint32_t i = 0; i < LRU_CACHE_WAYS; i++)
		CHECK_EQ(lru_cache_find(&cache, key_of(i, 0, i)), i);
	/* key 0 was used before all others */
	lru_cache_put(&cache, key_of(10, 0, 0), 10);
	CHECK_EQ(lru_cache_find(&cache, key_of(0, 0, 0)), LRU_CACHE_NONE);
	CHECK_EQ(lru_cache_find(&cache, key_of(1, 0, 0)), 1);
	/*
	 * by now key 2 was used before all others; the next eviction takes key 11, because nobody
	 * used it
	 */
	lru_cache_offer(&cache, key_of(11, 0, 0), 11);
	CHECK_EQ(lru_cache_find(&cache, key_of(2, 0, 0)), LRU_CACHE_NONE);
	lru_cache_offer(&cache, key_of(12, 0, 0), 12);
	for (uint32_t i = 0; i < 20; i++) {
		bool there = i == 1 || i == 3 || i == 10 || i == 12;

		CHECK_EQ(lru_cache_find(&cache, key_of(i, 0, 0)), there ? i : LRU_CACHE_NONE);
	}
	CHECK_EQ(lru_cache_find(&cache, key_of(1, 1, 0)), LRU_CACHE_NONE);
	lru_cache_done(&cache);
}

CHECK_MAIN({ "the cache agrees with a plain array", test_model },
	   { "the key that was not used longest makes room", test_room })
