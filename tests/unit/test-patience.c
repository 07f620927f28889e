// SPDX-License-Identifier: GPL-2.0-only
/* Work that hangs is given up, and done without what hung. */
#include "tests/check.h"

#include <errno.h>
#include <unistd.h>

#include "cli/patience.h"

#define LIMIT_NS 50000000ull

struct told {
	char text[256];
};

static void gave_up(void *context, const char *what)
{
	struct told *told = context;
	size_t size = strlen(told->text);

	snprintf(told->text + size, sizeof(told->text) - size, "%s;", what);
}

static int hang_in_some(void *context, struct patience *patience)
{
	static const char *const reads[] = { "well", "stuck", "well too", "stuck too" };
	int passed_over = 0;

	(void)context;
	for (size_t i = 0; i < 4; i++)
		if (!patience_enter(patience, reads[i]))
			passed_over++;
		else if (i % 2)
			pause();
	patience_enter(patience, NULL);
	/* at nothing it may take its time */
	usleep(3 * LIMIT_NS / 1000);
	return 40 + passed_over;
}

static int hang_in_all(void *context, struct patience *patience)
{
	char name[16];

	(void)context;
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "read %d", i);
		if (patience_enter(patience, name))
			pause();
	}
	return 0;
}

static int run(int (*work)(void *context, struct patience *patience), struct told *told)
{
	const struct patience_work patience = {
		.limit_ns = LIMIT_NS, .work = work, .gave_up = gave_up, .context = told
	};

	*told = (struct told){ "" };
	return patience_run(&patience);
}

static void test_hangs(void)
{
	struct told told;

	CHECK_EQ(run(hang_in_some, &told), 42);
	CHECK_STR(told.text, "stuck;stuck too;");
}

static void test_bound(void)
{
	struct told told;

	CHECK_EQ(run(hang_in_all, &told), -ETIMEDOUT);
	CHECK(strstr(told.text, "read 15;"));
	CHECK(!strstr(told.text, "read 16;"));
}

CHECK_MAIN({ "work that hangs is done without what hung", test_hangs },
	{ "where all hangs it ends", test_bound })
