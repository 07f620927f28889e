// SPDX-License-Identifier: GPL-2.0-only
/*
 * A plain main for the fuzz targets: runs each saved input once, then truncates each and changes
 * single bytes, in a fixed pseudo-random order. It does 2000 rounds of this for each input, and 100
 * in ./test. With clang, the same target is linked with libFuzzer instead (see docs/TESTING.md).
 * TAP: one test for each input.
 *
 * An input may take at most CPU_MAX_NS of CPU time and MEMORY_MAX of allocated memory. Both are
 * many times what honest inputs of this size take, under sanitizers. CPU time does not depend on
 * what else runs on the machine. A decoder with a budget stays far below both.
 *
 *   fuzz-NAME CORPUS_DIR [ROUNDS]
 */
#include <dirent.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "tests/tier.h"

#define CPU_MAX_NS NSEC_PER_SEC
#define MEMORY_MAX (256ll << 20)
/* The input that took too much, in the folder of the test. */
#define KEPT_INPUT "fuzz-input"

/* AddressSanitizer has these; without it, memory is not measured. */
__attribute__((weak)) int
__sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
					  void (*on_free)(const volatile void *));
__attribute__((weak)) size_t __sanitizer_get_allocated_size(const volatile void *memory);

static _Atomic long long allocated, peak;

static void on_malloc(const volatile void *memory, size_t size)
{
	long long now = atomic_fetch_add(&allocated, size) + (long long)size;

	if (now > atomic_load(&peak))
		atomic_store(&peak, now);
}

static void on_free(const volatile void *memory)
{
	if (memory)
		atomic_fetch_sub(&allocated, __sanitizer_get_allocated_size(memory));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t random_state = 88172645463325252ull;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t most_ns, most_bytes;

/* Ends the process if the input takes too much. */
static void run_measured(const uint8_t *data, size_t size)
{
	uint64_t begin_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID), took_ns;
	long long before = atomic_load(&allocated), grown;

	atomic_store(&peak, before);
	LLVMFuzzerTestOneInput(data, size);
	took_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns;
	grown = atomic_load(&peak) - before;
	most_ns = MAX(most_ns, took_ns);
	most_bytes = MAX(most_bytes, (uint64_t)grown);
	if (took_ns <= CPU_MAX_NS && grown <= MEMORY_MAX)
		return;
	file_replace(".", KEPT_INPUT, data, size);
	printf("# an input of %zu bytes took %.1f s of CPU time and %lld MB; it is in " KEPT_INPUT
	       "\n",
	       size, took_ns / 1e9, grown >> 20);
	printf("Bail out! an input takes too much\n");
	exit(1);
}

/* An exact-size copy, so that the sanitizer sees a read beyond its end. */
static void run_copy(const char *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	run_measured(copy, size);
	free(copy);
}

static void run_mutations(char *data, size_t size, unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds && size; i++) {
		unsigned int changes = 1 + next_random() % 4;
		size_t at[4];
		char was[4];

		if (i % 4 == 0) {
			run_copy(data, next_random() % size);
			continue;
		}
		for (unsigned int c = 0; c < changes; c++) {
			at[c] = next_random() % size;
			was[c] = data[at[c]];
			data[at[c]] =
				next_random() % 3 ? next_random() : (next_random() & 1) * 0xff;
		}
		run_copy(data, size);
		while (changes--)
			data[at[changes]] = was[changes];
	}
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : tier_pick(100, 2000);
	struct dirent **list = NULL;
	int count = argc > 1 ? scandir(argv[1], &list, NULL, compare_names) : -1;
	int run = 0;

	if (__sanitizer_install_malloc_and_free_hooks)
		__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
	if (count < 0) {
		printf("Bail out! no corpus folder\n");
		return 1;
	}
	for (int i = 0; i < count; i++) {
		_cleanup_free_ char *data = NULL;
		char path[4096];
		size_t size;

		snprintf(path, sizeof(path), "%s/%s", argv[1], list[i]->d_name);
		if (list[i]->d_name[0] != '.' && file_read(path, 64 << 20, &data, &size) == 0) {
			run_copy(data, size);
			run_mutations(data, size, rounds);
			printf("ok %d - %s\n", ++run, list[i]->d_name);
			fflush(stdout);
		}
		free(list[i]);
	}
	free(list);
	printf("# most for one input: %.3f s of CPU time, %.1f MB\n", most_ns / 1e9,
	       most_bytes / 1e6);
	printf("1..%d\n", run);
	return run ? 0 : 1;
}
