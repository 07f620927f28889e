// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/host-labels.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/systemd.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/intern.h"
#include "base/json.h"
#include "fleet/row-binary.h"

#define DAY_NS (86400 * NSEC_PER_SEC)
#define HOST_FILE_MAX 65536
#define HOST_JSON_MAX (1u << 20)

struct host_labels {
	const char *root;
	const char *host;
	uint64_t now_ns;
	struct batch_rows *rows;
	/* NULL: systemd does not answer. */
	struct systemd *systemd;
	/* The names that have a value; the first value counts. */
	struct strings names;
	bool failed;
};

static char *host_labels_trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = 0;
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

static void host_labels_add(struct host_labels *labels, const char *prefix, const char *name,
			    const char *value)
{
	char full[256];
	struct buffer *row;
	uint32_t id;

	snprintf(full, sizeof(full), "%s%s", prefix, name);
	if (!*value || strings_find(&labels->names, full, strlen(full)))
		return;
	if (strings_add(&labels->names, full, strlen(full), &id) < 0) {
		labels->failed = true;
		return;
	}
	row = batch_rows_add(labels->rows, FLEET_FACTS);
	row_put_text(row, labels->host);
	buffer_u32(row, labels->now_ns / DAY_NS);
	row_put_text(row, full);
	row_put_text(row, value);
	buffer_u64(row, labels->now_ns / NSEC_PER_USEC);
}

/* Reads a file of this host, or returns NULL. The caller frees it. */
static char *host_labels_read(const struct host_labels *labels, const char *path, size_t max)
{
	char full[PATH_MAX], *text = NULL;

	snprintf(full, sizeof(full), "%s%s", labels->root, path);
	return file_read(full, max, &text, NULL) < 0 ? NULL : text;
}

/* Reads "NAME = VALUE" lines. If `error` is not NULL, refuses any other line. */
static int host_labels_take_lines(struct host_labels *labels, const char *path, const char *prefix,
				  const char *const *only, struct error *error)
{
	_cleanup_free_ char *text = host_labels_read(labels, path, HOST_FILE_MAX);
	char *rest = text;
	unsigned int number = 0;

	for (char *line; rest && (line = strsep(&rest, "\n"));) {
		char *value = strchr(line, '='), *name;
		bool wanted = !only;

		number++;
		if (value)
			*value++ = 0;
		name = host_labels_trim(line);
		if (!*name || *name == '#')
			continue;
		if (!value && error)
			return error_set(error, -EINVAL, "%s:%u: not a label; write NAME = VALUE",
					 path, number);
		for (size_t i = 0; only && only[i]; i++)
			wanted |= strcmp(only[i], name) == 0;
		if (!value || !wanted)
			continue;
		value = host_labels_trim(value);
		if (*value == '"' && value[1]) {
			value++;
			value[strlen(value) - 1] = 0;
		}
		host_labels_add(labels, prefix, name, value);
	}
	return 0;
}

/* Files of one line. A name of a label begins with HOST_LABELS_PREFIX. */
static const char *const host_files[][2] = {
	{ "label/kernel", "/proc/sys/kernel/osrelease" },
	{ "label/instance_type", "/sys/devices/virtual/dmi/id/product_name" },
	{ "dmi/vendor", "/sys/devices/virtual/dmi/id/sys_vendor" },
	{ "dmi/bios", "/sys/devices/virtual/dmi/id/bios_version" },
	{ "clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource" },
	{ "transparent_hugepage", "/sys/kernel/mm/transparent_hugepage/enabled" },
	{ "sysctl/vm.swappiness", "/proc/sys/vm/swappiness" },
	{ "sysctl/vm.min_free_kbytes", "/proc/sys/vm/min_free_kbytes" },
	{ "sysctl/vm.zone_reclaim_mode", "/proc/sys/vm/zone_reclaim_mode" },
	{ "sysctl/kernel.numa_balancing", "/proc/sys/kernel/numa_balancing" },
	{ "sysctl/net.core.netdev_budget", "/proc/sys/net/core/netdev_budget" },
	{ "sysctl/net.core.netdev_budget_usecs", "/proc/sys/net/core/netdev_budget_usecs" },
	{ "sysctl/net.core.busy_poll", "/proc/sys/net/core/busy_poll" },
	{ "driver/ena", "/sys/module/ena/version" },
	{ "driver/ena/source", "/sys/module/ena/srcversion" },
	{ "driver/nvme/source", "/sys/module/nvme/srcversion" },
	{ "driver/mlx5_core/source", "/sys/module/mlx5_core/srcversion" },
	{ "driver/ixgbe/source", "/sys/module/ixgbe/srcversion" },
	{ "driver/virtio_net/source", "/sys/module/virtio_net/srcversion" },
};

static void host_labels_take_files(struct host_labels *labels)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(host_files); i++) {
		_cleanup_free_ char *text =
			host_labels_read(labels, host_files[i][1], HOST_FILE_MAX);

		if (text)
			host_labels_add(labels, "", host_files[i][0], host_labels_trim(text));
	}
	snprintf(path, sizeof(path), "%s/sys/fs/cgroup/cgroup.controllers", labels->root);
	host_labels_add(labels, "", "cgroup_version", file_exists(path) ? "2" : "1");
}

/* Keys that clouds write into the data of an instance, and the label that each gives. */
static const char *host_labels_of_key(const struct json_token *key)
{
	static const char *const keys[][2] = {
		{ "availability_zone", "zone" },
		{ "availability-zone", "zone" },
		{ "region", "region" },
		{ "instance_type", "instance_type" },
		{ "instance-type", "instance_type" },
		{ "ami-id", "image" },
		{ "ami_id", "image" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (json_is(key, keys[i][0]))
			return keys[i][1];
	return NULL;
}

/* cloud-init leaves what the metadata service said in a file that all may read. */
static void host_labels_take_cloud(struct host_labels *labels)
{
	_cleanup_free_ char *text =
		host_labels_read(labels, "/run/cloud-init/instance-data.json", HOST_JSON_MAX);
	_cleanup_(buffer_done) struct buffer value = { 0 };
	const char *label = NULL;
	struct json_reader reader;
	struct json_token token;

	if (!text)
		return;
	json_reader_init(&reader, text, strlen(text));
	while (json_next(&reader, &token) > 0) {
		if (token.type == JSON_STRING && label) {
			value.size = 0;
			json_unescape(&token, &value);
			host_labels_add(labels, HOST_LABELS_PREFIX, label, buffer_shown(&value));
		}
		label = token.type == JSON_KEY ? host_labels_of_key(&token) : NULL;
	}
}

/* Notes how often systemd restarted a service, if it did. */
static void host_labels_take_restarts(struct host_labels *labels, const char *unit)
{
	size_t size = strlen(unit);
	char value[16];
	uint32_t count;
	int r;

	if (!labels->systemd || size < 8 || strcmp(unit + size - 8, ".service") != 0)
		return;
	r = systemd_restarts(labels->systemd, unit, &count);
	snprintf(value, sizeof(value), "%u", r == 0 ? count : 0);
	if (r == 0 && count)
		host_labels_add(labels, "restarts/", unit, value);
	/* systemd hangs: do not ask again */
	if (r == -ETIMEDOUT)
		labels->systemd = systemd_close(labels->systemd);
}

struct troubled_units {
	struct host_labels *labels;
	struct strings names;
};

static int host_labels_see_troubled(void *context, const char *name, const char *active,
				    const char *sub)
{
	struct troubled_units *units = context;
	uint32_t id;

	if (strcmp(active, "failed") == 0)
		host_labels_add(units->labels, "failed/", name, sub);
	return strings_add(&units->names, name, strlen(name), &id);
}

/*
 * Notes the units that failed, and the number of restarts of each unit that failed or waits for a
 * restart.
 */
static void host_labels_take_troubled(struct host_labels *labels)
{
	struct troubled_units units = { .labels = labels };
	int r = systemd_open(labels->root, &labels->systemd);

	if (r == 0)
		r = systemd_each_troubled(labels->systemd, host_labels_see_troubled, &units);
	for (uint32_t id = 1; r == 0 && id < strings_count(&units.names); id++)
		host_labels_take_restarts(labels, strings_at(&units.names, id));
	labels->failed |= r == -ENOMEM;
	strings_done(&units.names);
}

/* Notes the units that start at boot, by the links of /etc/systemd/system/TARGET.wants. */
static void host_labels_take_wants(struct host_labels *labels, const char *target)
{
	_cleanup_free_ char *path = NULL;
	struct dirent *entry;
	DIR *folder;

	if (asprintf(&path, "%s/etc/systemd/system/%s", labels->root, target) < 0) {
		path = NULL;
		labels->failed = true;
		return;
	}
	folder = opendir(path);
	while (folder && (entry = readdir(folder)))
		if (*entry->d_name != '.') {
			host_labels_add(labels, "unit/", entry->d_name, "enabled");
			host_labels_take_restarts(labels, entry->d_name);
		}
	if (folder)
		closedir(folder);
}

static void host_labels_take_units(struct host_labels *labels)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/etc/systemd/system", labels->root);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		size_t size = strlen(entry->d_name);

		if (size > 6 && strcmp(entry->d_name + size - 6, ".wants") == 0)
			host_labels_take_wants(labels, entry->d_name);
	}
	if (folder)
		closedir(folder);
}

int host_labels_put(const char *root, const char *host, uint64_t now_ns, struct batch_rows *rows,
		    struct error *error)
{
	static const char *const of_image[] = { "IMAGE_ID", "IMAGE_VERSION", "BUILD_ID", NULL };
	static const char *const of_system[] = { "PRETTY_NAME", "VERSION_ID", NULL };
	struct host_labels labels = { .root = root, .host = host, .now_ns = now_ns, .rows = rows };
	int r = host_labels_take_lines(&labels, HOST_LABELS_FILE, HOST_LABELS_PREFIX, NULL, error);

	if (r == 0) {
		host_labels_take_cloud(&labels);
		host_labels_take_lines(&labels, "/etc/os-release", "image/", of_image, NULL);
		host_labels_take_lines(&labels, "/etc/os-release", "os/", of_system, NULL);
		host_labels_take_files(&labels);
		host_labels_take_troubled(&labels);
		host_labels_take_units(&labels);
	}
	systemd_close(labels.systemd);
	strings_done(&labels.names);
	return r == 0 && labels.failed ? -ENOMEM : r;
}
