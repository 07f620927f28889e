// SPDX-License-Identifier: GPL-2.0-only
/*
 * Questions to systemd while each allocation fails once. The client does not send damaged messages.
 */
#include "tests/check.h"

#include "audit/systemd.h"
#define FAKE_CLOCK_POLLS
#include "tests/scarce.h"
#include "tests/systemds.h"

static const struct systemds_unit units[] = {
	{ "loop.service", "activating", "auto-restart", 8412 },
	{ "gone.service", "failed", "failed", 5 },
};

static int count(void *context, const char *name, const char *active, const char *sub)
{
	(void)name;
	(void)active;
	(void)sub;
	++*(unsigned int *)context;
	return 0;
}

/* Asks all questions. Returns the first error. */
static int ask(const char *root, unsigned int *ret_troubled, uint32_t *ret_restarts)
{
	_cleanup_(cleanup_systemd) struct systemd *systemd = NULL;
	int r = systemd_open(root, &systemd);

	*ret_troubled = *ret_restarts = 0;
	if (r == 0)
		r = systemd_each_troubled(systemd, count, ret_troubled);
	return r == 0 ? systemd_restarts(systemd, "loop.service", ret_restarts) : r;
}

static void test_each_fails(void)
{
	_cleanup_(systemds_done) struct systemds systemd = { .pid = 0 };
	unsigned int troubled, number = 1;
	_cleanup_(tree_done) struct tree tree;
	uint32_t restarts;
	int r;

	tree_init(&tree);
	systemds_start(&systemd, tree.root, units, ARRAY_SIZE(units));
	CHECK_EQ(ask(tree.root, &troubled, &restarts), 0);
	CHECK_EQ(troubled, 2);
	CHECK_EQ(restarts, 8412);
	for (;; number++) {
		scarce_begin(number);
		r = ask(tree.root, &troubled, &restarts);
		if (!scarce_end())
			break;
		CHECK_EQ(r, -ENOMEM);
		CHECK_EQ(restarts, 0);
	}
	CHECK_EQ(r, 0);
	CHECK(number > 10);
}

CHECK_MAIN({ "each allocation fails once", test_each_fails })
