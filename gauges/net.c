// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads /sys/class/net: the timeouts of a device's transmit queues, and the changes of its link.
 * Ignores virtual interfaces such as those of containers.
 */
#include <dirent.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "gauges/source.h"

#define DEVICES_MAX 64
#define QUEUES_MAX 1024

struct device {
	char name[IF_NAMESIZE];
	/* The ID for the link comes first; the IDs for the queues follow. */
	struct source_ids ids;
};

struct net {
	char path[PATH_MAX];
	array_of(struct device) devices;
};

static void *net_make(const char *root)
{
	struct net *net = calloc(1, sizeof(*net));

	if (net && snprintf(net->path, sizeof(net->path), "%s/sys/class/net", root) >=
			   (int)sizeof(net->path))
		net->path[0] = 0;
	return net;
}

static void net_done(void *state)
{
	struct net *net = state;

	for (size_t i = 0; i < net->devices.count; i++)
		source_ids_done(&net->devices.items[i].ids);
	array_done(&net->devices);
	free(net);
}

static struct device *find_device(struct net *net, const char *name)
{
	struct device device = { .ids = { { 0 } } };

	for (size_t i = 0; i < net->devices.count; i++)
		if (strcmp(net->devices.items[i].name, name) == 0)
			return &net->devices.items[i];
	if (net->devices.count == DEVICES_MAX || strlen(name) >= sizeof(device.name))
		return NULL;
	memcpy(device.name, name, strlen(name));
	return array_push(&net->devices, device) < 0 ? NULL
						     : &net->devices.items[net->devices.count - 1];
}

static int net_put_queues(const struct net *net, struct device *device,
			  const struct gauges_sink *sink)
{
	char path[PATH_MAX + 64];
	int64_t value;
	int r = 0;

	for (int queue = 0; r == 0 && queue < QUEUES_MAX; queue++) {
		snprintf(path, sizeof(path), "%s/%s/queues/tx-%d/tx_timeout", net->path,
			 device->name, queue);
		if (source_number(path, &value) < 0)
			return 0;
		r = source_put(&device->ids, queue + 1, sink, value, "net/%s/tx%d_timeouts",
			       device->name, queue);
	}
	return r;
}

static int put_device(struct net *net, const char *name, const struct gauges_sink *sink)
{
	struct device *device;
	char path[PATH_MAX + 64];
	int64_t value;
	int r = 0;

	/* loopback, bridges and the interfaces of containers lack a link to a device */
	snprintf(path, sizeof(path), "%s/%s/device", net->path, name);
	if (access(path, F_OK) < 0)
		return 0;
	device = find_device(net, name);
	if (!device)
		return 0;
	snprintf(path, sizeof(path), "%s/%s/carrier_changes", net->path, name);
	if (source_number(path, &value) == 0)
		r = source_put(&device->ids, 0, sink, value, "net/%s/carrier_changes", name);
	return r < 0 ? r : net_put_queues(net, device, sink);
}

static int net_read(void *state, const struct gauges_sink *sink)
{
	const struct dirent *entry;
	struct net *net = state;
	DIR *dir = opendir(net->path);
	int r = 0;

	if (!dir)
		return -errno;
	while (r == 0 && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			r = put_device(net, entry->d_name, sink);
	closedir(dir);
	return r;
}

const struct source_kind source_net = { "net", 10, net_make, net_read, net_done, NULL };
