// SPDX-License-Identifier: GPL-2.0-only
#include "query/diff/flame-pair.h"

#include <errno.h>
#include <math.h>

#include "base/cleanup.h"

void flame_pair_done(struct flame_pair *pair)
{
	pair->folded = folded_free(pair->folded);
	array_done(&pair->earlier);
}

/* Scales what a side adds to each line from a total of `before` widths, which another side has. */
static void flame_pair_scale(struct flame_pair *pair, double width)
{
	struct folded *folded = pair->folded;

	for (size_t i = 1; i < folded->lines.count; i++) {
		uint64_t earlier = i < pair->earlier.count ? pair->earlier.items[i] : 0;
		double samples = folded->weights.items[i] - earlier;

		folded->weights.items[i] = earlier + (uint64_t)llround(samples * width);
	}
}

/* Keeps the widths so far as those of the earlier side. Later lines have none. */
static int flame_pair_keep_earlier(struct flame_pair *pair)
{
	size_t count = pair->folded->lines.count;

	if (array_reserve(&pair->earlier, count + 1) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		pair->earlier.items[i] = pair->folded->weights.items[i];
	pair->earlier.count = count;
	return 0;
}

static int flame_pair_fill_earlier(struct flame_pair *pair)
{
	while (pair->earlier.count < pair->folded->lines.count)
		if (array_push(&pair->earlier, 0) < 0)
			return -ENOMEM;
	return 0;
}

static int flame_pair_fill(struct flame_pair *pair, const struct flame_side *before,
			   const struct flame_side *after)
{
	int r = folded_new(&pair->folded);

	if (r < 0)
		return r;
	pair->folded->kinds = true;
	r = folded_merge(pair->folded, before->folded);
	if (r < 0)
		return r;
	flame_pair_scale(pair, before->width);
	r = flame_pair_keep_earlier(pair);
	if (r < 0)
		return r;
	r = folded_merge(pair->folded, after->folded);
	if (r < 0)
		return r;
	flame_pair_scale(pair, after->width);
	return flame_pair_fill_earlier(pair);
}

int flame_pair_make(const struct flame_side *before, const struct flame_side *after,
		    struct flame_pair *ret_pair)
{
	struct flame_pair pair = { 0 };
	int r = flame_pair_fill(&pair, before, after);

	if (r < 0) {
		flame_pair_done(&pair);
		return r;
	}
	*ret_pair = pair;
	return 0;
}
