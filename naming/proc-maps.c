// SPDX-License-Identifier: GPL-2.0-only
#include "naming/proc-maps.h"

#include <string.h>
#include <sys/sysmacros.h>

/* Reads a number and the letter behind it. Returns the place behind both, or NULL. */
static char *proc_maps_take_number(char *at, unsigned int base, char end, uint64_t *ret_number)
{
	uint64_t number = 0;
	const char *begin = at;

	for (; at && at - begin < 20; at++) {
		unsigned int digit = *at >= '0' && *at <= '9'	? *at - '0'
				     : *at >= 'a' && *at <= 'f' ? *at - 'a' + 10
								: 16;

		if (digit >= base)
			break;
		number = number * base + digit;
	}
	if (!at || at == begin || *at != end)
		return NULL;
	*ret_number = number;
	return at + 1;
}

static bool proc_maps_parse(char *line, struct proc_map *map)
{
	uint64_t major = 0, minor = 0;
	char *at = proc_maps_take_number(line, 16, '-', &map->start);

	at = at ? proc_maps_take_number(at, 16, ' ', &map->end) : NULL;
	if (!at || map->end <= map->start || strcspn(at, " ") != 4)
		return false;
	map->executable = at[2] == 'x';
	if (at[4] != ' ')
		return false;
	at = proc_maps_take_number(at + 5, 16, ' ', &map->offset);
	at = at ? proc_maps_take_number(at, 16, ':', &major) : NULL;
	at = at ? proc_maps_take_number(at, 16, ' ', &minor) : NULL;
	if (!at)
		return false;
	map->device = makedev(major, minor);
	/* a blank is behind the inode, also without a path */
	at = proc_maps_take_number(at, 10, ' ', &map->inode);
	if (!at)
		return false;
	map->path = at + strspn(at, " ");
	return true;
}

bool proc_maps_next(char **rest, struct proc_map *ret_map)
{
	char *line;

	while ((line = strsep(rest, "\n"))) {
		struct proc_map map;

		if (!proc_maps_parse(line, &map))
			continue;
		*ret_map = map;
		return true;
	}
	return false;
}
