// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/logs/split-message.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* A stamp of the kernel or its name stands within this part of a line. */
#define HEAD_BYTES 512
#define SECONDS_PER_DAY 86400

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

static bool split_message_is_kernel(const struct log_prefix *prefix)
{
	return !prefix->writer ||
	       (prefix->writer_size == 6 && memcmp(prefix->writer, "kernel", 6) == 0);
}

/* Returns whether the line has a stamp that tells two messages of the kernel apart. */
static bool split_message_is_fine(const struct log_prefix *prefix)
{
	if (!split_message_is_kernel(prefix))
		return false;
	return prefix->uptime_quality == UPTIME_PRINTK ||
	       (prefix->writer && prefix->wall.stamp.fraction_ns);
}

/*
 * Returns whether a logger that splits messages may have written the line. dmesg names no writer
 * beside a stamp, and indents the later lines of a message.
 */
static bool split_message_may_be_split(const struct log_prefix *prefix)
{
	return split_message_is_kernel(prefix) &&
	       (prefix->writer || prefix->uptime_quality == UPTIME_PRINTK);
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

static int64_t split_message_second(const struct stamp *stamp)
{
	if (stamp->epoch)
		return stamp->realtime_ns / NSEC_PER_SEC;
	return (stamp->hour * 60 + stamp->minute) * 60 + stamp->second;
}

/* Returns whether two stamps are at most a second apart. Midnight may lie between them. */
static bool split_message_is_near(const struct stamp *a, const struct stamp *b)
{
	int64_t apart = llabs(split_message_second(a) - split_message_second(b));

	if (a->epoch != b->epoch)
		return true;
	return apart <= 1 ? a->day == b->day : !a->epoch && apart == SECONDS_PER_DAY - 1;
}

/* Returns whether a logger or a shipper wrote a bare line to announce those below it. */
static bool split_message_is_heading(const struct split_message *split,
				     const struct log_prefix *prefix)
{
	struct text_cursor cursor = { prefix->text, prefix->text + prefix->size };

	if (take_text(&cursor, "-- ") || take_text(&cursor, "Message from syslogd@"))
		return true;
	/* the names of columns */
	return !split->has_line && memchr(prefix->text, ',', prefix->size) &&
	       !memchr(prefix->text, ' ', prefix->size);
}

/* Notes what a line is for the next line. */
static void split_message_note(struct split_message *split, const struct log_prefix *prefix,
			       bool is_own)
{
	split->before = SPLIT_BEFORE_OTHER;
	if (is_own)
		split->before = SPLIT_BEFORE_END;
	else if (log_prefix_is_bare(prefix) && split_message_is_heading(split, prefix))
		split->before = SPLIT_BEFORE_END;
	else if (log_prefix_is_bare(prefix))
		split->before = SPLIT_BEFORE_BARE;
	split->has_line |= is_own || !split_message_is_heading(split, prefix);
}

static int split_message_note_line(struct split_message *split, const char *line, size_t size)
{
	_cleanup_(log_prefix_done) struct log_prefix prefix = { 0 };

	log_prefix_init(&prefix);
	log_prefix_read(&prefix, line, size);
	if (buffer_failed(&prefix.scratch))
		return -ENOMEM;
	split_message_note(split, &prefix, false);
	return 0;
}

/* Reads a line of the kernel. Returns 1; 0 for other lines; or -ENOMEM. */
static int split_message_read(const char *line, size_t size, struct split_message *ret_line)
{
	_cleanup_(log_prefix_done) struct log_prefix prefix = { 0 };

	if (!split_message_may_be_kernel(line, size))
		return 0;
	log_prefix_init(&prefix);
	log_prefix_read(&prefix, line, size);
	if (buffer_failed(&prefix.scratch))
		return -ENOMEM;
	if (!split_message_may_be_split(&prefix))
		return 0;
	split_message_take(ret_line, &prefix, false);
	return 1;
}

static bool split_message_is_stamped(const struct split_message *line)
{
	return line->uptime_quality == UPTIME_PRINTK;
}

/* Returns whether two lines of the kernel may be of the same second. */
static bool split_message_are_near(const struct split_message *a, const struct split_message *b)
{
	if (!a->has_wall && !b->has_wall && split_message_is_stamped(a) &&
	    split_message_is_stamped(b))
		return llabs((int64_t)(a->uptime_ns - b->uptime_ns)) <= NSEC_PER_SEC;
	return !a->has_wall || !b->has_wall || split_message_is_near(&a->wall, &b->wall);
}

/* Returns where the last line of the text begins. */
static size_t split_message_line_start(const char *text, size_t size)
{
	const char *newline = memrchr(text, '\n', size - 1);

	return newline ? newline + 1 - text : 0;
}

/*
 * Returns 1 if the stamp of a line may be one that a user chose, because a line of the same second
 * has none; 0 if not; or -ENOMEM. Reads the lines before it backwards.
 */
static int split_message_may_be_chosen(const struct split_message *split,
				       const struct split_message *last, const char *text,
				       size_t size)
{
	struct split_message line = { 0 };

	if (!split_message_is_stamped(last) || !last->has_wall)
		return 0;
	while (size) {
		size_t at = split_message_line_start(text, size);
		int r = split_message_read(text + at, size - at - 1, &line);

		if (r < 0)
			return r;
		if (r > 0 && !split_message_are_near(last, &line))
			return 0;
		if (r > 0 && !split_message_is_stamped(&line))
			return 1;
		size = at;
	}
	return split->is_known && !split->is_own && split_message_are_near(last, split) &&
	       (split->is_doubtful || !split_message_is_stamped(split));
}

int split_message_pass(struct split_message *split, const char *text, size_t size)
{
	struct split_message last = { 0 };
	bool is_last = true;
	int r;

	while (size) {
		size_t at = split_message_line_start(text, size);
		size_t line_size = size - at - (text[size - 1] == '\n');

		r = is_last && line_size ? split_message_note_line(split, text + at, line_size) : 0;
		if (r < 0)
			return r;
		is_last &= !line_size;
		r = split_message_read(text + at, line_size, &last);
		if (r > 0)
			break;
		if (r < 0)
			return r;
		size = at;
	}
	if (!size)
		return 0;
	size = split_message_line_start(text, size);
	r = split_message_may_be_chosen(split, &last, text, size);
	if (r < 0)
		return r;
	last.is_doubtful = r;
	last.before = split->before;
	last.has_line = true;
	*split = last;
	return 0;
}

static bool split_message_is_same_wall(const struct stamp *a, const struct stamp *b)
{
	return a->fraction_ns == b->fraction_ns && a->second == b->second &&
	       a->minute == b->minute && a->hour == b->hour && a->day == b->day &&
	       a->month == b->month && a->realtime_ns == b->realtime_ns;
}

void split_message_begin(struct split_message *split)
{
	split->before = SPLIT_BEFORE_END;
}

bool split_message_continues(const struct split_message *split, const struct log_prefix *prefix)
{
	if (!split->is_known || split->is_own || !split_message_is_fine(prefix) ||
	    split->uptime_quality != prefix->uptime_quality)
		return false;
	if (prefix->uptime_quality == UPTIME_PRINTK)
		return split->uptime_ns == prefix->uptime_ns;
	return split->wall.fraction_ns &&
	       split_message_is_same_wall(&split->wall, &prefix->wall.stamp);
}

bool split_message_is_doubtful(const struct split_message *split, const struct log_prefix *prefix)
{
	struct split_message line = { 0 };

	if (split->before == SPLIT_BEFORE_BARE)
		return true;
	if (log_prefix_is_bare(prefix))
		return split->has_line && split->before != SPLIT_BEFORE_END;
	if (!split->is_known || split->is_own || !split_message_may_be_split(prefix))
		return false;
	split_message_take(&line, prefix, false);
	if (!split_message_are_near(split, &line))
		return false;
	return split->is_doubtful || !split_message_is_stamped(split) ||
	       !split_message_is_stamped(&line);
}

void split_message_take(struct split_message *split, const struct log_prefix *prefix, bool is_own)
{
	split_message_note(split, prefix, is_own);
	if (!split_message_may_be_split(prefix))
		return;
	*split = (struct split_message){
		.has_line = true,
		.before = split->before,
		.is_known = true,
		.is_own = is_own && !prefix->doubtful && !split_message_may_name_file(prefix),
		.is_doubtful = prefix->doubtful,
		.uptime_quality = prefix->uptime_quality,
		.uptime_ns = prefix->uptime_ns,
		.has_wall = prefix->wall.quality != WALL_NONE,
		.wall = prefix->wall.stamp,
	};
}
