// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads both kinds of files from the front. Keeps, for each address, only the place of the last
 * function's name, and reads the names at the end.
 *
 * jitdump begins with a header: magic u32, version u32, size u32, ... A record has kind u32, size
 * u32, time u64. A record that loads code continues with pid u32, tid u32, vma u64, address u64,
 * size u64, index u64, and the name with its NUL. A record that moves code continues with pid u32,
 * tid u32, vma u64, old address u64, new address u64, size u64, index u64.
 */
#include "symbolizer/jit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"

#define STEP (64u << 10)
/* Longer lines are truncated. */
#define LINE_MAX 4096
/* Units of the budget to parse a line or a record. */
#define PARSE_UNITS 5

#define JITDUMP_MAGIC 0x4a695444u
#define JITDUMP_HEADER 40
#define JITDUMP_RECORD 16
#define JITDUMP_LOAD 56 /* size with the record's own header */
#define JITDUMP_MOVE 64
#define JITDUMP_CODE_LOAD 0
#define JITDUMP_CODE_MOVE 1
/* Limits the number of moves, because a hostile file could state any number. */
#define MOVES_MAX (1u << 20)

struct place {
	uint64_t start;
	/* The place of the name; 0: none, because a file never begins with a name. */
	uint64_t name_at;
};

/* The state of a search. */
struct jit_search {
	struct window window;
	struct addresses *addresses;
	/* One place for each address. */
	struct place *places;
	/* Needed because in a hostile file, each function could cover every address. */
	struct work_limit budget;
};

static int jit_search_init(struct jit_search *search, const struct file_window *source,
			   struct addresses *addresses)
{
	*search = (struct jit_search){
		.window = { .source = *source, .step = STEP },
		.addresses = addresses,
		.places = calloc(addresses->list.count + 1, sizeof(struct place)),
		.budget = work_limit_of(WORK_JIT + WORK_PER_ADDRESS * addresses->open),
	};
	search->window.source.budget = &search->budget;
	return search->places ? 0 : -ENOMEM;
}

static void jit_search_done(struct jit_search *search)
{
	window_done(&search->window);
	free(search->places);
}

static void place_function(struct jit_search *search, uint64_t start, uint64_t size,
			   uint64_t name_at)
{
	const struct addresses *addresses = search->addresses;

	for (size_t i = addresses_below(addresses, start); i < addresses->list.count; i++) {
		if (addresses->list.items[i].address - start >= size ||
		    !work_spend(&search->budget, 1))
			return;
		search->places[i] = (struct place){ start, name_at };
	}
}

/* Reads the text at a place, up to the end of its line, a NUL, or the end of the file. */
static const char *read_name(struct jit_search *search, uint64_t at, char name[LINE_MAX])
{
	uint64_t left = search->window.source.size - at;
	struct reader reader = window_reader(&search->window, at, MIN(left, LINE_MAX - 1));
	size_t size = reader_left(&reader);
	const char *text = reader_take(&reader, size);

	memcpy(name, text ? text : "", text ? size : 0);
	name[size] = 0;
	name[strcspn(name, "\r\n")] = 0;
	return name;
}

static int jit_answer(struct jit_search *search)
{
	struct addresses *addresses = search->addresses;
	char name[LINE_MAX];
	/* a later function may cover the address, so a part of the file would give wrong names */
	int r = work_check(&search->budget, 0);

	for (size_t i = 0; i < addresses->list.count && r == 0; i++) {
		const struct place *place = &search->places[i];

		if (addresses->list.items[i].state == ADDRESSES_OPEN && place->name_at &&
		    *read_name(search, place->name_at, name))
			r = addresses_answer(addresses, i, place->start, name);
	}
	return r;
}

/* Reads a number in hex and the blank after it. The JDK writes "0x" before the number. */
static bool read_hex(const char *line, size_t size, size_t *at, uint64_t *ret_value)
{
	size_t begin;

	if (size - *at > 2 && line[*at] == '0' && line[*at + 1] == 'x')
		*at += 2;
	begin = *at;
	*ret_value = 0;
	for (; *at < size && *at - begin < 16; (*at)++) {
		char c = line[*at] | 0x20;

		if (c >= '0' && c <= '9' && line[*at] == c)
			*ret_value = *ret_value << 4 | (c - '0');
		else if (c >= 'a' && c <= 'f')
			*ret_value = *ret_value << 4 | (c - 'a' + 10);
		else
			break;
	}
	return *at > begin && *at < size && line[(*at)++] == ' ';
}

static void place_line(struct jit_search *search, uint64_t offset, const char *line, size_t size)
{
	uint64_t start, length;
	size_t at = 0;

	if (read_hex(line, size, &at, &start) && read_hex(line, size, &at, &length) && at < size)
		place_function(search, start, length, offset + at);
}

int perf_map_names(const struct file_window *source, struct addresses *addresses)
{
	_cleanup_(jit_search_done) struct jit_search search = { 0 };
	bool at_line_start = true; /* false within a line that is longer than LINE_MAX */
	int r = jit_search_init(&search, source, addresses);

	for (uint64_t at = 0; r == 0 && at < source->size;) {
		struct reader reader =
			window_reader(&search.window, at, MIN(source->size - at, LINE_MAX));
		size_t size = reader_left(&reader);
		const char *line = reader_take(&reader, size), *newline;

		if (!line || !size || !work_spend(&search.budget, PARSE_UNITS))
			break;
		newline = memchr(line, '\n', size);
		if (newline)
			size = newline - line;
		if (at_line_start)
			place_line(&search, at, line, size);
		at_line_start = newline;
		at += size + (newline != NULL);
	}
	return r < 0 ? r : jit_answer(&search);
}

/*
 * A function that was moved. The function keeps its index; the record that loaded it contains the
 * name.
 */
struct move {
	uint64_t index;
	/* The place of the name; 0: not loaded yet. */
	uint64_t name_at;
};

struct jitdump {
	struct jit_search search;
	/* The offset of the first record. */
	uint64_t first;
	/* Sorted by index, without duplicates. */
	array_of(struct move) moves;
};

static int compare_moves(const void *a, const void *b)
{
	const struct move *one = a, *other = b;

	return (one->index > other->index) - (one->index < other->index);
}

static struct move *find_move(const struct jitdump *jitdump, uint64_t index)
{
	const struct move key = { .index = index };

	if (!jitdump->moves.count)
		return NULL;
	return bsearch(&key, jitdump->moves.items, jitdump->moves.count, sizeof(key),
		       compare_moves);
}

static void take_load(struct jitdump *jitdump, uint64_t at, uint32_t size)
{
	struct reader reader = window_reader(&jitdump->search.window, at, JITDUMP_LOAD);
	uint64_t start, length, name_at = at + JITDUMP_LOAD;
	struct move *move;

	reader_take(&reader, JITDUMP_RECORD + 16);
	start = reader_u64_host(&reader);
	length = reader_u64_host(&reader);
	move = find_move(jitdump, reader_u64_host(&reader));
	if (reader_failed(&reader) || size <= JITDUMP_LOAD)
		return;
	place_function(&jitdump->search, start, length, name_at);
	if (move)
		move->name_at = name_at;
}

/*
 * Names the new place of moved code. The old place keeps its name until other code covers it,
 * because earlier samples are at the old place.
 */
static void take_move(struct jitdump *jitdump, uint64_t at)
{
	struct reader reader = window_reader(&jitdump->search.window, at, JITDUMP_MOVE);
	uint64_t start, length;
	const struct move *move;

	reader_take(&reader, JITDUMP_RECORD + 24);
	start = reader_u64_host(&reader);
	length = reader_u64_host(&reader);
	move = find_move(jitdump, reader_u64_host(&reader));
	if (!reader_failed(&reader) && move && move->name_at)
		place_function(&jitdump->search, start, length, move->name_at);
}

static int note_move(struct jitdump *jitdump, uint64_t at)
{
	struct reader reader = window_reader(&jitdump->search.window, at, JITDUMP_MOVE);
	struct move move = { 0 };

	reader_take(&reader, JITDUMP_MOVE - 8);
	move.index = reader_u64_host(&reader);
	if (reader_failed(&reader) || jitdump->moves.count == MOVES_MAX)
		return 0;
	return array_push(&jitdump->moves, move);
}

/*
 * Sorts the moves and removes duplicates. Few compilers move code, so jitdump->moves contains only
 * the indexes of moved code.
 */
static void sort_moves(struct jitdump *jitdump)
{
	struct move *items = jitdump->moves.items;
	size_t kept = 0;

	if (jitdump->moves.count)
		qsort(items, jitdump->moves.count, sizeof(*items), compare_moves);
	for (size_t i = 0; i < jitdump->moves.count; i++)
		if (!kept || items[kept - 1].index != items[i].index)
			items[kept++] = items[i];
	jitdump->moves.count = kept;
}

/*
 * Walks over the records once. With `note`, only collects which code was moved; without it, takes
 * the loads and moves. The caller does both, in this order.
 */
static int jit_walk_records(struct jitdump *jitdump, bool note)
{
	uint64_t end = jitdump->search.window.source.size;
	uint32_t kind, size;
	int r = 0;

	for (uint64_t at = jitdump->first; r == 0 && at < end; at += size) {
		struct reader reader = window_reader(&jitdump->search.window, at, JITDUMP_RECORD);

		kind = reader_u32_host(&reader);
		size = reader_u32_host(&reader);
		if (reader_failed(&reader) || size < JITDUMP_RECORD ||
		    !work_spend(&jitdump->search.budget, PARSE_UNITS))
			break;
		if (note && kind == JITDUMP_CODE_MOVE)
			r = note_move(jitdump, at);
		else if (!note && kind == JITDUMP_CODE_MOVE)
			take_move(jitdump, at);
		else if (!note && kind == JITDUMP_CODE_LOAD)
			take_load(jitdump, at, size);
	}
	return r;
}

static void jitdump_done(struct jitdump *jitdump)
{
	jit_search_done(&jitdump->search);
	array_done(&jitdump->moves);
}

int jitdump_names(const struct file_window *source, struct addresses *addresses)
{
	_cleanup_(jitdump_done) struct jitdump jitdump = { 0 };
	int r = jit_search_init(&jitdump.search, source, addresses);
	struct reader reader = window_reader(&jitdump.search.window, 0, JITDUMP_HEADER);

	if (r < 0 || reader_u32_host(&reader) != JITDUMP_MAGIC)
		return r;
	reader_u32(&reader);
	jitdump.first = reader_u32_host(&reader);
	if (reader_failed(&reader) || jitdump.first < JITDUMP_HEADER)
		return 0;
	r = jit_walk_records(&jitdump, true);
	sort_moves(&jitdump);
	if (r < 0)
		return r;
	r = jit_walk_records(&jitdump, false);
	return r < 0 ? r : jit_answer(&jitdump.search);
}
