// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whole hosts of several kernels and kinds of cgroups: which gauges they have, and which they lack.
 */
#include "tests/check.h"

#include "gauges/cgroup-names.h"
#include "tests/kept.h"

#define ID_A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID_B "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID "8d7c2f1e_0b3a_4c5d_9e8f_001122334455"
#define STATIC_UID "0123456789abcdef0123456789abcdef"

static const struct {
	const char *path, *name;
	enum cgroup_kind kind;
} names[] = {
	{ "", "", CGROUP_OTHER },
	{ "/system.slice", "system.slice", CGROUP_OTHER },
	{ "/system.slice/ecs.service", "ecs.service", CGROUP_UNIT },
	{ "/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service",
	  CGROUP_UNIT },
	{ "/user.slice/user-0.slice/user@0.service/app.slice/x.service",
	  "user.slice/user-0.slice/user@0.service/app.slice/x.service", CGROUP_UNIT },
	{ "/system.slice/docker-" ID_A ".scope", "system.slice/docker-*.scope", CGROUP_CONTAINER },
	{ "/system.slice/docker-" ID_A ".scope/system.slice/kubelet.service",
	  "system.slice/docker-*.scope/system.slice/kubelet.service", CGROUP_UNIT },
	{ "/system.slice/docker-" ID_A ".scope/init.scope",
	  "system.slice/docker-*.scope/init.scope", CGROUP_OTHER },
	{ "/docker/" ID_B, "docker/*", CGROUP_CONTAINER },
	{ "/ecs/" STATIC_UID, "ecs/*", CGROUP_CONTAINER },
	{ "/ecs/" STATIC_UID "/" ID_B, "ecs/*/*", CGROUP_CONTAINER },
	{ "/kubepods/burstable/pod8d7c2f1e-0b3a-4c5d-9e8f-001122334455", "kubepods/burstable/pod*",
	  CGROUP_CONTAINER },
	{ "/kubepods/burstable/pod" STATIC_UID "/" ID_A, "kubepods/burstable/pod" STATIC_UID "/*",
	  CGROUP_CONTAINER },
	{ "/kubepods.slice/kubepods-pod" UID ".slice/cri-containerd-" ID_B ".scope",
	  "kubepods.slice/kubepods-pod" UID ".slice/cri-containerd-*.scope", CGROUP_CONTAINER },
	{ "/kubepods.slice/kubepods-pod" UID ".slice", "kubepods.slice/kubepods-pod*.slice",
	  CGROUP_CONTAINER },
	{ "/kubepods.slice/kubepods-pod" UID ".slice/crio-" ID_A ".scope",
	  "kubepods.slice/kubepods-pod" UID ".slice/crio-*.scope", CGROUP_CONTAINER },
	{ "/machine.slice/libpod-" ID_A ".scope", "machine.slice/libpod-*.scope",
	  CGROUP_CONTAINER },
	{ "/jobs/20250312-abcdef0123", "jobs/20250312-abcdef0123", CGROUP_OTHER },
	{ "/a/8d7c2f1e-0b3a_4c5d-9e8f", "a/8d7c2f1e-0b3a_4c5d-9e8f", CGROUP_OTHER },
};

static void test_names(void)
{
	_cleanup_(buffer_done) struct buffer name = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CHECK_EQ(cgroup_name(names[i].path, &name), names[i].kind);
		CHECK_STR((char *)name.data, names[i].name);
	}
}

/* The id of a pod is that of the API, in the forms of both drivers of kubelet. */
static void test_pods(void)
{
	static const struct {
		const char *path, *pod;
	} rows[] = {
		{ "/kubepods/burstable/pod8d7c2f1e-0b3a-4c5d-9e8f-001122334455/" ID_A,
		  "8d7c2f1e-0b3a-4c5d-9e8f-001122334455" },
		{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-"
		  "pod8d7c2f1e_0b3a_4c5d_9e8f_001122334455.slice/cri-containerd-" ID_B ".scope",
		  "8d7c2f1e-0b3a-4c5d-9e8f-001122334455" },
		{ "/kubepods/besteffort/pod" STATIC_UID "/" ID_A, STATIC_UID },
		{ "/system.slice/docker-0123456789abcdef0123456789abcdef0123456789abcdef"
		  "0123456789abcdef.scope",
		  "container 0123456789ab" },
		{ "/system.slice/kubelet.service", NULL },
		{ "/podman/tripod", NULL },
		{ "", NULL },
	};
	_cleanup_(buffer_done) struct buffer name = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_EQ(cgroup_pod(rows[i].path, &name), rows[i].pod != NULL);
		if (rows[i].pod)
			CHECK_STR((char *)name.data, rows[i].pod);
		else
			CHECK_EQ(name.size, 0);
	}
}

/*
 * A unit that starts again has another folder with the same name. The test makes the new folder
 * before it removes the old one, so that the inode differs.
 */
static void replace(const struct tree *tree, const char *path)
{
	char full[512], old[520];

	snprintf(full, sizeof(full), "%s%s", tree->root, path);
	snprintf(old, sizeof(old), "%s.old", full);
	CHECK_EQ(rename(full, old), 0);
	tree_folder(tree, path);
	CHECK_EQ(rmdir(old), 0);
}

static void take_away(const struct tree *tree, const char *path)
{
	char full[512];

	snprintf(full, sizeof(full), "%s%s", tree->root, path);
	CHECK_EQ(rmdir(full), 0);
}

static void put_link(const struct tree *tree, const char *name, const char *target)
{
	char full[512];

	tree_folder(tree, "/run/systemd/units");
	snprintf(full, sizeof(full), "%s/run/systemd/units/invocation:%s", tree->root, name);
	unlink(full);
	CHECK_EQ(symlink(target, full), 0);
}

#define MOUNT_V2 "30 24 0:26 / /cg rw - cgroup2 cgroup2 rw\n"
#define MOUNT_HYBRID                                                          \
	"30 24 0:26 / /cg/unified rw - cgroup2 cgroup2 rw\n"                  \
	"31 24 0:27 / /cg/systemd rw - cgroup cgroup rw,xattr,name=systemd\n" \
	"32 24 0:28 / /cg/memory rw - cgroup cgroup rw,memory\n"

static void test_units_v2(void)
{
	_cleanup_(tree_done) struct tree tree;
	_cleanup_(kept_done) struct kept kept = { .asked = 0 };
	const struct gauges_sink sink = { kept_name, kept_put, &kept };
	struct gauges *gauges;

	tree_init(&tree);
	tree_put(&tree, "/proc/self/mountinfo", MOUNT_V2);
	tree_put(&tree, "/cg/cgroup.controllers", "memory\n");
	tree_folder(&tree, "/cg/system.slice/ecs.service");
	tree_folder(&tree, "/cg/system.slice/quiet.service");
	tree_folder(&tree, "/cg/system.slice/docker-" ID_A ".scope");
	put_link(&tree, "ecs.service", "11111111111111111111111111111111");
	put_link(&tree, "dev-sda.device", "11111111111111111111111111111111");
	CHECK_EQ(gauges_new(tree.root, &sink, &gauges), 0);
	CHECK_EQ(gauges_read(gauges, 0), 0);
	CHECK_EQ(value_of(&kept, "unit/ecs.service/starts"), 0);
	CHECK_EQ(value_of(&kept, "unit/dev-sda.device/starts"), NOTHING);
	CHECK_EQ(value_of(&kept, "containers/system.slice/docker-*.scope/running"), 1);

	/* both places show the start: it counts once */
	replace(&tree, "/cg/system.slice/ecs.service");
	put_link(&tree, "ecs.service", "22222222222222222222222222222222");
	take_away(&tree, "/cg/system.slice/docker-" ID_A ".scope");
	tree_folder(&tree, "/cg/system.slice/docker-" ID_B ".scope");
	CHECK_EQ(gauges_read(gauges, 60), 0);
	CHECK_EQ(value_of(&kept, "unit/ecs.service/starts"), 1);
	CHECK_EQ(value_of(&kept, "unit/quiet.service/starts"), 0);
	CHECK_EQ(value_of(&kept, "containers/system.slice/docker-*.scope/starts"), 1);
	CHECK_EQ(value_of(&kept, "containers/system.slice/docker-*.scope/running"), 1);

	/* only one place shows the start, because systemd keeps some cgroups */
	put_link(&tree, "ecs.service", "33333333333333333333333333333333");
	take_away(&tree, "/cg/system.slice/docker-" ID_B ".scope");
	CHECK_EQ(gauges_read(gauges, 120), 0);
	CHECK_EQ(value_of(&kept, "unit/ecs.service/starts"), 2);
	CHECK_EQ(value_of(&kept, "containers/system.slice/docker-*.scope/starts"), 1);
	CHECK_EQ(value_of(&kept, "containers/system.slice/docker-*.scope/running"), 0);
	gauges_free(gauges);
}

/*
 * Units without memory accounting appear only in systemd's own hierarchy, containers of other
 * runtimes only in the memory hierarchy.
 */
static void test_units_hybrid(void)
{
	_cleanup_(tree_done) struct tree tree;
	_cleanup_(kept_done) struct kept kept = { .asked = 0 };
	const struct gauges_sink sink = { kept_name, kept_put, &kept };
	struct gauges *gauges;

	tree_init(&tree);
	tree_put(&tree, "/proc/self/mountinfo", MOUNT_HYBRID);
	tree_put(&tree, "/proc/cgroups", "memory\t4\t9\t1\n");
	tree_put(&tree, "/cg/unified/cgroup.controllers", "hugetlb\n");
	tree_folder(&tree, "/cg/systemd/system.slice/ecs.service");
	tree_folder(&tree, "/cg/systemd/system.slice/both.service");
	tree_folder(&tree, "/cg/memory/system.slice/both.service");
	tree_folder(&tree, "/cg/memory/docker/" ID_A);
	CHECK_EQ(gauges_new(tree.root, &sink, &gauges), 0);
	CHECK_EQ(gauges_read(gauges, 0), 0);
	replace(&tree, "/cg/systemd/system.slice/ecs.service");
	replace(&tree, "/cg/systemd/system.slice/both.service");
	replace(&tree, "/cg/memory/system.slice/both.service");
	tree_folder(&tree, "/cg/memory/docker/" ID_B);
	CHECK_EQ(gauges_read(gauges, 60), 0);
	CHECK_EQ(value_of(&kept, "unit/ecs.service/starts"), 1);
	CHECK_EQ(value_of(&kept, "unit/both.service/starts"), 1);
	CHECK_EQ(value_of(&kept, "containers/docker/*/starts"), 1);
	CHECK_EQ(value_of(&kept, "containers/docker/*/running"), 2);
	gauges_free(gauges);
}

/* A host without cgroups but with systemd: the links of systemd are enough. */
static void test_units_without_cgroups(void)
{
	_cleanup_(tree_done) struct tree tree;
	_cleanup_(kept_done) struct kept kept = { .asked = 0 };

	tree_init(&tree);
	tree_put(&tree, "/proc/self/mountinfo", "");
	put_link(&tree, "a.service", "11111111111111111111111111111111");
	read_all(&tree, &kept);
	CHECK_EQ(value_of(&kept, "unit/a.service/starts"), 0);
	CHECK_EQ(kept.puts, 1);
}

/* A host's files and the gauges that result; NOTHING means that the host lacks the gauge. */
static const struct host {
	const char *what, *mounts, *cgroups, *controllers, *stat;
	int64_t tracked, in_use, dying;
} hosts[] = {
	{ "4.4, version 1", "32 24 0:28 / /cg/memory rw - cgroup cgroup rw,memory\n",
	  "#subsys_name\thierarchy\tnum_cgroups\tenabled\nmemory\t9\t68680\t1\n", NULL, NULL, 68680,
	  3, 68677 },
	{ "5.4, hybrid", MOUNT_HYBRID,
	  "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t2\t9\t1\nmemory\t4\t43\t1\n", "",
	  "nr_descendants 77\nnr_dying_descendants 11\n", 43, 3, 40 },
	{ "version 1, without the row", "32 24 0:28 / /cg/memory rw - cgroup cgroup rw,memory\n",
	  "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t2\t9\t1\n", NULL, NULL, NOTHING,
	  NOTHING, NOTHING },
	{ "version 1, no /proc/cgroups", "32 24 0:28 / /cg/memory rw - cgroup cgroup rw,memory\n",
	  NULL, NULL, NULL, NOTHING, NOTHING, NOTHING },
	{ "5.4, hybrid, without memory cgroups",
	  "30 24 0:26 / /cg/unified rw - cgroup2 cgroup2 rw\n", "memory\t0\t1\t0\n", "hugetlb\n",
	  "nr_descendants 77\nnr_dying_descendants 11\n", NOTHING, NOTHING, NOTHING },
	{ "5.15, version 2", "30 24 0:26 / /cg/unified rw - cgroup2 cgroup2 rw\n",
	  "memory\t0\t311\t1\n", "cpu memory pids\n",
	  "nr_descendants 239\nnr_dying_descendants 71\n", 311, 240, 71 },
	{ "6.12, version 2, without the row", "30 24 0:26 / /cg/unified rw - cgroup2 cgroup2 rw\n",
	  "cpu\t0\t311\t1\n", "cpu memory pids\n",
	  "nr_descendants 239\nnr_subsys_cpu 99\nnr_subsys_memory 201\n"
	  "nr_dying_descendants 71\nnr_dying_subsys_cpu 0\nnr_dying_subsys_memory 70\n",
	  271, 201, 70 },
	{ "6.18, version 2, no /proc/cgroups", "30 24 0:26 / /cg/unified rw - cgroup2 cgroup2 rw\n",
	  NULL, "memory\n",
	  "nr_descendants 239\nnr_subsys_memory 1\nnr_dying_descendants 0\n"
	  "nr_dying_subsys_memory 0\n",
	  1, 1, 0 },
	{ "6.18, version 2, in a container",
	  "30 24 0:26 /docker/1 /cg/unified rw - cgroup2 cgroup2 rw\n", NULL, "memory\n",
	  "nr_descendants 2\nnr_dying_descendants 5\n", 8, 3, 5 },
};

static void test_hosts(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		_cleanup_(tree_done) struct tree tree;
		_cleanup_(kept_done) struct kept kept = { .asked = 0 };
		const struct host *host = &hosts[i];

		tree_init(&tree);
		tree_put(&tree, "/proc/self/mountinfo", host->mounts);
		tree_folder(&tree, "/cg/memory/system.slice/a.service");
		if (host->cgroups)
			tree_put(&tree, "/proc/cgroups", host->cgroups);
		if (host->controllers)
			tree_put(&tree, "/cg/unified/cgroup.controllers", host->controllers);
		if (host->stat)
			tree_put(&tree, "/cg/unified/cgroup.stat", host->stat);
		read_all(&tree, &kept);
		printf("# %s\n", host->what);
		CHECK_EQ(value_of(&kept, "memory_cgroups/tracked"), host->tracked);
		CHECK_EQ(value_of(&kept, "memory_cgroups/in_use"), host->in_use);
		CHECK_EQ(value_of(&kept, "memory_cgroups/dying"), host->dying);
	}
}

CHECK_MAIN({ "names of cgroups", test_names }, { "ids of pods", test_pods },
	   { "units and containers of version 2", test_units_v2 },
	   { "units and containers of a hybrid host", test_units_hybrid },
	   { "units without cgroups", test_units_without_cgroups },
	   { "memory cgroups of several kernels", test_hosts })
