// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stores the functions of one module in 16 bytes each, and their names in one buffer.
 *
 * During building, each symbol is a struct pending. symbols_finish() turns the symbols that perf
 * shows into struct entry, and drops the others. Invariants:
 *   1. Entries are sorted by start, and no two have the same start.
 *   2. No entry is empty or unnamed, and start + size does not overflow.
 *   3. Nests are sorted by inner; outer < inner; the outer entry ends behind the inner one.
 *
 * The steps of symbols_finish() have perf's order, because the order changes the answers. For
 * example, among several symbols without a size at one address, only the last symbol gets an end,
 * so perf shows that symbol, whatever its name is.
 */
#include "symbolizer/symbols.h"

#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/mutation.h"
#include "symbolizer/trampolines.h"

#define PAGE 4096ull
/* The depth of nested functions: compilers nest one level, hand-written assembler two. */
#define NEST_MAX 32

struct pending {
	uint64_t start;
	uint32_t size;
	/*
	 * The place of the name in `names`. It grows with every symbol, so it also shows the order
	 * in which the caller added the symbols.
	 */
	uint32_t name;
	uint32_t group;
	enum symbol_binding binding;
};

struct entry {
	uint64_t start;
	uint32_t size;
	uint32_t name;
};

/* Two nested entries: behind the end of `inner`, addresses belong to `outer` again. */
struct nest {
	uint32_t inner;
	uint32_t outer;
};

struct symbols {
	array_of(struct entry) entries;
	array_of(struct nest) nests;
	struct buffer names;
	array_of(struct pending) pending;
	uint32_t group;
};

int symbols_new(struct symbols **ret_symbols)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return -ENOMEM;
	*ret_symbols = symbols;
	return 0;
}

struct symbols *symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return NULL;
	array_done(&symbols->entries);
	array_done(&symbols->nests);
	array_done(&symbols->pending);
	buffer_done(&symbols->names);
	free(symbols);
	return NULL;
}

static const char *name_at(const struct symbols *symbols, uint32_t name)
{
	return (const char *)symbols->names.data + name;
}

static uint64_t entry_end(const struct entry *entry)
{
	return entry->start + entry->size;
}

size_t symbols_count(const struct symbols *symbols)
{
	return symbols->entries.count;
}

void symbols_at(const struct symbols *symbols, size_t i, struct symbol *ret_symbol)
{
	const struct entry *entry = &symbols->entries.items[i];

	*ret_symbol = (struct symbol){
		.start = entry->start,
		.end = entry_end(entry),
		.name = name_at(symbols, entry->name),
	};
}

/* Returns the number of entries that start at or before an address. */
static size_t entries_until(const struct symbols *symbols, uint64_t address)
{
	size_t low = 0, high = symbols->entries.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->entries.items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns 1 and the entry around an entry, else 0. */
static int entry_outer(const struct symbols *symbols, size_t inner, size_t *ret_outer)
{
	size_t low = 0, high = symbols->nests.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->nests.items[middle].inner < inner)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == symbols->nests.count || symbols->nests.items[low].inner != inner)
		return 0;
	*ret_outer = symbols->nests.items[low].outer;
	return 1;
}

int symbols_find(const struct symbols *symbols, uint64_t address, struct symbol *ret_symbol)
{
	size_t next = entries_until(symbols, address);
	size_t at = next - 1;

	if (next == 0)
		return 0;
	for (int depth = 0; address >= entry_end(&symbols->entries.items[at]); depth++)
		if (depth == NEST_MAX || !entry_outer(symbols, at, &at))
			return 0;
	if (mutated("name-frame-wrongly") && next < symbols->entries.count)
		at = next;
	symbols_at(symbols, at, ret_symbol);
	if (next < symbols->entries.count)
		ret_symbol->end = MIN(ret_symbol->end, symbols->entries.items[next].start);
	return 1;
}

/*
 * Finds a signal trampoline. The byte before a trampoline counts as a part of it, see
 * symbolizer/trampolines.h.
 */
static bool symbols_find_signal(const struct symbols *symbols, uint64_t address,
				struct symbol *ret_symbol)
{
	size_t next = entries_until(symbols, address);

	if (next == symbols->entries.count || symbols->entries.items[next].start != address + 1)
		return false;
	symbols_at(symbols, next, ret_symbol);
	return trampoline_is_signal(ret_symbol->name);
}

int symbols_answer(const struct symbols *symbols, struct addresses *addresses)
{
	struct symbol symbol;
	int r = 0;

	for (size_t i = 0; i < addresses->list.count && r == 0; i++) {
		const struct address *address = &addresses->list.items[i];

		if (address->state == ADDRESSES_OPEN &&
		    (symbols_find_signal(symbols, address->address, &symbol) ||
		     symbols_find(symbols, address->address, &symbol)))
			r = addresses_answer(addresses, i, symbol.start, symbol.name);
	}
	return r;
}

void symbols_set_group(struct symbols *symbols, uint32_t group)
{
	symbols->group = group;
}

/* Limits a size so that start + size does not overflow. No function has 4 GB. */
static uint32_t size_clamp(uint64_t start, uint64_t size)
{
	return MIN(MIN(size, UINT64_MAX - start), UINT32_MAX);
}

int symbols_add(struct symbols *symbols, uint64_t start, uint64_t size, enum symbol_binding binding,
		const char *name, size_t name_size)
{
	size_t at = symbols->names.size;

	name_size = strnlen(name, name_size);
	if (name_size >= UINT32_MAX - at)
		return -E2BIG;
	if (!buffer_room(&symbols->names, name_size + 1) ||
	    array_push(&symbols->pending, (struct pending){
						  .start = start,
						  .size = size_clamp(start, size),
						  .name = at,
						  .group = symbols->group,
						  .binding = binding,
					  }) < 0)
		return -ENOMEM;
	buffer_bytes(&symbols->names, name, name_size);
	buffer_u8(&symbols->names, 0);
	return 0;
}

static int compare_pending(const void *a, const void *b)
{
	const struct pending *pa = a, *pb = b;

	if (pa->start != pb->start)
		return pa->start < pb->start ? -1 : 1;
	return pa->name < pb->name ? -1 : pa->name > pb->name;
}

/* Checks the order first, because kallsyms and many symbol tables are already sorted. */
static void sort_pending(struct symbols *symbols)
{
	const struct pending *items = symbols->pending.items;
	size_t count = symbols->pending.count, i = 1;

	while (i < count && compare_pending(&items[i - 1], &items[i]) < 0)
		i++;
	if (i < count)
		qsort(symbols->pending.items, count, sizeof(*items), compare_pending);
}

static uint64_t page_up(uint64_t address)
{
	return (address + PAGE - 1) & ~(PAGE - 1);
}

static void end_pending(struct symbols *symbols)
{
	size_t count = symbols->pending.count;

	for (size_t i = 0; i < count; i++) {
		struct pending *item = &symbols->pending.items[i], *next = item + 1;
		uint64_t end;

		if (item->size)
			continue;
		if (i + 1 == count || next->group != item->group)
			end = page_up(item->start) + PAGE;
		else
			end = next->start;
		item->size = size_clamp(item->start, end > item->start ? end - item->start : 0);
	}
}

/*
 * A symbol and the lengths in its name. They are counted once for each symbol, because a hostile
 * file may have thousands of long names at one address.
 */
struct candidate {
	const struct pending *pending;
	const char *name;
	size_t length;
	size_t underscores;
};

static struct candidate candidate_of(const struct symbols *symbols, const struct pending *pending)
{
	const char *name = name_at(symbols, pending->name);

	return (struct candidate){ pending, name, strlen(name), strspn(name, "_") };
}

/*
 * Returns whether perf shows a instead of b at the same address. These are perf's rules in perf's
 * order.
 */
static bool candidate_better(const struct candidate *a, const struct candidate *b)
{
	if (!a->length != !b->length)
		return a->length;
	if (!a->pending->size != !b->pending->size)
		return a->pending->size;
	if ((a->pending->binding == SYMBOL_WEAK) != (b->pending->binding == SYMBOL_WEAK))
		return b->pending->binding == SYMBOL_WEAK;
	if ((a->pending->binding == SYMBOL_GLOBAL) != (b->pending->binding == SYMBOL_GLOBAL))
		return a->pending->binding == SYMBOL_GLOBAL;
	if (a->underscores != b->underscores)
		return a->underscores < b->underscores;
	if (a->length != b->length)
		return a->length > b->length;
	/* the old spelling of a system call loses to any other name */
	return strncmp(a->name, "SyS", 3) != 0 && strncmp(a->name, "compat_SyS", 10) != 0;
}

/*
 * Returns the symbol that perf shows among those with the start of symbol *i. Moves *i to the last
 * of those symbols.
 */
static const struct pending *best_pending(const struct symbols *symbols, size_t *i)
{
	const struct pending *items = symbols->pending.items, *first = &items[*i];
	struct candidate best;

	if (*i + 1 == symbols->pending.count || items[*i + 1].start != first->start)
		return first;
	best = candidate_of(symbols, first);
	while (*i + 1 < symbols->pending.count && items[*i + 1].start == first->start) {
		struct candidate next = candidate_of(symbols, &items[++*i]);

		if (!candidate_better(&best, &next))
			best = next;
	}
	return best.pending;
}

static int take_pending(struct symbols *symbols)
{
	size_t count = symbols->pending.count;

	if (array_reserve(&symbols->entries, count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct pending *best = best_pending(symbols, &i);

		if (best->size && *name_at(symbols, best->name))
			symbols->entries.items[symbols->entries.count++] =
				(struct entry){ best->start, best->size, best->name };
	}
	return 0;
}

/*
 * Finds the nests. `open` is a stack of the entries that may contain later entries. Each entry ends
 * before the entry below it in the stack, because an entry that ends no later than its successor is
 * never needed again.
 */
static int find_nests(struct symbols *symbols)
{
	_cleanup_array_ array_of(uint32_t) open = { 0 };
	int r = 0;

	for (size_t i = 0; i < symbols->entries.count && r == 0; i++) {
		const struct entry *entries = symbols->entries.items;

		while (open.count &&
		       entry_end(&entries[open.items[open.count - 1]]) <= entry_end(&entries[i]))
			open.count--;
		if (open.count)
			r = array_push(&symbols->nests,
				       (struct nest){ i, open.items[open.count - 1] });
		if (r < 0)
			return r;
		r = array_push(&open, i);
	}
	return r;
}

int symbols_finish(struct symbols *symbols)
{
	void *trimmed;
	int r;

	sort_pending(symbols);
	end_pending(symbols);
	r = take_pending(symbols);
	array_done(&symbols->pending);
	if (r == 0)
		r = find_nests(symbols);
	/* the table is kept for long, so release spare memory; a failure does not matter */
	trimmed = realloc(symbols->entries.items,
			  MAX(symbols->entries.count, 1) * sizeof(*symbols->entries.items));
	if (trimmed) {
		symbols->entries.items = trimmed;
		symbols->entries.capacity = MAX(symbols->entries.count, 1);
	}
	return r;
}
