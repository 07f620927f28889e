// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include "base/cpu-list.h"

static size_t parse(const char *text, struct cpu_list *list)
{
	*list = (struct cpu_list){ 0 };
	CHECK_EQ(cpu_list_parse(text, list), 0);
	return list->cpus.count;
}

static void test_lists(void)
{
	_cleanup_(cpu_list_done) struct cpu_list one = { 0 }, range = { 0 }, many = { 0 };

	CHECK_EQ(parse("0\n", &one), 1);
	CHECK_EQ(one.cpus.items[0], 0);
	CHECK_EQ(parse("0-447", &range), 448);
	CHECK_EQ(range.cpus.items[447], 447);
	/* sorted, and each CPU once */
	CHECK_EQ(parse("8,2-4,3", &many), 4);
	CHECK_EQ(many.cpus.items[0], 2);
	CHECK_EQ(many.cpus.items[3], 8);
	CHECK_EQ(cpu_list_has(&many, 8), true);
	CHECK_EQ(cpu_list_has(&many, 5), false);
}

static void test_no_lists(void)
{
	static const char *const wrong[] = { "",
					     "\n",
					     ",",
					     "0,",
					     "-1",
					     "0-",
					     "3-1",
					     "a",
					     "0 1",
					     "0\n1",
					     "65536",
					     "0-65536",
					     "99999999999999999999" };
	struct cpu_list list;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		CHECK_EQ(cpu_list_parse(wrong[i], &list), -EINVAL);
}

CHECK_MAIN({ "CPU lists are parsed", test_lists },
	   { "texts that are not CPU lists are refused", test_no_lists })
