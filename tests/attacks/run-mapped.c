// SPDX-License-Identifier: GPL-2.0-only
/*
 * Maps a file as code and runs the code in it, as a program does with a library. The kernel checks
 * the headers of a program that it executes, but not those of a file that is mapped. Runs until it
 * is killed.
 *
 *   run-mapped CPU FILE     maps FILE and jumps to CODE_AT in it
 *   run-mapped CPU          runs code that it writes itself, as a just-in-time compiler does
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define CODE_AT 0x1000
#define CODE_SIZE 0x2000

int main(int argc, char **argv);

/* An endless loop on x86-64: jmp to itself. */
static const unsigned char endless[] = { 0xeb, 0xfe };

static void *map_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? MAP_FAILED
		      : mmap(NULL, CODE_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
}

static void *map_code(void)
{
	unsigned char *code = mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code != MAP_FAILED)
		memcpy(code + CODE_AT, endless, sizeof(endless));
	return code;
}

int main(int argc, char **argv)
{
	cpu_set_t set;
	char *code;

	CPU_ZERO(&set);
	CPU_SET(argc > 1 ? atoi(argv[1]) : 0, &set);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (sched_setaffinity(0, sizeof(set), &set) < 0) {
		perror("run-mapped");
		return 1;
	}
	code = argc > 2 ? map_file(argv[2]) : map_code();
	if (code == MAP_FAILED) {
		perror("run-mapped");
		return 1;
	}
	((void (*)(void))(code + CODE_AT))();
	return 0;
}
