// SPDX-License-Identifier: GPL-2.0-only
/*
 * A load that changes much: processes that live for milliseconds, fork and exec, threads that
 * rename themselves, libraries that are mapped and unmapped, names of C++, stacks of some depth,
 * and a frame pointer that leads to junk, as programs without frame pointers have. Runs for
 * SECONDS.
 *
 *   mix SECONDS
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static __attribute__((noinline)) void spin(double seconds)
{
	double end = now() + seconds;

	while (now() < end)
		for (unsigned int i = 0; i < 20000; i++)
			sink += i;
}

/* Names as a C++ compiler makes them. */
__attribute__((noinline, used)) static void plain(double seconds) __asm__("_ZN4work5Queue3runEd");
__attribute__((noinline, used)) static void
lambda(double seconds) __asm__("_ZZN4work5startEvENKUldE_clEd");
__attribute__((noinline, used)) static void
templated(double seconds) __asm__("_ZNSt6vectorIN4work4ItemESaIS1_EE9push_backERKS1_");

static void templated(double seconds)
{
	spin(seconds);
	sink++;
}

static void lambda(double seconds)
{
	templated(seconds);
	sink++;
}

static void plain(double seconds)
{
	lambda(seconds);
	sink++;
}

static __attribute__((noinline)) void deep(int depth, double seconds)
{
	if (depth)
		deep(depth - 1, seconds);
	else
		spin(seconds);
	sink++;
}

/* The frame that the kernel finds here returns to -1, which is neither an address nor a mark. */
static __attribute__((noinline)) void without_frames(void)
{
	static const unsigned long frame[2] = { 0, -1UL };
	unsigned long count = 1 << 24;
	unsigned long saved;

#if defined(__x86_64__)
	__asm__ volatile("mov %%rbp, %1\n\tmov %2, %%rbp\n"
			 "1:\tdec %0\n\tjnz 1b\n\tmov %1, %%rbp"
			 : "+r"(count), "=&r"(saved)
			 : "r"(frame)
			 : "cc", "memory");
#elif defined(__aarch64__)
	__asm__ volatile("mov %1, x29\n\tmov x29, %2\n"
			 "1:\tsubs %0, %0, #1\n\tb.ne 1b\n\tmov x29, %1"
			 : "+r"(count), "=&r"(saved)
			 : "r"(frame)
			 : "cc", "memory");
#endif
	sink += count + saved;
}

static void *thread_main(void *name)
{
	char second[16];

	prctl(PR_SET_NAME, name);
	spin(0.01);
	snprintf(second, sizeof(second), "%s again", (char *)name);
	prctl(PR_SET_NAME, second);
	plain(0.01);
	return NULL;
}

static void threads(void)
{
	static char names[][8] = { "one", "two x", "three" };
	pthread_t list[3];

	for (int i = 0; i < 3; i++)
		if (pthread_create(&list[i], NULL, thread_main, names[i]) != 0)
			abort();
	for (int i = 0; i < 3; i++)
		pthread_join(list[i], NULL);
}

/* Maps libraries one after the other, often at the same address. */
static void libraries(void)
{
	static const char *const names[][2] = {
		{ "libz.so.1", "crc32" },
		{ "libm.so.6", "cbrt" },
		{ "liblzma.so.5", "lzma_crc64" },
	};
	static char bytes[1 << 16];

	for (int i = 0; i < 3; i++) {
		void *library = dlopen(names[i][0], RTLD_NOW);
		void *function = library ? dlsym(library, names[i][1]) : NULL;
		double end = now() + 0.005;

		while (function && now() < end)
			for (int j = 0; j < 50; j++) {
				if (i == 1)
					sink += ((double (*)(double))function)(j);
				else if (i == 0)
					sink += ((unsigned long (*)(unsigned long, char *,
								    unsigned int))function)(
						0, bytes, 4096);
				else
					sink += ((unsigned long (*)(char *, size_t, unsigned long))
							 function)(bytes, 4096, 0);
			}
		if (library)
			dlclose(library);
	}
}

static void process(char *self)
{
	pid_t child = fork();

	if (child == 0) {
		spin(0.002);
		execl(self, "mix", "", (char *)NULL);
		_exit(127);
	}
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	double end = argc > 1 ? now() + atof(argv[1]) : 0;

	if (argc > 1 && !*argv[1]) {
		deep(12, 0.003);
		return 0;
	}
	while (now() < end) {
		for (int i = 0; i < 5; i++)
			process(argv[0]);
		threads();
		libraries();
		plain(0.01);
		deep(30, 0.01);
		without_frames();
	}
	return 0;
}
