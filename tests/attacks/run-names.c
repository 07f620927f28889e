// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs code from a file under ever new names of almost 4 KB, which do not compress. Each sample
 * has another name, so it adds the name to the tape.
 *
 *   attack-run-names SECONDS
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096
#define FIRST 0x200000000000ull
#define FOLDERS 15
#define NAME 250
#define RUN_SECONDS 0.005

/* A function that counts down its argument and returns, for x86-64. */
static const uint8_t code[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };

static int folders[FOLDERS + 1];
static char names[FOLDERS + 1][NAME + 1];

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void choose_name(char name[NAME + 1])
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";
	static uint64_t state = 1;

	for (int i = 0; i < NAME; i++) {
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		name[i] = letters[state >> 58];
	}
	name[NAME] = 0;
}

/* Makes folders one in the other, and a file of code in the last one. */
static int make_file(void)
{
	char folder[] = "/tmp/attack-XXXXXX";
	uint8_t page[PAGE] = { 0 };
	int fd;

	memcpy(page, code, sizeof(code));
	if (!mkdtemp(folder))
		return -1;
	folders[0] = open(folder, O_PATH | O_DIRECTORY);
	for (int i = 0; i < FOLDERS; i++) {
		choose_name(names[i]);
		if (mkdirat(folders[i], names[i], 0700) < 0)
			return -1;
		folders[i + 1] = openat(folders[i], names[i], O_PATH | O_DIRECTORY);
	}
	fd = openat(folders[FOLDERS], "code", O_RDWR | O_CREAT, 0700);
	return fd < 0 || write(fd, page, PAGE) != PAGE ? -1 : fd;
}

static int rename_all(void)
{
	char name[NAME + 1];

	for (int i = 0; i < FOLDERS; i++) {
		choose_name(name);
		if (renameat(folders[i], names[i], folders[i], name) < 0)
			return -1;
		memcpy(names[i], name, sizeof(name));
	}
	return 0;
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 10);
	int fd = make_file();

	for (uint64_t i = 1; fd >= 0 && now() < end; i++) {
		void *at = (void *)(FIRST + i * 2 * PAGE);
		double until = now() + RUN_SECONDS;

		if (rename_all() < 0 || mmap(at, PAGE, PROT_READ | PROT_EXEC,
					     MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
			return 1;
		while (now() < until)
			((void (*)(uint64_t))at)(100000);
		munmap(at, PAGE);
	}
	return fd < 0;
}
