// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeps a CPU busy with deep stacks. Each round makes a chain of twenty calls of eight functions,
 * in one of PATHS orders, and works at its end. With the frames around main(), a stack has about 24
 * frames.
 *
 *   deep CPU PATHS
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define DEPTH 20

static volatile uint64_t sink;
static uint64_t path;

__attribute__((noinline)) static void work(uint64_t rounds)
{
	for (uint64_t i = 0; i < rounds; i++)
		sink += i;
}

static unsigned int turn(void)
{
	path = path * 6364136223846793005ull + 1442695040888963407ull;
	return path >> 40 & 7;
}

static void go(int depth);

#define STEP(name)                                            \
	__attribute__((noinline)) static void name(int depth) \
	{                                                     \
		if (depth == 0)                               \
			work(2000 + (path >> 60) * 100);      \
		else                                          \
			go(depth - 1);                        \
		sink++;                                       \
	}

STEP(accept_request)
STEP(parse_header)
STEP(find_session)
STEP(check_rights)
STEP(read_page)
STEP(render_view)
STEP(write_reply)
STEP(log_access)

__attribute__((always_inline)) static inline void go(int depth)
{
	switch (turn()) {
	case 0:
		accept_request(depth);
		break;
	case 1:
		parse_header(depth);
		break;
	case 2:
		find_session(depth);
		break;
	case 3:
		check_rights(depth);
		break;
	case 4:
		read_page(depth);
		break;
	case 5:
		render_view(depth);
		break;
	case 6:
		write_reply(depth);
		break;
	default:
		log_access(depth);
	}
}

int main(int argc, char **argv)
{
	uint64_t paths = argc > 2 ? strtoull(argv[2], NULL, 10) : 3000, round = 0;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(argc > 1 ? atoi(argv[1]) : 0, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0) {
		perror("deep");
		return 1;
	}
	for (;;) {
		path = ++round * 2654435761u % paths;
		go(DEPTH);
	}
}
