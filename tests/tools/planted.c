// SPDX-License-Identifier: GPL-2.0-only

/*
 * tests/tools/mutate adds this file to the copy of the tree in which it plants faults. An
 * expression with a fault calls planted() to find out whether the fault is switched on: the
 * environment variable PERFTAPE_MUTANT contains its number. If the variable PERFTAPE_MUTANT_REACHED
 * names a file, planted() marks in this file, with a byte each, the faults whose expressions were
 * reached.
 */

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int planted(int number);

static int chosen;
static uint8_t *reached;

/* Runs before all other constructors. */
__attribute__((constructor(101))) static void planted_init(void)
{
	const char *wanted = getenv("PERFTAPE_MUTANT"), *path = getenv("PERFTAPE_MUTANT_REACHED");
	struct stat about;
	void *map;
	int fd;

	chosen = wanted ? atoi(wanted) : 0;
	fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	if (fstat(fd, &about) < 0)
		abort();
	map = mmap(NULL, about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		abort();
	close(fd);
	reached = map;
}

int planted(int number)
{
	if (reached && !__atomic_load_n(&reached[number], __ATOMIC_RELAXED))
		__atomic_store_n(&reached[number], 1, __ATOMIC_RELAXED);
	return chosen == number;
}
