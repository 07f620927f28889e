// SPDX-License-Identifier: GPL-2.0-only
#include "query/explain/code-kinds.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "tape/stack-class.h"

struct code_word {
	/* A name that ends with '*' stands for all names that begin so. */
	const char *name;
	enum code_kind kind;
};

/*
 * Functions of kernels from 4.4 to 7.2. The walk over memory cgroups had other names before 5.8,
 * when each reader of statistics added up all cgroups, and after it, when rstat flushes trees.
 */
static const struct code_word words[] = {
	{ "mem_cgroup_iter", CODE_CGROUP_WALK },
	{ "mem_cgroup_nr_lru_pages", CODE_CGROUP_WALK },
	{ "mem_cgroup_node_nr_lru_pages", CODE_CGROUP_WALK },
	{ "memcg_stat_show", CODE_CGROUP_WALK },
	{ "memcg_numa_stat_show", CODE_CGROUP_WALK },
	{ "memcg_page_state*", CODE_CGROUP_WALK },
	{ "memcg_events*", CODE_CGROUP_WALK },
	{ "memcg_sum_events", CODE_CGROUP_WALK },
	{ "memcg_exact_page_state", CODE_CGROUP_WALK },
	{ "tree_stat", CODE_CGROUP_WALK },
	{ "tree_events", CODE_CGROUP_WALK },
	{ "mem_cgroup_css_rstat_flush", CODE_CGROUP_WALK },
	{ "mem_cgroup_flush_stats*", CODE_CGROUP_WALK },
	{ "__mem_cgroup_flush_stats", CODE_CGROUP_WALK },
	{ "do_flush_stats", CODE_CGROUP_WALK },
	{ "cgroup_rstat_flush*", CODE_CGROUP_WALK },
	{ "css_rstat_flush*", CODE_CGROUP_WALK },
	{ "css_next_descendant_pre", CODE_CGROUP_WALK },
	{ "__alloc_pages_direct_reclaim", CODE_DIRECT_RECLAIM },
	{ "__perform_reclaim", CODE_DIRECT_RECLAIM },
	{ "__alloc_pages_slowpath", CODE_DIRECT_RECLAIM },
	{ "try_to_free_pages", CODE_DIRECT_RECLAIM },
	{ "try_charge", CODE_DIRECT_RECLAIM },
	{ "try_charge_memcg", CODE_DIRECT_RECLAIM },
	{ "reclaim_high", CODE_DIRECT_RECLAIM },
	{ "mem_cgroup_handle_over_high", CODE_DIRECT_RECLAIM },
	{ "__mem_cgroup_handle_over_high", CODE_DIRECT_RECLAIM },
	{ "do_try_to_free_pages", CODE_RECLAIM },
	{ "try_to_free_mem_cgroup_pages", CODE_RECLAIM },
	{ "shrink_node", CODE_RECLAIM },
	{ "shrink_lruvec", CODE_RECLAIM },
	{ "shrink_slab", CODE_RECLAIM },
	{ "balance_pgdat", CODE_RECLAIM },
	{ "compact_zone", CODE_COMPACTION },
	{ "try_to_compact_pages", CODE_COMPACTION },
	{ "__do_softirq", CODE_SOFTIRQ },
	{ "__softirqentry_text_start", CODE_SOFTIRQ },
	{ "handle_softirqs", CODE_SOFTIRQ },
	{ "net_rx_action", CODE_NET_RX },
	{ "__napi_poll", CODE_NET_RX },
	{ "napi_threaded_poll", CODE_NET_RX },
	{ "native_queued_spin_lock_slowpath", CODE_SPIN },
	{ "queued_spin_lock_slowpath", CODE_SPIN },
	{ "__pv_queued_spin_lock_slowpath", CODE_SPIN },
	{ "pv_queued_spin_lock_slowpath", CODE_SPIN },
	{ "queued_read_lock_slowpath", CODE_SPIN },
	{ "queued_write_lock_slowpath", CODE_SPIN },
	{ "osq_lock", CODE_SPIN },
	{ "rwsem_spin_on_owner", CODE_SPIN },
	{ "mutex_spin_on_owner", CODE_SPIN },
};

/* Compilers append suffixes to names, such as ".constprop.0" and ".isra.0". */
static bool code_word_fits(const struct code_word *word, const char *symbol, size_t size)
{
	size_t length = strlen(word->name);

	if (word->name[length - 1] == '*')
		return strncmp(symbol, word->name, length - 1) == 0;
	return size == length && memcmp(symbol, word->name, length) == 0;
}

uint8_t code_kinds_of(const char *symbol)
{
	size_t size = strcspn(symbol, ".");
	uint8_t bits = 0;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (code_word_fits(&words[i], symbol, size))
			bits |= 1u << words[i].kind;
	return bits;
}

/* No symbol has this mark, because it has more kinds than there are. */
#define CODE_MARK_UNKNOWN 0xff
_Static_assert(CODE_KINDS < 8, "a mark of all kinds must differ from an unknown one");

static int code_marks_reserve(struct code_marks *marks, const struct tape *tape)
{
	size_t symbols = strings_count(&tape->strings);

	if (array_reserve(&marks->symbols, MAX(symbols, (size_t)1)) < 0 ||
	    array_reserve(&marks->stacks, tape->stacks.count) < 0)
		return -ENOMEM;
	marks->symbols.count = symbols;
	marks->stacks.count = tape->stacks.count;
	return 0;
}

static uint8_t code_marks_frame(const struct code_marks *marks, const struct tape *tape,
				uint32_t frame)
{
	if (!stack_class_is_kernel(tape, frame))
		return 0;
	return marks->symbols.items[tape->frames.items[frame].symbol];
}

/* Marks the symbols of kernel frames. Most strings of a tape are not a name of the kernel's. */
static void code_marks_symbols(struct code_marks *marks, const struct tape *tape)
{
	memset(marks->symbols.items, CODE_MARK_UNKNOWN, marks->symbols.count);
	for (uint32_t i = 0; i < tape->frames.count; i++) {
		uint32_t symbol = tape->frames.items[i].symbol;
		uint8_t *mark = &marks->symbols.items[symbol];

		if (stack_class_is_kernel(tape, i) && *mark == CODE_MARK_UNKNOWN)
			*mark = code_kinds_of(tape_string(tape, symbol));
	}
}

int code_marks_make(struct code_marks *marks, const struct tape *tape)
{
	int r = code_marks_reserve(marks, tape);

	if (r < 0)
		return r;
	code_marks_symbols(marks, tape);
	/* callers precede the functions that they call */
	for (size_t i = 0; i < tape->stacks.count; i++) {
		const struct tape_stack *stack = &tape->stacks.items[i];

		marks->stacks.items[i] = i ? marks->stacks.items[stack->parent] |
							 code_marks_frame(marks, tape, stack->frame)
					   : 0;
	}
	return 0;
}

void code_marks_done(struct code_marks *marks)
{
	array_done(&marks->symbols);
	array_done(&marks->stacks);
}

uint8_t code_marks_of(const struct code_marks *marks, const struct tape *tape, uint32_t stack,
		      uint32_t frame)
{
	return marks->stacks.items[stack] | code_marks_frame(marks, tape, frame);
}
