// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures the CPU time to name addresses, for bench/symbols. The wall clock would include the
 * machine's other load.
 *
 *   names elf FILE COUNT     names COUNT addresses spread over a file's code, twice
 *   names print FILE COUNT   the same, and prints address, start and name
 *   names kernel             parses /proc/kallsyms
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "symbolizer/elf.h"
#include "symbolizer/kallsyms.h"
#include "symbolizer/symbols.h"
#include "symbolizer/addresses.h"

#define WARM_ROUNDS 100

/* The peak memory in kB since the last memory_reset(). */
static unsigned long memory_peak(void)
{
	_cleanup_free_ char *text = NULL;

	if (file_read("/proc/self/status", 1 << 20, &text, NULL) < 0 || !strstr(text, "VmHWM:"))
		return 0;
	return strtoul(strstr(text, "VmHWM:") + 6, NULL, 10);
}

static void memory_reset(void)
{
	_cleanup_close_ int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "5", 1) != 1)
		exit(1);
}

/* Spreads addresses over the executable segments, at equal distances. */
static void spread(int fd, size_t count, struct addresses *addresses)
{
	Elf64_Phdr segment;
	Elf64_Ehdr header;

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header))
		exit(1);
	for (int i = 0; i < header.e_phnum; i++) {
		if (pread(fd, &segment, sizeof(segment), header.e_phoff + i * sizeof(segment)) !=
		    sizeof(segment))
			exit(1);
		if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X))
			continue;
		for (size_t k = 0; k < count; k++)
			if (addresses_add(addresses,
					  segment.p_offset + (uint64_t)((double)segment.p_filesz *
									k / count)) < 0)
				exit(1);
	}
	addresses_sort(addresses);
}

static int name_file(const char *path, size_t count, bool print)
{
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned long before;
	uint64_t start, named = 0, sum = 0;

	if (fd < 0)
		return 1;
	spread(fd, count, &addresses);
	memory_reset();
	before = memory_peak();
	start = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (elf_names(fd, -1, &addresses, NULL) < 0)
		return 1;
	start = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start;
	for (size_t i = 0; i < addresses.list.count; i++) {
		const struct address *address = &addresses.list.items[i];

		named += address->state == ADDRESSES_NAMED;
		if (print)
			printf("%lx %lx %s\n", address->address, address->start,
			       addresses_name(&addresses, address));
	}
	if (print)
		return 0;
	printf("%lu %lu %lu %lu ", start, memory_peak() - before, named, addresses.list.count);
	start = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (size_t round = 0; round < WARM_ROUNDS; round++)
		for (size_t i = 0; i < addresses.list.count; i++)
			sum += addresses_find(&addresses, addresses.list.items[i].address)->name;
	start = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start;
	printf("%.0f\n", (double)WARM_ROUNDS * addresses.list.count * NSEC_PER_SEC / start);
	return sum == UINT64_MAX;
}

static int name_kernel(void)
{
	_cleanup_(cleanup_symbols) struct symbols *symbols = NULL;
	_cleanup_free_ char *text = NULL;
	uint64_t start = clock_ns(CLOCK_PROCESS_CPUTIME_ID), parsed;
	size_t size;

	if (file_read("/proc/kallsyms", 256u << 20, &text, &size) < 0)
		return 1;
	parsed = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (kallsyms_parse(text, size, &symbols) < 0)
		return 1;
	printf("%lu %lu %zu\n", parsed - start, clock_ns(CLOCK_PROCESS_CPUTIME_ID) - parsed,
	       symbols_count(symbols));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && (strcmp(argv[1], "elf") == 0 || strcmp(argv[1], "print") == 0))
		return name_file(argv[2], strtoul(argv[3], NULL, 10), argv[1][0] == 'p');
	if (argc == 2 && strcmp(argv[1], "kernel") == 0)
		return name_kernel();
	return 2;
}
