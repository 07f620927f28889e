// SPDX-License-Identifier: GPL-2.0-only
/*
 * Maps and unmaps a file under ever new names of almost 4 KB, each at the next address. The kernel
 * reports each mapping, with its path, but does not report when the process unmaps it.
 *
 * With FILE, maps its code through thousands of links in the present folder instead. With PAUSE,
 * makes MAPPINGS_FAST mappings at once, and waits for that number of microseconds after each
 * further one.
 *
 *   attack-map-names SECONDS [FILE] [PAUSE]
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
#define LINKS 20000ul
#define MAPPINGS_FAST 60

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

/* Maps code of an open file, and unmaps it. */
static int map(int fd, unsigned long number)
{
	void *at = (void *)(FIRST + number * 2 * PAGE);

	if (mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, PAGE) == MAP_FAILED)
		return -1;
	return munmap(at, PAGE);
}

/* Renames a file of two pages before each mapping. */
static int map_renamed(double end, useconds_t pause)
{
	char name[2][64] = { "file", "" };
	int fd;

	if (enter_deep() < 0)
		return -1;
	fd = open(name[0], O_RDWR | O_CREAT, 0700);
	if (fd < 0 || ftruncate(fd, 2 * PAGE) < 0)
		return -1;
	for (unsigned long i = 1; now() < end; i++) {
		snprintf(name[i % 2], sizeof(name[0]), "file-%lu", i);
		if (rename(name[(i + 1) % 2], name[i % 2]) < 0 || map(fd, i) < 0)
			return -1;
		if (pause && i > MAPPINGS_FAST)
			usleep(pause);
	}
	for (int i = 0; i < 2; i++)
		unlink(name[i]);
	return 0;
}

/* Makes the links before the first mapping: a file that changes after that counts as another. */
static int map_links(const char *file, double end)
{
	char name[64];

	for (unsigned long i = 0; i < LINKS; i++) {
		snprintf(name, sizeof(name), "link-%lu", i);
		if (link(file, name) < 0)
			return -1;
	}
	for (unsigned long i = 1; now() < end; i++) {
		int fd;

		snprintf(name, sizeof(name), "link-%lu", i % LINKS);
		fd = open(name, O_RDONLY);
		if (fd < 0 || map(fd, i) < 0)
			return -1;
		close(fd);
		/* the files are what is slow; fifty per second are enough */
		usleep(20000);
	}
	return 0;
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 10);

	if (argc > 2 && *argv[2])
		return map_links(argv[2], end) < 0;
	return map_renamed(end, argc > 3 ? atoi(argv[3]) : 0) < 0;
}
