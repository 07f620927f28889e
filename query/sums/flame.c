// SPDX-License-Identifier: GPL-2.0-only
#include "query/sums/flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* A word of the previous line, and the frame of this word. */
struct open_frame {
	uint32_t word;
	uint32_t frame;
	/* true for the comm, because a function with the same text has the same number */
	bool comm;
};

struct builder {
	const struct folded *folded;
	bool reverse;
	/* NULL: the stacks are of one window */
	const uint64_t *earlier;
	struct flame *flame;
	array_of(struct open_frame) open;
	/* number of samples in the lines so far */
	uint64_t at;
};

/* Returns whether a compiler or linker appends this to a C function, such as "part.0". */
static bool is_suffix(const char *text)
{
	static const char *const suffixes[] = { "isra", "part",	    "constprop",  "cold",    "llvm",
						"lto",	"clone",    "localalias", "default", "arch",
						"avx",	"avx2",	    "avx512f",	  "sse2",    "sse4",
						"plt",	"resolver", "str" };

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		size_t size = strlen(suffixes[i]);

		if (strncmp(text, suffixes[i], size) == 0 && strchr("._0123456789", text[size]))
			return true;
	}
	return false;
}

/* Returns whether a symbol looks like "package.Function". "[libc.so.6+0x1000]" is only a place. */
static bool flame_is_go(const char *symbol)
{
	const char *dot = strchr(symbol, '.');

	if (!dot || dot == symbol || *symbol == '[' || strstr(symbol, "::") ||
	    strpbrk(symbol, " <@") || is_suffix(dot + 1))
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

/* Returns true for a line's comm: its first word, or the last word of a reversed line. */
static bool is_comm(const struct builder *builder, uint32_t i, uint32_t count)
{
	return i == (builder->reverse ? count - 1 : 0);
}

static int open_word(struct builder *builder, uint32_t word, bool comm)
{
	const char *text = strings_at(&builder->folded->names, word);
	struct flame *flame = builder->flame;
	struct flame_frame frame = {
		.name = text,
		.kind = FLAME_COMM,
		.depth = builder->open.count + 1,
		.start = builder->at,
	};

	if (!comm) {
		frame.kind = flame_kind_of(text);
		frame.name += frame.kind != FLAME_UNKNOWN;
	}
	if (array_push(&builder->open, (struct open_frame){ word, flame->frames.count, comm }) < 0)
		return -ENOMEM;
	return array_push(&flame->frames, frame);
}

static uint32_t word_at(const struct builder *builder, const uint32_t *words, uint32_t count,
			uint32_t i)
{
	return words[builder->reverse ? count - 1 - i : i];
}

static void flame_add_samples(struct builder *builder, uint32_t frame, uint64_t samples,
			      uint64_t earlier)
{
	builder->flame->frames.items[frame].samples += samples;
	builder->flame->frames.items[frame].earlier += earlier;
}

static int flame_add_line(struct builder *builder, uint32_t line)
{
	uint32_t count, shared = 0;
	const uint32_t *words = folded_words(builder->folded, line, &count);
	uint64_t samples = builder->folded->weights.items[line];
	uint64_t earlier = builder->earlier ? builder->earlier[line] : 0;

	while (shared < MIN(builder->open.count, count) &&
	       builder->open.items[shared].word == word_at(builder, words, count, shared) &&
	       builder->open.items[shared].comm == is_comm(builder, shared, count))
		shared++;
	builder->open.count = shared;
	for (uint32_t i = shared; i < count; i++)
		if (open_word(builder, word_at(builder, words, count, i),
			      is_comm(builder, i, count)) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < builder->open.count; i++)
		flame_add_samples(builder, builder->open.items[i].frame, samples, earlier);
	flame_add_samples(builder, 0, samples, earlier);
	builder->at += samples;
	return 0;
}

static int compare_samples(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left < right) - (left > right);
}

/* Returns how many samples a frame needs according to min_share. */
static uint64_t asked_samples(const struct flame *flame, double min_share)
{
	return MAX((uint64_t)(min_share * flame->frames.items[0].samples + 0.999999), 1ull);
}

/*
 * Returns how many samples a frame needs so that at most frames_max remain, or 0 if memory ran out.
 */
static uint64_t least_samples(const struct flame *flame, double min_share, size_t frames_max)
{
	uint64_t least = asked_samples(flame, min_share);
	_cleanup_free_ uint64_t *samples = NULL;
	size_t count = 0;

	/* of millions of frames, few are wide enough */
	for (size_t i = 0; i < flame->frames.count; i++)
		count += flame->frames.items[i].samples >= least;
	if (count <= frames_max)
		return least;
	samples = malloc(count * sizeof(*samples));
	if (!samples)
		return 0;
	count = 0;
	for (size_t i = 0; i < flame->frames.count; i++)
		if (flame->frames.items[i].samples >= least)
			samples[count++] = flame->frames.items[i].samples;
	qsort(samples, count, sizeof(*samples), compare_samples);
	return MAX(least, samples[frames_max] + 1);
}

/*
 * Removes the narrow frames. A callee is never wider than its caller, so the callees of a removed
 * frame go too.
 */
static int drop_narrow(struct flame *flame, double min_share, size_t frames_max)
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

static int flame_build(struct builder *builder, const struct flame_options *options)
{
	enum folded_order by = options->reverse ? FOLDED_ORDER_REVERSE : FOLDED_ORDER_TREE;
	const struct folded *folded = builder->folded;
	struct flame *flame = builder->flame;
	_cleanup_free_ uint32_t *order = NULL;
	int r = array_push(&flame->frames, (struct flame_frame){ .name = "all" });

	if (r < 0)
		return r;
	r = folded_sort(folded, by, &order);
	for (size_t i = 0; r == 0 && i + 1 < folded->lines.count; i++)
		r = flame_add_line(builder, order[i]);
	if (r < 0)
		return r;
	return drop_narrow(flame, options->min_share, MAX(options->frames_max, (size_t)1));
}

int flame_make(const struct folded *folded, const struct flame_options *options,
	       struct flame *ret_flame)
{
	struct flame flame = { 0 };
	struct builder builder = {
		.folded = folded,
		.reverse = options->reverse,
		.earlier = options->earlier,
		.flame = &flame,
	};
	int r = flame_build(&builder, options);

	array_done(&builder.open);
	if (r < 0) {
		flame_done(&flame);
		return r;
	}
	*ret_flame = flame;
	return 0;
}

void flame_done(struct flame *flame)
{
	array_done(&flame->frames);
}
