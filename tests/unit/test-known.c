// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <string.h>

#include "recorder/known.h"
#include "tests/random.h"

/* Each value is that of one key only, also where keys agree in the check or in the place. */
static void test_model(void)
{
	enum { CHECKS = 40, PLACES = 50 };
	static const uint32_t places[PLACES] = { 0, 1, UINT32_MAX, 1024, 2048, 1 << 31 };
	uint32_t model[CHECKS][PLACES];
	struct known known = { 0 };

	for (int round = 0; round < 3; round++) {
		size_t count = 0;

		memset(model, 0xff, sizeof(model));
		for (int step = 0; step < 10000; step++) {
			uint32_t check = random_below(CHECKS), place = random_below(PLACES);
			struct known_key key = { check,
				place < 6 ? places[place] : place * 0x9e3779b9u };

			known_soon(&known, key);
			CHECK_EQ(known_find(&known, key), model[check][place]);
			if (model[check][place] != KNOWN_NONE || random_below(3))
				continue;
			model[check][place] = step;
			CHECK_EQ(known_add(&known, key, step), 0);
			CHECK_EQ(known.count, ++count);
		}
		CHECK(count > CHECKS * PLACES / 2);
		known_clear(&known);
		CHECK_EQ(known.count, 0);
	}
	known_done(&known);
	CHECK_EQ(known_find(&known, (struct known_key){ 1, 1 }), KNOWN_NONE);
	known_clear(&known);
	known_done(&known);
}

/* Thousands that choose the same place. */
static void test_same_place(void)
{
	struct known known = { 0 };

	for (uint32_t i = 0; i < 3000; i++)
		CHECK_EQ(known_add(&known, (struct known_key){ i, 7 }, i), 0);
	for (uint32_t i = 0; i < 3000; i++)
		CHECK_EQ(known_find(&known, (struct known_key){ i, 7 }), i);
	CHECK_EQ(known_find(&known, (struct known_key){ 3000, 7 }), KNOWN_NONE);
	known_done(&known);
}

CHECK_MAIN({ "against a model", test_model }, { "keys of one place", test_same_place })
