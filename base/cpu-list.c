// SPDX-License-Identifier: GPL-2.0-only
#include "base/cpu-list.h"

void cpu_list_done(struct cpu_list *list)
{
	array_done(&list->cpus);
}

bool cpu_list_has(const struct cpu_list *list, uint32_t cpu)
{
	for (size_t i = 0; i < list->cpus.count; i++)
		if (list->cpus.items[i] == cpu)
			return true;
	return false;
}

/* Parses a number and moves the pointer behind it. */
static int parse_number(const char **text, uint32_t *ret_number)
{
	unsigned long number;
	char *end;

	if (**text < '0' || **text > '9')
		return -EINVAL;
	number = strtoul(*text, &end, 10);
	if (number >= CPU_LIST_MAX)
		return -EINVAL;
	*text = end;
	*ret_number = number;
	return 0;
}

static int parse_range(const char **text, bool selected[CPU_LIST_MAX])
{
	uint32_t first, last;

	if (parse_number(text, &first) < 0)
		return -EINVAL;
	last = first;
	if (**text == '-') {
		++*text;
		if (parse_number(text, &last) < 0 || last < first)
			return -EINVAL;
	}
	memset(selected + first, true, last - first + 1);
	return 0;
}

int cpu_list_parse(const char *text, struct cpu_list *ret_list)
{
	_cleanup_free_ bool *selected = calloc(CPU_LIST_MAX, sizeof(*selected));
	struct cpu_list list = { 0 };
	int r = selected ? 0 : -ENOMEM;

	while (r == 0) {
		r = parse_range(&text, selected);
		if (r < 0 || *text != ',')
			break;
		text++;
	}
	if (r == 0 && *text && strcmp(text, "\n") != 0)
		r = -EINVAL;
	for (uint32_t cpu = 0; r == 0 && cpu < CPU_LIST_MAX; cpu++)
		if (selected[cpu])
			r = array_push(&list.cpus, cpu);
	if (r < 0) {
		cpu_list_done(&list);
		return r;
	}
	*ret_list = list;
	return 0;
}
