// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/irq-cpu.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"

/* A thousand interrupts on a thousand CPUs. */
#define TABLE_MAX (16u << 20)
#define LIST_MAX 4096

/* The last word of a row of the table. */
static const char *row_name(char *row)
{
	size_t size = strlen(row);
	char *name;

	while (size && row[size - 1] == ' ')
		row[--size] = 0;
	name = strrchr(row, ' ');
	return name ? name + 1 : row;
}

static int find_irq(const char *proc, const char *ifname, uint64_t queue, unsigned long *ret_irq)
{
	_cleanup_free_ char *table = NULL;
	char file[PATH_MAX], names[2][96], *rest, *row, *end;

	snprintf(names[0], sizeof(names[0]), "%.64s-Tx-Rx-%llu", ifname, (unsigned long long)queue);
	snprintf(names[1], sizeof(names[1]), "%.64s-TxRx-%llu", ifname, (unsigned long long)queue);
	if (snprintf(file, sizeof(file), "%s/interrupts", proc) >= (int)sizeof(file) ||
		file_read(file, TABLE_MAX, &table, NULL) < 0)
		return -ENOENT;
	rest = table;
	while ((row = strsep(&rest, "\n"))) {
		const char *name = row_name(row);

		if (strcmp(name, names[0]) != 0 && strcmp(name, names[1]) != 0)
			continue;
		*ret_irq = strtoul(row, &end, 10);
		return *end == ':' ? 0 : -ENOENT;
	}
	return -ENOENT;
}

/* Where it is delivered, on kernels that say so, or where it may be. */
static int read_affinity(const char *proc, unsigned long irq, const char *name, uint32_t *ret_cpu)
{
	_cleanup_free_ char *list = NULL;
	char file[PATH_MAX], *end;
	unsigned long cpu;

	if (snprintf(file, sizeof(file), "%s/irq/%lu/%s", proc, irq, name) >= (int)sizeof(file) ||
		file_read(file, LIST_MAX, &list, NULL) < 0)
		return -ENOENT;
	cpu = strtoul(list, &end, 10);
	if (end == list || (*end && *end != '\n'))
		return -ENOENT;
	*ret_cpu = cpu;
	return 0;
}

int irq_cpu(const char *proc, const char *ifname, uint64_t queue, uint32_t *ret_cpu)
{
	unsigned long irq;

	if (find_irq(proc, ifname, queue, &irq) < 0)
		return -ENOENT;
	if (read_affinity(proc, irq, "effective_affinity_list", ret_cpu) == 0)
		return 0;
	return read_affinity(proc, irq, "smp_affinity_list", ret_cpu);
}
