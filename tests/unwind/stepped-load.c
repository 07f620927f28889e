// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program through which stepped.c steps. It makes frames of every shape that compilers and C
 * libraries make. Built without frame pointers and sanitizers, and bound lazily.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define APART __attribute__((noinline, noclone))

static volatile uint64_t sink;

static APART void leaf(const void *data)
{
	sink += ((const uint8_t *)data)[0];
}

static APART void with_alloca(size_t size)
{
	uint8_t *bytes = alloca(size);

	bytes[0] = (uint8_t)size;
	leaf(bytes);
	sink++;
}

static APART void realigned(int value)
{
	_Alignas(64) uint8_t bytes[128];

	bytes[0] = (uint8_t)value;
	leaf(bytes);
	with_alloca((size_t)value + 100);
	sink++;
}

static APART void large_frame(void)
{
	uint8_t bytes[20000];

	bytes[0] = 1;
	leaf(bytes);
	sink++;
}

static APART uint64_t tail_called(uint64_t value)
{
	return value * 3 + sink;
}

static APART uint64_t calls_at_the_end(uint64_t value)
{
	return tail_called(value + 1);
}

static APART uint64_t recursive(unsigned int depth)
{
	uint64_t below = depth ? recursive(depth - 1) : calls_at_the_end(sink);

	return below + sink;
}

static int compare(const void *a, const void *b)
{
	leaf(a);
	return *(const int *)a - *(const int *)b;
}

static APART void through_libc(void)
{
	int numbers[] = { 5, 3, 9, 1, 7, 2, 8, 4, 6 };
	char text[64];
	time_t now = 1700000000;
	struct tm parts;

	qsort(numbers, sizeof(numbers) / sizeof(*numbers), sizeof(*numbers), compare);
	snprintf(text, sizeof(text), "%d %.3f %s", numbers[0], sqrt((double)numbers[1]), "text");
	sink += (uint64_t)strtod(text + 2, NULL);
	if (gmtime_r(&now, &parts) && strftime(text, sizeof(text), "%F %T", &parts))
		sink += strlen(text);
	free(calloc(100, (size_t)numbers[0]));
}

/* The [vdso], and a library that comes later. */
static APART void through_others(void)
{
	struct timespec now;
	void *library;

	clock_gettime(CLOCK_MONOTONIC, &now);
	sink += (uint64_t)now.tv_nsec;
	library = dlopen("librt.so.1", RTLD_LAZY);
	if (library)
		dlclose(library);
}

static jmp_buf back;

static APART void jumps(void)
{
	leaf(back);
	longjmp(back, 1);
}

static void handle(int number)
{
	(void)number;
	realigned(3);
}

static APART void signals(int flags)
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = flags };

	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	sink++;
}

int main(void)
{
	static uint8_t other[1 << 16];
	const stack_t stack = { .ss_sp = other, .ss_size = sizeof(other) };

	realigned(5);
	large_frame();
	recursive(20);
	through_libc();
	through_others();
	if (!setjmp(back))
		jumps();
	signals(0);
	sigaltstack(&stack, NULL);
	signals(SA_ONSTACK);
	puts("done");
	return sink == 0;
}
