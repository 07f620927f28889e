// SPDX-License-Identifier: GPL-2.0-only
#include "query/sums/flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* The words of the line before, each with its frame. */
struct open_frame {
	uint32_t word;
	uint32_t frame;
};

struct making {
	const struct folded *folded;
	struct flame *flame;
	array_of(struct open_frame) open;
	/* samples so far */
	uint64_t at;
};

/* What compilers append to a function of C is no method of a package of Go. */
static bool flame_is_go(const char *symbol)
{
	static const char *const suffixes[] = { "isra", "part",	 "constprop", "cold", "llvm",
						"lto",	"clone", "plt",	      "str" };
	const char *dot = strchr(symbol, '.');

	if (!dot || dot == symbol || strstr(symbol, "::") || strpbrk(symbol, " <@"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (strncmp(dot + 1, suffixes[i], strlen(suffixes[i])) == 0)
			return false;
	return dot[1] && !strchr("0123456789", dot[1]);
}

static enum flame_kind flame_kind_of(const char *word)
{
	switch (*word) {
	case FOLDED_KERNEL:
		return FLAME_KERNEL;
	case FOLDED_VDSO:
		return FLAME_VDSO;
	case FOLDED_JIT:
		return FLAME_JIT;
	case FOLDED_PROGRAM:
		return flame_is_go(word + 1) ? FLAME_GO : FLAME_PROGRAM;
	default:
		return FLAME_UNKNOWN;
	}
}

static int open_word(struct making *making, uint32_t word)
{
	const char *text = strings_at(&making->folded->names, word);
	struct flame *flame = making->flame;
	struct flame_frame frame = {
		.name = text,
		.kind = FLAME_COMM,
		.depth = making->open.count + 1,
		.start = making->at,
	};

	if (making->open.count) {
		frame.kind = flame_kind_of(text);
		frame.name += frame.kind != FLAME_UNKNOWN;
	}
	if (array_push(&making->open, (struct open_frame){ word, flame->frames.count }) < 0)
		return -ENOMEM;
	return array_push(&flame->frames, frame);
}

static int flame_add_line(struct making *making, uint32_t line)
{
	uint32_t count, shared = 0;
	const uint32_t *words = folded_words(making->folded, line, &count);
	uint64_t samples = making->folded->weights.items[line];

	while (shared < making->open.count && shared < count &&
	       making->open.items[shared].word == words[shared])
		shared++;
	making->open.count = shared;
	for (uint32_t i = shared; i < count; i++)
		if (open_word(making, words[i]) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < making->open.count; i++)
		making->flame->frames.items[making->open.items[i].frame].samples += samples;
	making->flame->frames.items[0].samples += samples;
	making->at += samples;
	return 0;
}

static int compare_samples(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left < right) - (left > right);
}

/* How many samples a frame must have by what was asked for. */
static uint64_t asked_samples(const struct flame *flame, double min_share)
{
	return MAX((uint64_t)(min_share * flame->frames.items[0].samples + 0.999999), 1ull);
}

/* How many samples a frame must have, so that no more than that are left. 0: memory is out. */
static uint64_t least_samples(const struct flame *flame, double min_share, size_t frames_max)
{
	size_t count = flame->frames.count;
	uint64_t least = asked_samples(flame, min_share);
	_cleanup_free_ uint64_t *samples = NULL;

	if (count <= frames_max)
		return least;
	samples = malloc(count * sizeof(*samples));
	if (!samples)
		return 0;
	for (size_t i = 0; i < count; i++)
		samples[i] = flame->frames.items[i].samples;
	qsort(samples, count, sizeof(*samples), compare_samples);
	return MAX(least, samples[frames_max] + 1);
}

/* A frame is never wider than its caller: with one all that it calls go too. */
static int leave_out(struct flame *flame, double min_share, size_t frames_max)
{
	uint64_t least = least_samples(flame, min_share, frames_max),
		 all = flame->frames.items[0].samples;
	size_t kept = 1;

	if (!least)
		return -ENOMEM;
	for (size_t i = 1; i < flame->frames.count; i++) {
		const struct flame_frame *frame = &flame->frames.items[i];

		if (frame->samples < least)
			continue;
		flame->depth = MAX(flame->depth, frame->depth);
		flame->frames.items[kept++] = *frame;
	}
	flame->over_max = least > asked_samples(flame, min_share);
	flame->left_out = flame->frames.count - kept;
	flame->frames.count = kept;
	flame->least = all ? (double)least / all : 0;
	return 0;
}

int flame_make(const struct folded *folded, double min_share, size_t frames_max,
	       struct flame *ret_flame)
{
	_cleanup_free_ uint32_t *order = NULL;
	struct flame flame = { 0 };
	struct making making = { .folded = folded, .flame = &flame };
	int r = array_push(&flame.frames, (struct flame_frame){ .name = "all" });

	if (r == 0)
		r = folded_order(folded, &order);
	for (size_t i = 0; r == 0 && i + 1 < folded->lines.count; i++)
		r = flame_add_line(&making, order[i]);
	if (r == 0)
		r = leave_out(&flame, min_share, MAX(frames_max, (size_t)1));
	array_done(&making.open);
	if (r < 0)
		flame_done(&flame);
	else
		*ret_flame = flame;
	return r;
}

void flame_done(struct flame *flame)
{
	array_done(&flame->frames);
}
