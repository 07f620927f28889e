// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/heading.h"

#include <ctype.h>

#include "base/cleanup.h"
#include "incidents/kmsg.h"

#define LAYERS_MAX 16
#define HOST_WORDS_MAX 6
#define RESYNC_BYTES 200 /* how far into a line with a foreign beginning its stamp is looked for */

void heading_init(struct heading *heading)
{
	*heading = (struct heading){ .facility = -1, .level = -1 };
}

void heading_done(struct heading *heading)
{
	buffer_done(&heading->scratch);
}

void heading_offer_wall(
	struct heading *heading, const struct stamp *stamp, enum wall_quality quality)
{
	struct wall wall = { .quality = quality, .stamp = *stamp };

	if (quality == WALL_SHIPPER && !heading->shipper.quality)
		heading->shipper = wall;
	if (quality > heading->wall.quality)
		heading->wall = wall;
}

static void offer_uptime(struct heading *heading, uint64_t uptime_ns)
{
	if (heading->uptime_quality == UPTIME_PRINTK)
		return;
	heading->uptime_quality = UPTIME_PRINTK;
	heading->uptime_ns = uptime_ns;
}

static void offer_priority(struct heading *heading, unsigned int priority)
{
	if (heading->facility >= 0)
		return;
	heading->facility = priority >> 3;
	heading->level = priority & 7;
}

static void set_writer(struct heading *heading, const char *writer, size_t size)
{
	heading->writer = writer;
	heading->writer_size = size;
}

static bool is_kernel(const char *writer, size_t size)
{
	return size == 6 && !memcmp(writer, "kernel", 6);
}

/* 12345.678901 */
static bool take_uptime(struct cursor *cursor, uint64_t *ret_ns)
{
	struct cursor at = *cursor;
	uint64_t seconds, unit;
	uint32_t fraction;

	if (!take_number(&at, 1, 9, &seconds) || !take_char(&at, '.') ||
		!take_fraction(&at, &fraction, &unit) || unit > 1000000)
		return false;
	*ret_ns = seconds * 1000000000 + fraction;
	*cursor = at;
	return true;
}

/* "<    0.004711>" */
static bool take_delta(struct cursor *cursor, uint64_t *ret_ns)
{
	struct cursor at = *cursor;

	take_blanks(&at);
	if (!take_char(&at, '<'))
		return false;
	take_blanks(&at);
	if (!take_uptime(&at, ret_ns) || !take_char(&at, '>'))
		return false;
	*cursor = at;
	return true;
}

/* What is between the brackets of "[  123.456789 <    0.004711>] ", "[  +0.005115] ", "[    T123] " and the like. */
static bool take_bracketed(struct heading *heading, struct cursor *cursor)
{
	struct stamp stamp;
	uint64_t ns, number;

	take_blanks(cursor);
	if (take_char(cursor, '+')) {
		if (!take_uptime(cursor, &ns))
			return false;
		heading->has_delta = true;
		heading->delta_ns = ns;
		return true;
	}
	if (take_delta(cursor, &ns))
		return true;
	if (take_uptime(cursor, &ns)) {
		offer_uptime(heading, ns);
		if (take_char(cursor, ','))
			take_number(cursor, 1, 4, &number);
		take_delta(cursor, &ns);
		return true;
	}
	if (take_char(cursor, 'T') || take_char(cursor, 'C'))
		return take_number(cursor, 1, 9, &number);
	if (stamp_take(cursor, &stamp)) {
		heading_offer_wall(heading, &stamp, stamp.year ? WALL_DATED : WALL_TRADITIONAL);
		take_delta(cursor, &ns);
		return true;
	}
	if (stamp_take_minute(cursor, &stamp)) {
		heading_offer_wall(heading, &stamp, WALL_MINUTE);
		return true;
	}
	return take_text(cursor, "...");
}

static bool valid_writer(const char *at, size_t size)
{
	if (!size)
		return false;
	for (size_t i = 0; i < size; i++)
		if (!isalnum((unsigned char)at[i]) && !strchr("_.-/@()", at[i]))
			return false;
	return true;
}

/* A word such as "kernel:", "systemd[1]:", "kernel:[75215.9...": where it ends, or NULL */
static const char *tag_end(const char *at, const char *end, size_t *ret_size, bool *ret_sure)
{
	const char *colon = at, *bracket = NULL;

	while (colon < end && *colon != ':' && !isblank((unsigned char)*colon)) {
		if (*colon == '[' && !bracket)
			bracket = colon;
		colon++;
	}
	if (colon == end || *colon != ':' ||
		(colon + 1 < end && colon[1] != ' ' && colon[1] != '\t' && colon[1] != '['))
		return NULL;
	*ret_size = (bracket ? bracket : colon) - at;
	*ret_sure = bracket ? colon[-1] == ']' : is_kernel(at, *ret_size);
	return valid_writer(at, *ret_size) ? colon + 1 : NULL;
}

static struct cursor next_word(struct cursor cursor)
{
	while (cursor.at < cursor.end && !isblank((unsigned char)*cursor.at))
		cursor.at++;
	take_blanks(&cursor);
	return cursor;
}

/* "kern.info", before the tag */
static void look_for_priority(struct heading *heading, struct cursor cursor)
{
	if (take_text(&cursor, "kern.") && heading->facility < 0)
		heading->facility = 0;
	else if ((take_text(&cursor, "user.") || take_text(&cursor, "daemon.")) &&
		 heading->facility < 0)
		heading->facility = 1;
}

/*
 * "HOST kernel:", "HOST LEVEL kernel:", "systemd[1]:" and so on. `loose` takes a word without a process id for a program too, where a
 * logger would have put it: as the first word or the second.
 */
static bool take_tag(struct heading *heading, struct cursor *cursor, bool loose)
{
	struct cursor at = *cursor;
	int words = loose ? HOST_WORDS_MAX : 2;

	for (int i = 0; i < words && at.at < at.end; i++, at = next_word(at)) {
		size_t size;
		bool sure;
		const char *after = tag_end(at.at, at.end, &size, &sure);

		look_for_priority(heading, at);
		if (!after || !(sure || (loose && i < 2)))
			continue;
		set_writer(heading, at.at, size);
		heading->loose = sure ? NULL : at.at;
		cursor->at = after;
		return true;
	}
	return false;
}

/*
 * Whether the first word is the name of a stream, which another stamp follows: then the one before it is a shipper's. A host's name
 * before the kernel's stamp is skipped.
 */
static bool take_name(struct heading *heading, struct cursor *cursor, const struct stamp *outer)
{
	struct cursor at = next_word(*cursor), inner = at;
	struct stamp stamp;
	uint64_t uptime, number;

	if (at.at == at.end || cursor_is(cursor, '[') || cursor_is(cursor, '{'))
		return false;
	if (stamp_take(&inner, &stamp)) {
		heading_offer_wall(heading, outer, WALL_SHIPPER);
		*cursor = at;
		return true;
	}
	if (take_number(&inner, 1, 4, &number) && take_char(&inner, ',') &&
		take_number(&inner, 1, 19, &number) && take_char(&inner, ',')) {
		*cursor = at; /* netconsole by way of syslog */
	} else if (take_char(&inner, '[')) {
		take_blanks(&inner);
		if (take_uptime(&inner, &uptime))
			*cursor = at;
	}
	return false;
}

/* "{job="x", host="y"} ", the labels of Loki; those that other { begin are JSON */
static bool take_labels(struct cursor *cursor)
{
	struct cursor at = *cursor;
	bool quoted = false;

	if (!take_char(&at, '{') || cursor_is(&at, '"') || cursor_is(&at, ' '))
		return false;
	for (; at.at < at.end && (quoted || *at.at != '}'); at.at++) {
		if (*at.at == '\\' && quoted && at.at + 1 < at.end)
			at.at++;
		else if (*at.at == '"')
			quoted = !quoted;
	}
	if (!take_char(&at, '}'))
		return false;
	*cursor = at;
	return true;
}

/* What container runtimes put behind their stamp. */
static bool take_stream(struct cursor *cursor)
{
	struct cursor at = *cursor;

	if (!take_text(&at, "stdout ") && !take_text(&at, "stderr "))
		return false;
	if (!take_text(&at, "F ") && !take_text(&at, "P "))
		return false;
	*cursor = at;
	return true;
}

/* The quoted field of a CSV file: what is between the quotes. */
static void take_quoted(struct heading *heading, struct cursor *cursor)
{
	char *copy = (char *)buffer_room(&heading->scratch, cursor_left(cursor));
	size_t size = 0;

	if (!copy)
		return;
	for (cursor->at++; cursor->at < cursor->end; cursor->at++) {
		if (*cursor->at == '"' && !(cursor_left(cursor) > 1 && cursor->at[1] == '"'))
			break;
		cursor->at += *cursor->at == '"';
		copy[size++] = *cursor->at;
	}
	heading->scratch.size += size;
	*cursor = (struct cursor){ copy, copy + size };
}

static void take_behind_stamp(struct heading *heading, struct cursor *cursor, struct stamp *stamp)
{
	bool shipped = cursor_is(cursor, ',') || cursor_is(cursor, '\t');
	struct cursor at;

	if (shipped)
		cursor->at++;
	take_blanks(cursor);
	at = *cursor;
	shipped = shipped || take_labels(&at) || take_stream(&at);
	if (shipped) {
		cursor->at = at.at > cursor->at ? at.at : cursor->at;
		heading_offer_wall(heading, stamp, WALL_SHIPPER);
		take_blanks(cursor);
		if (cursor_is(cursor, '"'))
			take_quoted(heading, cursor);
		return;
	}
	at = *cursor;
	if (take_name(heading, cursor, stamp))
		return;
	heading_offer_wall(
		heading, stamp, stamp->year || stamp->epoch ? WALL_DATED : WALL_TRADITIONAL);
	/* dmesg puts no host and no tag */
	if (!stamp->comma && !heading->writer && at.at == cursor->at)
		take_tag(heading, cursor, true);
}

static bool take_stamp(struct heading *heading, struct cursor *cursor)
{
	struct stamp stamp;

	if (!stamp_take(cursor, &stamp))
		return false;
	take_behind_stamp(heading, cursor, &stamp);
	return true;
}

static bool take_brackets(struct heading *heading, struct cursor *cursor)
{
	struct cursor at = *cursor;

	if (!take_char(&at, '[') || !take_bracketed(heading, &at) || !take_char(&at, ']'))
		return false;
	take_char(&at, ':');
	take_blanks(&at);
	if (!heading->writer)
		take_tag(heading, &at, false);
	*cursor = at;
	return true;
}

/* A bracket that was cut off at its left: "1003.011834] " */
static bool take_half_bracket(struct heading *heading, struct cursor *cursor)
{
	struct cursor at = *cursor;
	uint64_t uptime;

	if (!take_uptime(&at, &uptime) || !take_char(&at, ']'))
		return false;
	offer_uptime(heading, uptime);
	*cursor = at;
	return true;
}

/* RFC 5424 behind its version: "2025-03-12T07:41:09.341207Z HOST APP PID ID [DATA] " */
static bool take_5424(struct heading *heading, struct cursor *cursor)
{
	struct cursor at = *cursor, app;
	struct stamp stamp;

	if (!take_text(&at, "1 ") || !(stamp_take(&at, &stamp) && stamp.year))
		return false;
	take_blanks(&at);
	app = next_word(at);
	at = next_word(next_word(next_word(app)));
	if (at.at == at.end)
		return false;
	if (!take_text(&at, "- "))
		while (take_char(&at, '[')) {
			const char *end = memchr(at.at, ']', cursor_left(&at));

			at.at = end ? end + 1 : at.end;
		}
	take_blanks(&at);
	take_text(&at, "\xef\xbb\xbf");
	heading_offer_wall(heading, &stamp, WALL_DATED);
	set_writer(heading, app.at, strcspn(app.at, " "));
	*cursor = at;
	return true;
}

/* "<3>" */
static bool take_pri(struct heading *heading, struct cursor *cursor)
{
	struct cursor at = *cursor;
	uint64_t priority;

	if (!take_char(&at, '<') || !take_number(&at, 1, 3, &priority) || !take_char(&at, '>'))
		return false;
	offer_priority(heading, priority);
	*cursor = at;
	take_5424(heading, cursor);
	return true;
}

/* "kern  :err   : " of dmesg --decode */
static bool take_decoded(struct heading *heading, struct cursor *cursor)
{
	static const char *const facilities[] = { "kern", "user", "mail", "daemon", "auth",
		"syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp", "local0", "local1",
		"local2", "local3", "local4", "local5", "local6", "local7" };
	static const char *const levels[] = { "emerg", "alert", "crit", "err", "warn", "notice",
		"info", "debug" };

	for (size_t i = 0; i < ARRAY_SIZE(facilities); i++) {
		struct cursor at = *cursor;

		if (!take_text(&at, facilities[i]))
			continue;
		take_blanks(&at);
		if (!take_char(&at, ':'))
			continue;
		for (size_t level = 0; level < ARRAY_SIZE(levels); level++) {
			struct cursor after = at;

			if (!take_text(&after, levels[level]))
				continue;
			take_blanks(&after);
			if (!take_char(&after, ':'))
				continue;
			offer_priority(heading, i << 3 | level);
			*cursor = after;
			return true;
		}
	}
	return false;
}

/* A record of /dev/kmsg or of extended netconsole, which may put the kernel's release first. */
static bool take_kmsg(struct heading *heading, struct cursor *cursor)
{
	struct cursor at = *cursor;
	struct kmsg_record record;
	const char *device;
	size_t size;

	for (int release = 0;; release++) {
		if (kmsg_parse(at.at, cursor_left(&at), &heading->scratch, &record) == 0)
			break;
		while (at.at < at.end && !strchr(", ;", *at.at))
			at.at++;
		if (release || !take_char(&at, ','))
			return false;
	}
	offer_uptime(heading, record.stamp_ns);
	offer_priority(heading, record.facility << 3 | record.level);
	device = kmsg_value(&record, "DEVICE", &size);
	if (device && size > 5 && size - 5 < sizeof(heading->device) && !memcmp(device, "+pci:", 5))
		memcpy(heading->device, device + 5, size - 5);
	*cursor = (struct cursor){ record.text, record.text + record.text_size };
	return true;
}

static bool take_other(struct heading *heading, struct cursor *cursor)
{
	struct cursor at = *cursor;
	uint64_t number;

	if (take_char(cursor, '\x1e') || take_text(cursor, "\xef\xbb\xbf") ||
		take_text(cursor, "data: "))
		return true;
	/* aws logs get-log-events --output text */
	if (take_text(&at, "EVENTS\t") && take_number(&at, 13, 13, &number) &&
		take_char(&at, '\t')) {
		struct stamp stamp;

		if (stamp_from_number(at.at - 14, 13, &stamp))
			heading_offer_wall(heading, &stamp, WALL_SHIPPER);
		*cursor = at;
		return true;
	}
	return false;
}

/* A message whose writer is known begins right behind it, but for the kernel's own stamps. */
static bool take_layer(struct heading *heading, struct cursor *cursor)
{
	take_blanks(cursor);
	if (cursor->at == cursor->end || *cursor->at == '{')
		return false;
	if (*cursor->at == '[')
		return take_brackets(heading, cursor);
	if (heading->writer)
		return false;
	if (take_pri(heading, cursor))
		return true;
	if (isdigit((unsigned char)*cursor->at) &&
		(take_kmsg(heading, cursor) || take_half_bracket(heading, cursor)))
		return true;
	return take_decoded(heading, cursor) || take_stamp(heading, cursor) ||
	       take_other(heading, cursor) || take_tag(heading, cursor, false);
}

/* Colours, which terminals are sent and logs keep. */
static void drop_colours(struct heading *heading, struct cursor *cursor)
{
	const char *escape = memchr(cursor->at, '\x1b', cursor_left(cursor)), *from = cursor->at;
	char *copy = escape ? (char *)buffer_room(&heading->scratch, cursor_left(cursor)) : NULL;
	size_t size = 0;

	if (!copy)
		return;
	while (from < cursor->end) {
		if (*from != '\x1b') {
			copy[size++] = *from++;
			continue;
		}
		from++;
		if (from < cursor->end && *from == '[')
			from++;
		while (from < cursor->end && !isalpha((unsigned char)*from) && *from > ' ')
			from++;
		from += from < cursor->end && *from != ' ';
	}
	heading->scratch.size += size;
	*cursor = (struct cursor){ copy, copy + size };
}

/* rsyslog's #012 for a byte of a message */
static void drop_octal(struct heading *heading)
{
	char *copy;
	size_t size = 0;

	if (!memmem(heading->text, heading->size, "#0", 2))
		return;
	copy = (char *)buffer_room(&heading->scratch, heading->size);
	for (size_t i = 0; copy && i < heading->size; i++) {
		const char *at = heading->text + i;

		if (heading->size - i >= 4 && at[0] == '#' && at[1] == '0' && at[2] >= '0' &&
			at[2] <= '3' && at[3] >= '0' && at[3] <= '7') {
			copy[size++] = (at[2] - '0') << 3 | (at[3] - '0');
			i += 3;
		} else {
			copy[size++] = *at;
		}
	}
	if (!copy)
		return;
	heading->scratch.size += size;
	heading->text = copy;
	heading->size = size;
	heading->loose = NULL;
}

/* Behind something foreign, a stamp of the kernel is still one. */
static bool resync(struct cursor *cursor)
{
	const char *end = cursor->at + MIN(cursor_left(cursor), RESYNC_BYTES);

	for (const char *at = cursor->at + 1; at < end; at++) {
		struct cursor bracket = { at + 1, cursor->end };
		uint64_t uptime;

		if (*at != '[')
			continue;
		take_blanks(&bracket);
		if (!take_uptime(&bracket, &uptime) || !cursor_is(&bracket, ']'))
			continue;
		cursor->at = at;
		return true;
	}
	return false;
}

bool heading_read(struct heading *heading, const char *text, size_t size)
{
	struct cursor cursor = { text, text + size };
	bool found = false, known;

	/* so that what is put there does not move: each layer that copies makes it no longer */
	if (!buffer_room(&heading->scratch, (LAYERS_MAX + 4) * (size + 1)))
		return false;
	drop_colours(heading, &cursor);
	for (int i = 0; i < LAYERS_MAX && take_layer(heading, &cursor); i++)
		found = true;
	known = heading->writer || heading->wall.quality || heading->uptime_quality ||
		heading->shipper.quality || heading->has_delta;
	if (!known && !cursor_is(&cursor, '{') && resync(&cursor))
		for (int i = 0; i < LAYERS_MAX && take_layer(heading, &cursor); i++)
			found = true;
	if (heading->facility > 0 && heading->writer &&
		is_kernel(heading->writer, heading->writer_size))
		heading->forged = true;
	take_blanks(&cursor);
	heading->text = cursor.at;
	heading->size = cursor_left(&cursor);
	drop_octal(heading);
	return found;
}
