// SPDX-License-Identifier: GPL-2.0-only
#include "gauges/cgroup-names.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"

/* A text with fewer digits may also be a word, a date or the number of a slice. */
#define DIGITS_MIN 32

static size_t count_hex_digits(const char *text, const char *end)
{
	const char *at = text;

	while (at < end && isxdigit((unsigned char)*at))
		at++;
	return at - text;
}

/*
 * Returns the length of "8d7c2f1e-0b3a-4c5d-9e8f-001122334455", or 0. systemd's slices have
 * underscores instead of dashes.
 */
static size_t uid_length(const char *text, const char *end)
{
	static const size_t groups[] = { 8, 4, 4, 4, 12 };
	const char *at = text;

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		if (i && (at == end || (*at != '-' && *at != '_')))
			return 0;
		at += i > 0;
		if (count_hex_digits(at, end) != groups[i])
			return 0;
		at += groups[i];
	}
	return at - text;
}

static size_t number_length(const char *text, const char *end)
{
	size_t length = count_hex_digits(text, end);

	return length >= DIGITS_MIN ? length : uid_length(text, end);
}

static bool follows_pod(const char *text, const char *at)
{
	return at - text >= 3 && strncmp(at - 3, "pod", 3) == 0;
}

/*
 * Returns whether a number may begin here. The d of "pod" is a hexadecimal digit, but not part of a
 * number.
 */
static bool cgroup_names_may_begin(const char *text, const char *at)
{
	if (follows_pod(text, at + 1))
		return false;
	return at == text || !isxdigit((unsigned char)at[-1]) || follows_pod(text, at);
}

/*
 * Puts a folder's name with a star instead of each number. With keep_pods, the numbers of pods
 * stay. Returns whether it put a star.
 */
static bool put_folder(const char *text, const char *end, bool keep_pods, struct buffer *name)
{
	bool found = false;

	for (const char *at = text; at < end;) {
		size_t length = cgroup_names_may_begin(text, at) ? number_length(at, end) : 0;

		if (length && !(keep_pods && follows_pod(text, at))) {
			buffer_u8(name, '*');
			found = true;
			at += length;
		} else {
			buffer_u8(name, *at++);
		}
	}
	return found;
}

static bool cgroup_names_ends_with(const char *text, const char *end)
{
	return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

/* Returns whether the cgroup is directly in a slice of the system, and not inside a container. */
static bool is_of_system(const char *path, const char *last)
{
	static const char slice[] = "/system.slice/";
	const char *inner = strstr(path, ".service/");

	return strncmp(path, slice, strlen(slice)) == 0 && (!inner || inner >= last) &&
	       !strstr(path, ".scope/");
}

enum cgroup_kind cgroup_name(const char *path, struct buffer *name)
{
	const char *last = strrchr(path, '/');
	enum cgroup_kind kind = CGROUP_OTHER;

	name->size = 0;
	last = last ? last + 1 : path;
	if (cgroup_names_ends_with(last, ".service"))
		kind = CGROUP_UNIT;
	if (kind == CGROUP_UNIT && is_of_system(path, last)) {
		buffer_text(name, last);
	} else {
		put_folder(path + (*path == '/'), last, true, name);
		if (put_folder(last, last + strlen(last), false, name) && kind == CGROUP_OTHER)
			kind = CGROUP_CONTAINER;
	}
	buffer_u8(name, 0);
	return kind;
}

/* Puts a pod's number with dashes, although systemd's slices have underscores. */
static void put_pod(const char *number, size_t length, struct buffer *name)
{
	for (size_t i = 0; i < length; i++)
		buffer_u8(name, number[i] == '_' ? '-' : number[i]);
	buffer_u8(name, 0);
}

bool cgroup_pod(const char *path, struct buffer *name)
{
	const char *end = path + strlen(path), *container = NULL;

	name->size = 0;
	for (const char *at = path; at < end; at++) {
		size_t length = cgroup_names_may_begin(path, at) ? number_length(at, end) : 0;

		if (length && follows_pod(path, at)) {
			put_pod(at, length, name);
			return true;
		}
		if (length)
			container = at;
		at += length ? length - 1 : 0;
	}
	if (!container)
		return false;
	buffer_printf(name, "container %.12s", container);
	buffer_u8(name, 0);
	return true;
}
