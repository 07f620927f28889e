// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/logs/split-message.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"

/* A stamp of the kernel or its name stands within this part of a line. */
#define HEAD_BYTES 512

/* Returns whether a line may be the kernel's: it has "kernel:" or a number with a fraction in [].
 */
static bool split_message_may_be_kernel(const char *line, size_t size)
{
	const char *end = line + MIN(size, (size_t)HEAD_BYTES), *at = line;

	while (at < end && (at = memchr(at, '[', end - at))) {
		for (at++; at < end && (isdigit((unsigned char)*at) || *at == ' ');)
			at++;
		if (at < end && *at == '.')
			return true;
	}
	return memmem(line, end - line, "kernel:", strlen("kernel:"));
}

/* Returns whether the line has a stamp that tells two messages of the kernel apart. */
static bool split_message_is_fine(const struct log_prefix *prefix)
{
	if (prefix->writer &&
	    (prefix->writer_size != 6 || memcmp(prefix->writer, "kernel", 6) != 0))
		return false;
	return prefix->uptime_quality == UPTIME_PRINTK ||
	       (prefix->writer && prefix->wall.stamp.fraction_ns);
}

/*
 * Returns whether a message may have the path of a file, which may contain newlines. A quotation
 * mark between letters is that of "hasn't".
 */
static bool split_message_may_name_file(const struct log_prefix *prefix)
{
	const char *text = prefix->text;

	if (memmem(text, prefix->size, " /", 2))
		return true;
	for (size_t i = 0; i < prefix->size; i++)
		if (text[i] && strchr("'\"`", text[i]) &&
		    !(i && i + 1 < prefix->size && isalpha((unsigned char)text[i - 1]) &&
		      isalpha((unsigned char)text[i + 1])))
			return true;
	return false;
}

static bool split_message_take_line(struct split_message *split, const char *line, size_t size)
{
	_cleanup_(log_prefix_done) struct log_prefix prefix = { 0 };

	if (!split_message_may_be_kernel(line, size))
		return false;
	log_prefix_init(&prefix);
	log_prefix_read(&prefix, line, size);
	if (!split_message_is_fine(&prefix))
		return false;
	split_message_take(split, &prefix, false);
	return true;
}

void split_message_pass(struct split_message *split, const char *text, size_t size)
{
	while (size) {
		const char *newline = memrchr(text, '\n', size - 1);
		size_t at = newline ? newline + 1 - text : 0;

		if (split_message_take_line(split, text + at, size - at - (text[size - 1] == '\n')))
			return;
		size = at;
	}
}

static bool split_message_is_same_wall(const struct stamp *a, const struct stamp *b)
{
	return a->fraction_ns == b->fraction_ns && a->second == b->second &&
	       a->minute == b->minute && a->hour == b->hour && a->day == b->day &&
	       a->month == b->month && a->realtime_ns == b->realtime_ns;
}

bool split_message_continues(const struct split_message *split, const struct log_prefix *prefix)
{
	if (!split->is_known || split->is_own || !split_message_is_fine(prefix) ||
	    split->uptime_quality != prefix->uptime_quality)
		return false;
	if (prefix->uptime_quality == UPTIME_PRINTK)
		return split->uptime_ns == prefix->uptime_ns;
	return split_message_is_same_wall(&split->wall, &prefix->wall.stamp);
}

void split_message_take(struct split_message *split, const struct log_prefix *prefix, bool is_own)
{
	if (!split_message_is_fine(prefix))
		return;
	*split = (struct split_message){
		.is_known = true,
		.is_own = is_own && !split_message_may_name_file(prefix),
		.uptime_quality = prefix->uptime_quality,
		.uptime_ns = prefix->uptime_ns,
		.wall = prefix->wall.stamp,
	};
}
