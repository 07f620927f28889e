// SPDX-License-Identifier: GPL-2.0-only
#include "tape/segment/digest-order.h"

#include <assert.h>
#include <stddef.h>

#include "base/sort.h"

void digest_order_done(struct digest_order *order)
{
	free(order->rows);
	free(order->comms);
	free(order->functions);
	free(order->places);
}

/*
 * Lists the rows by the segment's numbers of threads, and numbers the comms by their first thread.
 */
static int number_threads(const struct digest *digest, struct encoding *encoding,
			  struct digest_order *order)
{
	size_t strings = strings_count(&encoding->tape->strings);
	uint32_t comms = 0;

	order->rows = calloc(digest->threads.count + 1, sizeof(uint32_t));
	order->comms = calloc(strings, sizeof(uint32_t));
	if (!order->rows || !order->comms)
		return -ENOMEM;
	for (size_t i = 0; i < digest->threads.count; i++) {
		uint32_t number = encoding_thread(encoding, digest->threads.items[i].thread);

		assert(number < digest->threads.count);
		order->rows[number] = i + 1;
	}
	for (size_t i = 0; i < digest->threads.count; i++) {
		uint32_t comm = digest->threads.items[order->rows[i] - 1].owner;

		if (!order->comms[comm])
			order->comms[comm] = ++comms;
	}
	return 0;
}

/* A number to sort by, and the row that it belongs to. */
struct numbered {
	uint64_t number;
	uint32_t row;
};

/* Sorts rows by their numbers. The caller frees *ret_sorted. */
static int sort_numbered(size_t count, uint64_t (*number_of)(void *context, size_t row),
			 void *context, struct numbered **ret_sorted)
{
	_cleanup_free_ struct numbered *rows = malloc((count + 1) * sizeof(*rows));
	_cleanup_free_ struct numbered *scratch = malloc((count + 1) * sizeof(*scratch));

	if (!rows || !scratch)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct numbered){ number_of(context, i), i };
	sort_by_number(rows, scratch, count, sizeof(*rows), offsetof(struct numbered, number));
	*ret_sorted = take_ptr(rows);
	return 0;
}

struct sorting {
	const struct digest *digest;
	const struct digest_order *order;
	struct encoding *encoding;
};

/*
 * Sorts functions by the segment's number of their string: most differences to the next one are 1.
 */
static uint64_t number_of_function(void *context, size_t row)
{
	const struct sorting *sorting = context;
	const struct digest_function *function = &sorting->digest->functions.items[row];

	return (uint64_t)function->is_module << 32 |
	       encoding_string(sorting->encoding, function->string);
}

static uint64_t number_of_core(void *context, size_t row)
{
	const struct sorting *sorting = context;
	const struct digest_core *core = &sorting->digest->cores.items[row];

	return (uint64_t)core->cpu << 32 | sorting->order->comms[core->owner];
}

static int number_functions(struct sorting *sorting, struct digest_order *order)
{
	size_t count = sorting->digest->functions.count;
	_cleanup_free_ struct numbered *sorted = NULL;
	int r = sort_numbered(count, number_of_function, sorting, &sorted);

	order->functions = malloc((count + 1) * sizeof(uint32_t));
	order->places = malloc((count + 1) * sizeof(uint32_t));
	if (r < 0 || !order->functions || !order->places)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		order->functions[i] = sorted[i].row;
		order->places[sorted[i].row] = i;
	}
	return 0;
}

static int digest_sort_cores(struct sorting *sorting, struct digest *digest)
{
	size_t count = digest->cores.count;
	_cleanup_free_ struct numbered *sorted = NULL;
	_cleanup_free_ struct digest_core *cores = malloc((count + 1) * sizeof(*cores));
	int r = sort_numbered(count, number_of_core, sorting, &sorted);

	if (r < 0 || !cores)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		cores[i] = digest->cores.items[sorted[i].row];
	memcpy(digest->cores.items, cores, count * sizeof(*cores));
	return 0;
}

int digest_order_make(struct digest *digest, struct encoding *encoding, struct digest_order *order)
{
	struct sorting sorting = { digest, order, encoding };
	int r = number_threads(digest, encoding, order);

	if (r < 0)
		return r;
	r = number_functions(&sorting, order);
	return r == 0 && digest->cores.count ? digest_sort_cores(&sorting, digest) : r;
}
