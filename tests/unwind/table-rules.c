// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints the unwind table of a file, one row per line, for rows.py:
 *
 *   OFFSET KIND NUMBER OFFSET OFFSET2 then for return address, frame pointer, RBX: PLACE OFFSET
 *
 *   table-rules FILE
 *   table-rules -t FILE...   only the table's size, and the CPU time that it takes to make it
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "symbolizer/elf-unwind.h"
#include "unwind/unwind-table.h"

static int print_rules(const struct buffer *bytes)
{
	struct unwind_table table;
	struct unwind_rule rule;
	uint64_t offset;
	uint32_t at = 0;
	int r = unwind_table_open(bytes->data, bytes->size, &table);

	if (r < 0)
		return r;
	while (unwind_table_next(&table, &at, &offset, &rule))
		printf("%" PRIx64 " %d %d %d %d %d %d %d %d %d %d\n", offset, rule.kind,
		       rule.number, rule.offset, rule.offset2, rule.return_place,
		       rule.return_offset, rule.frame_place, rule.frame_offset, rule.base_place,
		       rule.base_offset);
	return 0;
}

static int make_table(const char *path, struct buffer *bytes)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : elf_unwind_table(fd, bytes);
}

static int print_size(const char *path)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int r = make_table(path, &bytes);
	uint64_t took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
	struct unwind_table table;

	if (r == 0)
		r = unwind_table_open(bytes.data, bytes.size, &table);
	if (r == 0)
		printf("| %s | %u | %zu | %u | %.1f |\n", path, table.rows, bytes.size >> 10,
		       table.rules, (double)took_ns / NSEC_PER_MSEC);
	return r;
}

static int print_file(const char *path)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	int r = make_table(path, &bytes);

	return r < 0 ? r : print_rules(&bytes);
}

int main(int argc, char **argv)
{
	bool times = argc > 1 && strcmp(argv[1], "-t") == 0;
	int failed = argc < 2;

	if (times)
		printf("| file | rows | KB | rules | ms |\n| --- | --- | --- | --- | --- |\n");
	for (int i = 1 + times; i < argc; i++) {
		int r = times ? print_size(argv[i]) : print_file(argv[i]);

		if (r < 0)
			fprintf(stderr, "table-rules: %s: %s\n", argv[i], strerror(-r));
		failed |= r < 0;
	}
	return failed;
}
