// SPDX-License-Identifier: GPL-2.0-only
#include "gauges/interrupts.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "gauges/source.h"

/* Enough for 448 CPUs with ten digits each and some thousand interrupts. */
#define LIMIT (64 << 20)

/*
 * The text between a device's name and the number of its queue. Longer texts come before shorter
 * ones.
 */
static const struct {
	const char *text;
	bool sends, receives;
} separators[] = {
	{ "-Tx-Rx-", true, true }, /* ena */
	{ "-TxRx-", true, true }, /* ixgbe, i40e, ice, igb, bnxt */
	{ "-tx-", true, false },     { "-rx-", false, true },
	{ "-output.", true, false }, /* virtio */
	{ "-input.", false, true },
};

/* Drivers that put their own name before the name of the device. */
static const char *const drivers[] = { "i40e-", "ice-", "iavf-", "ixgbevf-" };

void interrupts_done(struct interrupts *interrupts)
{
	array_done(&interrupts->list);
}

static bool interrupts_take_number(const char *at, const char *end, uint32_t *ret_number)
{
	struct words word = { at, end };
	int64_t number;

	if (!words_number(&word, &number) || word.at != end || number > INT32_MAX)
		return false;
	*ret_number = number;
	return true;
}

static bool interrupts_take_device(struct interrupt *interrupt, const char *at, size_t size)
{
	if (!size || size >= sizeof(interrupt->device))
		return false;
	memcpy(interrupt->device, at, size);
	interrupt->device[size] = 0;
	return true;
}

/* Parses mlx5: "mlx5_comp3@pci:0000:81:00.0". */
static bool parse_by_address(const char *name, struct interrupt *interrupt)
{
	static const char address[] = "@pci:";
	const char *at = strstr(name, address), *digits = at;
	const char *comp = strstr(name, "_comp");

	if (!at || !comp || comp > at)
		return false;
	while (isdigit((unsigned char)digits[-1]))
		digits--;
	interrupt->sends = interrupt->receives = true;
	return digits == comp + strlen("_comp") &&
	       interrupts_take_number(digits, at, &interrupt->queue) &&
	       interrupts_take_device(interrupt, at + strlen(address),
				      strlen(at) - strlen(address));
}

static const char *find_last(const char *text, const char *part)
{
	const char *last = NULL;

	for (const char *at = text; *at; at++)
		if (strncasecmp(at, part, strlen(part)) == 0)
			last = at;
	return last;
}

bool interrupts_parse_name(const char *name, struct interrupt *ret_interrupt)
{
	const char *device = name;

	*ret_interrupt = (struct interrupt){ .queue = 0 };
	if (parse_by_address(name, ret_interrupt))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++)
		if (strncmp(name, drivers[i], strlen(drivers[i])) == 0)
			device = name + strlen(drivers[i]);
	for (size_t i = 0; i < ARRAY_SIZE(separators); i++) {
		const char *at = find_last(device, separators[i].text);

		if (!at)
			continue;
		ret_interrupt->sends = separators[i].sends;
		ret_interrupt->receives = separators[i].receives;
		return interrupts_take_number(at + strlen(separators[i].text), name + strlen(name),
					      &ret_interrupt->queue) &&
		       interrupts_take_device(ret_interrupt, device, at - device);
	}
	return false;
}

/*
 * Reads the CPU of an interrupt, such as "39". Older kernels only state where the interrupt may go.
 * If that is several CPUs, such as "0-3,8", the CPU of the interrupt is unknown.
 */
static bool interrupts_read_cpu(const char *root, uint32_t number, uint32_t *ret_cpu)
{
	static const char *const files[] = { "effective_affinity_list", "smp_affinity_list" };
	char path[PATH_MAX];
	int64_t cpu;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "%s/proc/irq/%u/%s", root, number, files[i]);
		if (source_number(path, &cpu) == 0 && cpu <= INT32_MAX) {
			*ret_cpu = cpu;
			return true;
		}
	}
	return false;
}

/*
 * Parses "  28:  0 17  PCI-MSIX-0000:00:05.0  0-edge  eth0-Tx-Rx-0". The last word is the name that
 * the driver chose for the interrupt.
 */
static bool interrupts_parse_line(struct words line, struct interrupt *ret_interrupt)
{
	struct words first, word, last = { NULL, NULL };
	uint32_t number;
	char name[64];

	if (!words_next(&line, &first) || first.end[-1] != ':' ||
	    !interrupts_take_number(first.at, first.end - 1, &number))
		return false;
	while (words_next(&line, &word))
		last = word;
	if (!last.at || (size_t)(last.end - last.at) >= sizeof(name))
		return false;
	memcpy(name, last.at, last.end - last.at);
	name[last.end - last.at] = 0;
	if (!interrupts_parse_name(name, ret_interrupt))
		return false;
	ret_interrupt->number = number;
	return true;
}

/*
 * Reads the address of an interface's device, which is the last part of its link,
 * "../../../0000:00:05.0". The address is "" without a link.
 */
static void read_address(const char *root, const char *ifname, char address[32])
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *last;
	ssize_t size = -1;

	*address = 0;
	if (snprintf(path, sizeof(path), "%s/sys/class/net/%s/device", root, ifname) <
	    (int)sizeof(path))
		size = readlink(path, target, sizeof(target) - 1);
	if (size <= 0)
		return;
	target[size] = 0;
	last = strrchr(target, '/');
	last = last ? last + 1 : target;
	if (strlen(last) < 32)
		strcpy(address, last);
}

/*
 * Finds the interface of a device. If a device has several, the owner of the queue is unknown, and
 * the interface is "".
 */
static void read_ifname(const char *root, const char *device, char ifname[32])
{
	char path[PATH_MAX], address[32];
	struct dirent *entry;
	size_t found = 0;
	DIR *folder = NULL;

	if (snprintf(path, sizeof(path), "%s/sys/class/net", root) < (int)sizeof(path))
		folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		read_address(root, entry->d_name, address);
		if (strcmp(address, device) != 0 || strlen(entry->d_name) >= 32 || found++)
			continue;
		strcpy(ifname, entry->d_name);
	}
	if (found > 1)
		*ifname = 0;
	if (folder)
		closedir(folder);
}

/*
 * Sets the interface and the address of each queue, because messages use either. The interrupts of
 * a device are consecutive.
 */
static void name_device(const char *root, const struct interrupt *before,
			struct interrupt *interrupt)
{
	if (before && strcmp(before->device, interrupt->device) == 0) {
		memcpy(interrupt->ifname, before->ifname, sizeof(interrupt->ifname));
		memcpy(interrupt->address, before->address, sizeof(interrupt->address));
		return;
	}
	read_address(root, interrupt->device, interrupt->address);
	if (*interrupt->address) {
		memcpy(interrupt->ifname, interrupt->device, sizeof(interrupt->ifname));
		return;
	}
	read_ifname(root, interrupt->device, interrupt->ifname);
	if (*interrupt->ifname || strchr(interrupt->device, ':'))
		memcpy(interrupt->address, interrupt->device, sizeof(interrupt->address));
	else
		memcpy(interrupt->ifname, interrupt->device, sizeof(interrupt->ifname));
}

static int add_interrupt(const char *root, struct interrupts *interrupts,
			 struct interrupt *interrupt)
{
	size_t count = interrupts->list.count;

	if (!interrupts_read_cpu(root, interrupt->number, &interrupt->cpu))
		return 0;
	name_device(root, count ? &interrupts->list.items[count - 1] : NULL, interrupt);
	return array_push(&interrupts->list, *interrupt);
}

int interrupts_read(const char *root, struct interrupts *ret_interrupts)
{
	struct interrupt interrupt;
	_cleanup_(source_file_done) struct source_file file = { 0 };
	struct words text, line;
	int r;

	*ret_interrupts = (struct interrupts){ { 0 } };
	source_file_init(&file, root, "/proc/interrupts");
	r = source_file_read(&file, LIMIT);
	text = r == 0 ? (struct words){ file.text, file.text + file.size } : (struct words){ 0 };
	while (r == 0 && words_line(&text, &line))
		if (interrupts_parse_line(line, &interrupt))
			r = add_interrupt(root, ret_interrupts, &interrupt);
	if (r < 0)
		interrupts_done(ret_interrupts);
	return r;
}

bool interrupts_find(const struct interrupts *interrupts, const char *device, uint64_t queue,
		     uint32_t *ret_cpu)
{
	for (size_t i = 0; i < interrupts->list.count; i++) {
		const struct interrupt *interrupt = &interrupts->list.items[i];

		if (interrupt->sends && interrupt->queue == queue &&
		    (strcmp(interrupt->ifname, device) == 0 ||
		     strcmp(interrupt->address, device) == 0)) {
			*ret_cpu = interrupt->cpu;
			return true;
		}
	}
	return false;
}
