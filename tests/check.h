/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The smallest test harness: TAP on standard output, one line per test. A test is a function. A
 * CHECK that fails prints what it expected and what it saw, and ends that test.
 *
 *   static void test_sum(void) { CHECK_EQ(1 + 1, 2); }
 *   CHECK_MAIN({ "sum", test_sum })
 */

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

struct check_test {
	const char *name;
	void (*run)(void);
};

static jmp_buf check_failed;

/* Ends the test as failed. The format says what the test saw. */
#define CHECK_FAIL(...)                                   \
	do {                                              \
		printf("# seen: ");                       \
		printf(__VA_ARGS__);                      \
		printf(" (%s:%d)\n", __FILE__, __LINE__); \
		longjmp(check_failed, 1);                 \
	} while (0)

#define CHECK_INSTEAD(expected, ...)                  \
	do {                                          \
		printf("# expected: %s\n", expected); \
		CHECK_FAIL(__VA_ARGS__);              \
	} while (0)

#define CHECK(condition)                                          \
	do {                                                      \
		if (!(condition))                                 \
			CHECK_INSTEAD(#condition, "it is false"); \
	} while (0)

#define CHECK_EQ(a, b)                                                         \
	do {                                                                   \
		long long _a = (long long)(a), _b = (long long)(b);            \
		if (_a != _b)                                                  \
			CHECK_INSTEAD(#a " is " #b, "%lld, not %lld", _a, _b); \
	} while (0)

#define CHECK_STR(a, b)                                                                            \
	do {                                                                                       \
		const char *_a = (a), *_b = (b);                                                   \
		if (!_a || strcmp(_a, _b) != 0)                                                    \
			CHECK_INSTEAD(#a " is " #b, "\"%s\", not \"%s\"", _a ? _a : "(null)", _b); \
	} while (0)

static inline int check_run(const struct check_test *tests, size_t count)
{
	volatile int failed = 0;

	printf("1..%zu\n", count);
	for (volatile size_t i = 0; i < count; i++) {
		if (setjmp(check_failed) == 0) {
			tests[i].run();
			printf("ok %zu - %s\n", i + 1, tests[i].name);
		} else {
			printf("not ok %zu - %s\n", i + 1, tests[i].name);
			failed = 1;
		}
		fflush(stdout);
	}
	return failed;
}

#define CHECK_MAIN(...)                                                   \
	int main(int argc, char **argv)                                   \
	{                                                                 \
		/* a helper of a test that does not include helpers.h */  \
		if (argc > 1 && strcmp(argv[1], "--helper") == 0)         \
			return 2;                                         \
		static const struct check_test tests[] = { __VA_ARGS__ }; \
		return check_run(tests, ARRAY_SIZE(tests));               \
	}
