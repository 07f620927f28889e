// SPDX-License-Identifier: GPL-2.0-only
#include "query/window/cpu-filter.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "tape/tape.h"

#define CPU_MAX (TAPE_CPUS_MAX - 1)

/*
 * Parses a number at *at and moves *at behind the number. Returns -1 if there is no number or if it
 * is too large.
 */
static long cpu_filter_take_cpu(const char **at)
{
	long cpu = 0;

	if (!isdigit((unsigned char)**at))
		return -1;
	while (isdigit((unsigned char)**at)) {
		cpu = cpu * 10 + (*(*at)++ - '0');
		if (cpu > CPU_MAX)
			return -1;
	}
	return cpu;
}

static int select_range(struct cpu_set_filter *filter, long first, long last)
{
	if (array_reserve(&filter->wanted, last + 1) < 0)
		return -ENOMEM;
	while (filter->wanted.count <= (size_t)last)
		filter->wanted.items[filter->wanted.count++] = false;
	for (long cpu = first; cpu <= last; cpu++)
		filter->wanted.items[cpu] = true;
	return 0;
}

static int parse_ranges(const char *at, struct cpu_set_filter *filter)
{
	for (;;) {
		long first = cpu_filter_take_cpu(&at), last = first;
		int r;

		if (*at == '-') {
			at++;
			last = cpu_filter_take_cpu(&at);
		}
		if (first < 0 || last < first)
			return -EINVAL;
		r = select_range(filter, first, last);
		if (r < 0 || !*at)
			return r;
		if (*at++ != ',')
			return -EINVAL;
	}
}

int cpu_filter_parse(const char *text, struct cpu_set_filter *ret_filter, struct error *error)
{
	_cleanup_(cpu_filter_done) struct cpu_set_filter filter = { 0 };
	int r = parse_ranges(text, &filter);

	if (r == -EINVAL)
		return error_set(
			error, r,
			"\"%.60s\" is not a CPU list; use numbers up to %d and ranges: 3,8-11",
			text, CPU_MAX);
	if (r < 0)
		return r;
	*ret_filter = filter;
	filter = (struct cpu_set_filter){ 0 };
	return 0;
}

int cpu_filter_add(struct cpu_set_filter *filter, uint32_t cpu)
{
	return select_range(filter, cpu, cpu);
}

void cpu_filter_done(struct cpu_set_filter *filter)
{
	array_done(&filter->wanted);
}

bool cpu_filter_passes(const struct cpu_set_filter *filter, uint32_t cpu)
{
	if (!filter->wanted.count)
		return true;
	return cpu < filter->wanted.count && filter->wanted.items[cpu];
}

void cpu_filter_describe(const struct cpu_set_filter *filter, struct buffer *text)
{
	const char *separator = "";

	if (!filter->wanted.count)
		buffer_text(text, "all");
	for (size_t first = 0, last; first < filter->wanted.count; first = last + 1) {
		last = first;
		if (!filter->wanted.items[first])
			continue;
		while (last + 1 < filter->wanted.count && filter->wanted.items[last + 1])
			last++;
		buffer_printf(text, first == last ? "%s%zu" : "%s%zu-%zu", separator, first, last);
		separator = ",";
	}
}

int cpu_filter_list(const struct cpu_set_filter *cpus, char *text, size_t size)
{
	_cleanup_(buffer_done) struct buffer list = { 0 };

	cpu_filter_describe(cpus, &list);
	buffer_u8(&list, 0);
	if (buffer_failed(&list))
		return -ENOMEM;
	snprintf(text, size, "%s", (const char *)list.data);
	if (list.size > size)
		memcpy(text + size - 4, "...", 4);
	return 0;
}
