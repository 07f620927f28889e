// SPDX-License-Identifier: GPL-2.0-only
/* Labels and facts of a host: files, and a systemd that a process plays. */
#include "tests/systemds.h"

#include <unistd.h>

#include "fleet/host-labels.h"
#include "fleet/row-binary.h"

static struct tree tree;
static struct batch_rows rows;

static void take(void)
{
	struct error error = { 0 };

	batch_rows_done(&rows);
	rows = (struct batch_rows){ 0 };
	CHECK_EQ(host_labels_put(tree.root, "web-1", 1000 * NSEC_PER_SEC, &rows, &error), 0);
}

/* Returns the value of a fact, or NULL. Valid until the next call. */
static const char *value_of(const char *wanted)
{
	static struct buffer name, value, host;
	struct reader reader;

	reader_init(&reader, rows.of[FLEET_FACTS].rows.data, rows.of[FLEET_FACTS].rows.size);
	while (reader_left(&reader)) {
		row_text(&reader, &host);
		reader_u32(&reader);
		row_text(&reader, &name);
		row_text(&reader, &value);
		reader_u64(&reader);
		if (strcmp(buffer_shown(&name), wanted) == 0)
			return buffer_shown(&value);
	}
	return NULL;
}

static void enable(const char *unit)
{
	char path[256];

	snprintf(path, sizeof(path), "/etc/systemd/system/multi-user.target.wants/%s", unit);
	tree_put(&tree, path, "");
}

static void test_units(void)
{
	static const struct systemds_unit units[] = {
		{ "steady.service", "active", "running", 0 },
		{ "ecs.service", "active", "running", 212 },
		{ "loop.service", "activating", "auto-restart", 7 },
		{ "broken.service", "failed", "failed", 5 },
	};
	struct systemds systemd = { .pid = 0 };

	tree_init(&tree);
	enable("steady.service");
	enable("ecs.service");
	systemds_start(&systemd, tree.root, units, ARRAY_SIZE(units));
	take();
	systemds_done(&systemd);
	CHECK_STR(value_of("unit/ecs.service"), "enabled");
	CHECK_STR(value_of("restarts/ecs.service"), "212");
	CHECK_STR(value_of("restarts/loop.service"), "7");
	CHECK_STR(value_of("restarts/broken.service"), "5");
	CHECK_STR(value_of("failed/broken.service"), "failed");
	CHECK(!value_of("restarts/steady.service"));
	CHECK(!value_of("failed/loop.service"));
	tree_done(&tree);
}

static void test_files(void)
{
	tree_init(&tree);
	tree_put(&tree, "/etc/perftape/labels.conf", "# ours\nzone = az3\n");
	tree_put(&tree, "/proc/sys/kernel/osrelease", "6.1.0\n");
	tree_put(&tree, "/proc/sys/vm/swappiness", "60\n");
	enable("cron.service");
	take();
	CHECK_STR(value_of("label/zone"), "az3");
	CHECK_STR(value_of("label/kernel"), "6.1.0");
	CHECK_STR(value_of("sysctl/vm.swappiness"), "60");
	CHECK_STR(value_of("cgroup_version"), "1");
	/* without systemd, its files still tell */
	CHECK_STR(value_of("unit/cron.service"), "enabled");
	CHECK(!value_of("restarts/cron.service"));
	batch_rows_done(&rows);
	tree_done(&tree);
}

CHECK_MAIN({ "failed units and restarts", test_units }, { "files", test_files })
