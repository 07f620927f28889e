// SPDX-License-Identifier: GPL-2.0-only
#include "query/sums/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/sums/tally-tape.h"

int tally_new(struct tally **ret_tally)
{
	struct tally *tally = calloc(1, sizeof(*tally));

	if (!tally)
		return -ENOMEM;
	*ret_tally = tally;
	return 0;
}

static int tally_extend(void *items, size_t *count, size_t *capacity, size_t number, size_t size)
{
	if (number < *count)
		return 0;
	if (number >= *capacity && array_grow(items, capacity, number + 1, size) < 0)
		return -ENOMEM;
	memset(*(uint8_t **)items + *count * size, 0, (number + 1 - *count) * size);
	*count = number + 1;
	return 0;
}

/* Appends zeroed rows up to this number. */
#define array_extend(array, number)                                                  \
	tally_extend(&(array)->items, &(array)->count, &(array)->capacity, (number), \
		     sizeof(*(array)->items))

static struct hash96_key row_key(const struct tally_row *row)
{
	return hash96_key_add(
		hash96_key_add(hash96_key_add((struct hash96_key){ 0 }, row->a), row->b), row->c);
}

int tally_rows_add(struct tally_rows *rows, const struct tally_row *row, uint32_t *ret_number)
{
	struct hash96_key key = row_key(row);
	uint32_t number = hash96_get(&rows->known, key);

	if (number) {
		rows->list.items[number - 1].ns += row->ns;
	} else {
		if (array_push(&rows->list, *row) < 0 ||
		    hash96_put(&rows->known, key, rows->list.count) < 0)
			return -ENOMEM;
		number = rows->list.count;
	}
	if (ret_number)
		*ret_number = number - 1;
	return 0;
}

int tally_rows_add_at(struct tally_rows *rows, const struct tally_row *row, uint32_t *number)
{
	struct tally_row *guess = &rows->list.items[*number];

	if (*number >= rows->list.count || guess->a != row->a || guess->b != row->b ||
	    guess->c != row->c)
		return tally_rows_add(rows, row, number);
	guess->ns += row->ns;
	return 0;
}

void tally_rows_prefetch(const struct tally_rows *rows, const struct tally_row *row)
{
	hash96_prefetch(&rows->known, row_key(row));
}

static void rows_done(struct tally_rows *rows)
{
	array_done(&rows->list);
	hash96_done(&rows->known);
}

struct tally *tally_free(struct tally *tally)
{
	if (!tally)
		return NULL;
	strings_done(&tally->names);
	array_done(&tally->functions);
	array_done(&tally->groups);
	array_done(&tally->cpus);
	rows_done(&tally->threads);
	array_done(&tally->places);
	rows_done(&tally->shares);
	rows_done(&tally->spots);
	array_done(&tally->followers);
	tally_scratch_free(tally->scratch);
	free(tally);
	return NULL;
}

int tally_name(struct tally *tally, const char *name, size_t size, uint32_t *ret_name)
{
	if (strings_add(&tally->names, name, size, ret_name) < 0 ||
	    array_extend(&tally->functions, *ret_name) < 0 ||
	    array_extend(&tally->groups, *ret_name) < 0)
		return -ENOMEM;
	return 0;
}

int tally_name_after(struct tally *tally, uint32_t before, const char *name, uint32_t *ret_name)
{
	uint32_t guess = before < tally->followers.count ? tally->followers.items[before] : 0;

	if (guess && strcmp(strings_at(&tally->names, guess), name) == 0) {
		*ret_name = guess;
		return 0;
	}
	if (tally_name(tally, name, strlen(name), ret_name) < 0 ||
	    array_extend(&tally->followers, before) < 0)
		return -ENOMEM;
	tally->followers.items[before] = *ret_name;
	return 0;
}

int tally_cpu(struct tally *tally, uint32_t cpu)
{
	return array_extend(&tally->cpus, (size_t)cpu);
}

static int tally_merge_names(struct tally *tally, const struct tally *other, uint32_t *names)
{
	for (uint32_t i = 1; i < strings_count(&other->names); i++) {
		const char *name = strings_at(&other->names, i);
		const struct tally_function *from = &other->functions.items[i];
		struct tally_function *to;

		if (tally_name(tally, name, strlen(name), &names[i]) < 0)
			return -ENOMEM;
		to = &tally->functions.items[names[i]];
		to->self_ns += from->self_ns;
		to->total_ns += from->total_ns;
		to->led_ns += from->led_ns;
		to->kernel |= from->kernel;
		stack_class_add(&tally->groups.items[names[i]], &other->groups.items[i]);
	}
	return 0;
}

int tally_add_thread(struct tally *tally, const struct tally_row *thread,
		     const struct tally_place *place)
{
	struct tally_place *most;
	uint32_t number;

	if (tally_rows_add(&tally->threads, thread, &number) < 0 ||
	    (number == tally->places.count &&
	     array_push(&tally->places, (struct tally_place){ 0 }) < 0))
		return -ENOMEM;
	most = &tally->places.items[number];
	/* among equal places, the lower CPU number wins, whatever the order of the tapes */
	if (place->ns > most->ns || (place->ns == most->ns && place->cpu < most->cpu))
		*most = *place;
	return 0;
}

static int merge_threads(struct tally *tally, const struct tally *other, const uint32_t *names)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < other->threads.list.count; i++) {
		struct tally_row row = other->threads.list.items[i];

		row.c = names[row.c];
		r = tally_add_thread(tally, &row, &other->places.items[i]);
	}
	return r;
}

/* Adds rows of another tally, whose numbers of groups and functions are those of its names. */
static int merge_rows(struct tally_rows *rows, const struct tally_rows *other,
		      const uint32_t *names)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < other->list.count; i++) {
		struct tally_row row = other->list.items[i];

		row.b = names[row.b];
		row.c = names[row.c];
		r = tally_rows_add(rows, &row, NULL);
	}
	return r;
}

int tally_merge(struct tally *tally, const struct tally *other)
{
	_cleanup_free_ uint32_t *names = calloc(strings_count(&other->names), sizeof(*names));
	int r = names ? tally_merge_names(tally, other, names) : -ENOMEM;

	if (r < 0)
		return r;
	r = merge_threads(tally, other, names);
	if (r < 0)
		return r;
	r = merge_rows(&tally->shares, &other->shares, names);
	if (r < 0)
		return r;
	r = merge_rows(&tally->spots, &other->spots, names);
	if (r < 0)
		return r;
	for (size_t i = 0; i < other->cpus.count; i++) {
		r = tally_cpu(tally, i);
		if (r < 0)
			return r;
		stack_class_add(&tally->cpus.items[i], &other->cpus.items[i]);
	}
	stack_class_add(&tally->all, &other->all);
	tally->samples += other->samples;
	tally->sample_ns = MAX(tally->sample_ns, other->sample_ns);
	tally->host_cpus = MAX(tally->host_cpus, other->host_cpus);
	return 0;
}
