// SPDX-License-Identifier: GPL-2.0-only
/*
 * Maps and unmaps a page at ever lower addresses, as fast as it can. In a sorted array of mappings,
 * each one would move all others.
 *
 *   attack-map-down SECONDS
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE 4096ull
#define FIRST 0x400000000000ull

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 10);

	for (unsigned long i = 1; now() < end; i++) {
		void *at = (void *)(FIRST - i * 2 * PAGE);

		if (mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
			 -1, 0) == MAP_FAILED)
			return 1;
		munmap(at, PAGE);
	}
	return 0;
}
