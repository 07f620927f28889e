// SPDX-License-Identifier: GPL-2.0-only
/*
 * A load with a known profile: one process, pinned to a CPU, that spends its time in eleven
 * functions. Their shares are far enough apart that every profiler puts them into the same order.
 * Runs until it is killed.
 *
 *   load CPU
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv);

static volatile unsigned long sink;

#define PART(name)                                                          \
	__attribute__((noinline, noclone)) void name(unsigned long rounds); \
	__attribute__((noinline, noclone)) void name(unsigned long rounds)  \
	{                                                                   \
		for (unsigned long i = 0; i < rounds; i++)                  \
			sink += i ^ (unsigned long)#name[0];                \
	}

PART(load_alpha)
PART(load_bravo)
PART(load_charlie)
PART(load_delta)
PART(load_echo)
PART(load_foxtrot)
PART(load_golf)
PART(load_hotel)
PART(load_india)
PART(load_juliett)
PART(load_rest)

/*
 * Shares in per cent. Each is clearly larger than the next, and the eleventh is far below the
 * tenth.
 */
static const struct {
	void (*run)(unsigned long rounds);
	unsigned long share;
} parts[] = {
	{ load_alpha, 250 }, { load_bravo, 185 },  { load_charlie, 140 }, { load_delta, 110 },
	{ load_echo, 85 },   { load_foxtrot, 66 }, { load_golf, 52 },	  { load_hotel, 42 },
	{ load_india, 34 },  { load_juliett, 28 }, { load_rest, 8 },
};

int main(int argc, char **argv)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(argc > 1 ? atoi(argv[1]) : 0, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0) {
		perror("load");
		return 1;
	}
	for (;;)
		for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
			parts[i].run(parts[i].share * 200);
}
