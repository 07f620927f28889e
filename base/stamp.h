#pragma once
#include <stdio.h>
#include <time.h>
static inline void stamp(const char *what)
{
	struct timespec c, w;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &c);
	clock_gettime(CLOCK_MONOTONIC, &w);
	fprintf(stderr, "@%s %.3f %.3f\n", what, c.tv_sec * 1e3 + c.tv_nsec / 1e6, w.tv_sec * 1e3 + w.tv_nsec / 1e6);
}
