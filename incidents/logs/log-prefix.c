// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/logs/log-prefix.h"

#include <ctype.h>

#include "base/cleanup.h"
#include "incidents/logs/escapes.h"
#include "incidents/logs/kmsg.h"
#include "incidents/logs/log-wrapper.h"

#define LAYERS_MAX 16
#define HOST_WORDS_MAX 6
#define TAG_MAX 80
#define FOREIGN_WORDS_MAX 4
#define RESYNC_BYTES 200 /* search this far behind an unknown prefix for a stamp */

void log_prefix_init(struct log_prefix *prefix)
{
	*prefix = (struct log_prefix){ .facility = -1, .level = -1 };
}

void log_prefix_done(struct log_prefix *prefix)
{
	buffer_done(&prefix->scratch);
}

void log_prefix_offer_wall(struct log_prefix *prefix, const struct stamp *stamp,
			   enum wall_quality quality)
{
	struct wall wall = { .quality = quality, .stamp = *stamp };

	if (quality == WALL_SHIPPER && !prefix->shipper.quality)
		prefix->shipper = wall;
	if (quality > prefix->wall.quality)
		prefix->wall = wall;
}

static void offer_uptime(struct log_prefix *prefix, uint64_t uptime_ns)
{
	if (prefix->uptime_quality == UPTIME_PRINTK)
		return;
	prefix->uptime_quality = UPTIME_PRINTK;
	prefix->uptime_ns = uptime_ns;
}

static void offer_priority(struct log_prefix *prefix, unsigned int priority)
{
	if (prefix->facility >= 0)
		return;
	prefix->facility = priority >> 3;
	prefix->level = priority & 7;
}

static void log_prefix_set_writer(struct log_prefix *prefix, const char *writer, size_t size)
{
	prefix->writer = writer;
	prefix->writer_size = size;
}

static bool is_kernel(const char *writer, size_t size)
{
	return size == 6 && !memcmp(writer, "kernel", 6);
}

/* Takes "12345.678901". */
static bool take_uptime(struct text_cursor *cursor, uint64_t *ret_ns)
{
	struct text_cursor at = *cursor;
	uint64_t seconds, unit;
	uint32_t fraction;

	if (!take_number(&at, 1, 9, &seconds) || !take_char(&at, '.') ||
	    !take_fraction(&at, &fraction, &unit) || unit > 1000000)
		return false;
	*ret_ns = seconds * 1000000000 + fraction;
	*cursor = at;
	return true;
}

/*
 * Takes "<    0.004711>". In journalctl's form, a blank or a star stands before the closing
 * bracket, and the first line has only blanks.
 */
static bool take_delta(struct text_cursor *cursor, uint64_t *ret_ns)
{
	struct text_cursor at = *cursor;

	take_blanks(&at);
	if (!take_char(&at, '<')) {
		if (text_cursor_is(&at, ']'))
			*cursor = at;
		return false;
	}
	take_blanks(&at);
	if (!take_uptime(&at, ret_ns))
		return false;
	if (!take_char(&at, ' '))
		take_char(&at, '*');
	if (!take_char(&at, '>'))
		return false;
	*cursor = at;
	return true;
}

/*
 * Takes the text between brackets: "  123.456789 <    0.004711>", "  +0.005115", "    T123" and
 * others.
 */
static bool take_bracketed(struct log_prefix *prefix, struct text_cursor *cursor)
{
	struct stamp stamp;
	uint64_t ns, number;

	take_blanks(cursor);
	if (take_char(cursor, '+')) {
		if (!take_uptime(cursor, &ns))
			return false;
		prefix->has_delta = true;
		prefix->delta_ns = ns;
		return true;
	}
	if (take_delta(cursor, &ns))
		return true;
	if (take_uptime(cursor, &ns)) {
		offer_uptime(prefix, ns);
		if (take_char(cursor, ','))
			take_number(cursor, 1, 4, &number);
		take_delta(cursor, &ns);
		return true;
	}
	/* the kernel's caller: thread T1234 or CPU C3; Tuesday and Thursday also begin with T */
	if ((text_cursor_is(cursor, 'T') || text_cursor_is(cursor, 'C')) &&
	    text_cursor_left(cursor) > 1 && isdigit((unsigned char)cursor->at[1])) {
		cursor->at++;
		return take_number(cursor, 1, 9, &number);
	}
	if (stamp_take(cursor, &stamp)) {
		log_prefix_offer_wall(prefix, &stamp, stamp.year ? WALL_DATED : WALL_TRADITIONAL);
		take_delta(cursor, &ns);
		return true;
	}
	if (stamp_take_minute(cursor, &stamp)) {
		log_prefix_offer_wall(prefix, &stamp, WALL_MINUTE);
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

/* Returns the end of a tag such as "kernel:", "systemd[1]:" or "kernel:[75215.9...", or NULL. */
static const char *tag_end(const char *at, const char *end, size_t *ret_size, bool *ret_sure)
{
	const char *colon = at, *bracket = NULL;

	while (colon < end && *colon != ':' && !isblank((unsigned char)*colon)) {
		if (*colon == '[' && !bracket)
			bracket = colon;
		colon++;
	}
	if (colon == end || *colon != ':')
		return NULL;
	*ret_size = (bracket ? bracket : colon) - at;
	*ret_sure = bracket ? colon[-1] == ']' : is_kernel(at, *ret_size);
	/* syslogd omits the blank after "kernel:" in messages to all logged-in users */
	if (colon + 1 < end && !strchr(" \t[", colon[1]) && !is_kernel(at, *ret_size))
		return NULL;
	return valid_writer(at, *ret_size) ? colon + 1 : NULL;
}

static size_t log_prefix_word_size(struct text_cursor cursor)
{
	size_t size = 0;

	while (size < text_cursor_left(&cursor) && !isblank((unsigned char)cursor.at[size]))
		size++;
	return size;
}

static struct text_cursor next_word(struct text_cursor cursor)
{
	cursor.at += log_prefix_word_size(cursor);
	take_blanks(&cursor);
	return cursor;
}

/* Takes the priority from "kern.info", which may precede the tag. */
static void take_priority_word(struct log_prefix *prefix, struct text_cursor cursor)
{
	if (take_text(&cursor, "kern.") && prefix->facility < 0)
		prefix->facility = 0;
	else if ((take_text(&cursor, "user.") || take_text(&cursor, "daemon.")) &&
		 prefix->facility < 0)
		prefix->facility = 1;
}

/*
 * Takes the words before a message, such as "HOST kernel:", "HOST LEVEL kernel:" or "systemd[1]:".
 * With `loose`, the first or second word counts as a program's name even without a process ID.
 */
static bool take_tag(struct log_prefix *prefix, struct text_cursor *cursor, bool loose)
{
	struct text_cursor at = *cursor;
	int words = loose ? HOST_WORDS_MAX : 2;

	for (int i = 0; i < words && at.at < at.end; i++, at = next_word(at)) {
		size_t size;
		bool sure;
		const char *after = tag_end(at.at, at.end, &size, &sure);

		take_priority_word(prefix, at);
		if (!after || !(sure || (loose && i < 2)))
			continue;
		log_prefix_set_writer(prefix, at.at, size);
		prefix->text_with_writer = sure ? NULL : at.at;
		prefix->text_with_host = sure ? NULL : cursor->at;
		cursor->at = after;
		return true;
	}
	return false;
}

/*
 * Takes the word between two stamps. If the second stamp is a logger's, returns true: the word is
 * then the name of a stream, and the first stamp is a shipper's. If the second stamp is the
 * kernel's, skips the word, which is a host's name.
 */
static bool take_word_before_stamp(struct log_prefix *prefix, struct text_cursor *cursor,
				   const struct stamp *outer)
{
	struct text_cursor at = next_word(*cursor), inner = at;
	struct stamp stamp;
	uint64_t uptime, number;

	if (at.at == at.end || text_cursor_is(cursor, '[') || text_cursor_is(cursor, '{'))
		return false;
	if (stamp_take(&inner, &stamp)) {
		log_prefix_offer_wall(prefix, outer, WALL_SHIPPER);
		*cursor = at;
		return true;
	}
	if (take_number(&inner, 1, 4, &number) && take_char(&inner, ',') &&
	    take_number(&inner, 1, 19, &number) && take_char(&inner, ',')) {
		*cursor = at; /* netconsole through syslog */
	} else if (take_char(&inner, '[')) {
		take_blanks(&inner);
		if (take_uptime(&inner, &uptime))
			*cursor = at;
	}
	return false;
}

static void take_after_stamp(struct log_prefix *prefix, struct text_cursor *cursor,
			     struct stamp *stamp)
{
	bool shipped = text_cursor_is(cursor, ',') || text_cursor_is(cursor, '\t');
	struct text_cursor at;

	if (shipped)
		cursor->at++;
	take_blanks(cursor);
	at = *cursor;
	shipped = shipped || take_labels(&at) || take_stream(&at);
	if (shipped) {
		cursor->at = at.at > cursor->at ? at.at : cursor->at;
		log_prefix_offer_wall(prefix, stamp, WALL_SHIPPER);
		take_blanks(cursor);
		take_columns(&prefix->scratch, cursor);
		return;
	}
	at = *cursor;
	if (take_word_before_stamp(prefix, cursor, stamp))
		return;
	log_prefix_offer_wall(prefix, stamp,
			      stamp->year || stamp->epoch ? WALL_DATED : WALL_TRADITIONAL);
	/*
	 * dmesg does not write a host or a tag; a [ directly after the stamp begins the kernel's
	 * own stamp
	 */
	if (!stamp->comma && !prefix->writer && at.at == cursor->at && !text_cursor_is(cursor, '['))
		take_tag(prefix, cursor, true);
}

static bool take_stamp(struct log_prefix *prefix, struct text_cursor *cursor)
{
	struct stamp stamp;

	if (!stamp_take(cursor, &stamp) && !take_quoted_stamp(cursor, &stamp))
		return false;
	take_after_stamp(prefix, cursor, &stamp);
	return true;
}

static bool log_prefix_take_brackets(struct log_prefix *prefix, struct text_cursor *cursor)
{
	struct text_cursor at = *cursor;

	if (!take_char(&at, '[') || !take_bracketed(prefix, &at) || !take_char(&at, ']'))
		return false;
	take_char(&at, ':');
	take_blanks(&at);
	if (!prefix->writer)
		take_tag(prefix, &at, false);
	*cursor = at;
	return true;
}

/* Takes a stamp in brackets that lost its left part: "1003.011834] ". */
static bool take_half_bracket(struct log_prefix *prefix, struct text_cursor *cursor)
{
	struct text_cursor at = *cursor;
	uint64_t uptime;

	if (!take_uptime(&at, &uptime) || !take_char(&at, ']'))
		return false;
	offer_uptime(prefix, uptime);
	*cursor = at;
	return true;
}

/* Skips [id name="value" ...] of RFC 5424; a bracket in a value does not end it. */
static void take_data(struct text_cursor *cursor)
{
	while (take_char(cursor, '[')) {
		bool quoted = false;

		for (; cursor->at < cursor->end && (quoted || *cursor->at != ']'); cursor->at++) {
			if (*cursor->at == '\\' && text_cursor_left(cursor) > 1)
				cursor->at++;
			else if (*cursor->at == '"')
				quoted = !quoted;
		}
		take_char(cursor, ']');
	}
}

/* Takes RFC 5424 from its version on: "1 2025-03-12T07:41:09.341207Z HOST APP PID ID [DATA] ". */
static bool take_5424(struct log_prefix *prefix, struct text_cursor *cursor)
{
	struct text_cursor at = *cursor, app;
	struct stamp stamp;

	if (!take_text(&at, "1 ") || !(stamp_take(&at, &stamp) && stamp.year))
		return false;
	take_blanks(&at);
	app = next_word(at);
	at = next_word(next_word(next_word(app)));
	if (at.at == at.end)
		return false;
	if (!take_text(&at, "- "))
		take_data(&at);
	take_blanks(&at);
	take_text(&at, "\xef\xbb\xbf");
	log_prefix_offer_wall(prefix, &stamp, WALL_DATED);
	log_prefix_set_writer(prefix, app.at, log_prefix_word_size(app));
	*cursor = at;
	return true;
}

/* Takes "<3>". */
static bool take_pri(struct log_prefix *prefix, struct text_cursor *cursor)
{
	struct text_cursor at = *cursor;
	uint64_t priority;

	if (!take_char(&at, '<') || !take_number(&at, 1, 3, &priority) || !take_char(&at, '>'))
		return false;
	offer_priority(prefix, priority);
	*cursor = at;
	take_5424(prefix, cursor);
	return true;
}

/* Takes "kern  :err   : " of dmesg --decode. */
static bool take_decoded(struct log_prefix *prefix, struct text_cursor *cursor)
{
	static const char *const facilities[] = { "kern",   "user",   "mail",	  "daemon",
						  "auth",   "syslog", "lpr",	  "news",
						  "uucp",   "cron",   "authpriv", "ftp",
						  "local0", "local1", "local2",	  "local3",
						  "local4", "local5", "local6",	  "local7" };
	static const char *const levels[] = { "emerg", "alert",	 "crit", "err",
					      "warn",  "notice", "info", "debug" };

	for (size_t i = 0; i < ARRAY_SIZE(facilities); i++) {
		struct text_cursor at = *cursor;

		if (!take_text(&at, facilities[i]))
			continue;
		take_blanks(&at);
		if (!take_char(&at, ':'))
			continue;
		for (size_t level = 0; level < ARRAY_SIZE(levels); level++) {
			struct text_cursor after = at;

			if (!take_text(&after, levels[level]))
				continue;
			take_blanks(&after);
			if (!take_char(&after, ':'))
				continue;
			offer_priority(prefix, i << 3 | level);
			*cursor = after;
			return true;
		}
	}
	return false;
}

/* Takes a record of /dev/kmsg or extended netconsole, which may put the kernel's release first. */
static bool take_kmsg(struct log_prefix *prefix, struct text_cursor *cursor)
{
	struct text_cursor at = *cursor;
	struct kmsg_record record;
	const char *device;
	size_t size;

	for (int release = 0;; release++) {
		if (kmsg_parse(at.at, text_cursor_left(&at), &prefix->scratch, &record) == 0)
			break;
		while (at.at < at.end && !strchr(", ;", *at.at))
			at.at++;
		if (release || !take_char(&at, ','))
			return false;
	}
	offer_uptime(prefix, record.stamp_ns);
	offer_priority(prefix, record.facility << 3 | record.level);
	device = kmsg_value(&record, "DEVICE", &size);
	if (device && size > 5 && size - 5 < sizeof(prefix->device) && !memcmp(device, "+pci:", 5))
		memcpy(prefix->device, device + 5, size - 5);
	*cursor = (struct text_cursor){ record.text, record.text + record.text_size };
	return true;
}

static bool log_prefix_take_other(struct log_prefix *prefix, struct text_cursor *cursor)
{
	struct stamp stamp = { 0 };

	if (take_logfmt(&prefix->scratch, cursor, &stamp)) {
		if (stamp.year || stamp.epoch)
			log_prefix_offer_wall(prefix, &stamp, WALL_SHIPPER);
		return true;
	}
	if (take_events(cursor, &stamp)) {
		log_prefix_offer_wall(prefix, &stamp, WALL_SHIPPER);
		return true;
	}
	return take_char(cursor, '\x1e') || take_text(cursor, "\xef\xbb\xbf") ||
	       take_text(cursor, "data: ") || take_member(cursor);
}

/* Takes rsyslog's "message repeated 2 times: [ ...]". */
static bool take_repeated(struct text_cursor *cursor)
{
	struct text_cursor at = *cursor;
	uint64_t times;

	if (!take_text(&at, "message repeated ") || !take_number(&at, 1, 9, &times) ||
	    !take_text(&at, " times: ["))
		return false;
	if (at.at < at.end && at.end[-1] == ']')
		at.end--;
	*cursor = at;
	return true;
}

/* Takes one layer. Once the writer is known, only the kernel's own stamps may follow. */
static bool take_layer(struct log_prefix *prefix, struct text_cursor *cursor)
{
	take_blanks(cursor);
	if (cursor->at == cursor->end || *cursor->at == '{')
		return false;
	if (*cursor->at == '[')
		return log_prefix_take_brackets(prefix, cursor);
	if (take_quotes(cursor))
		return true;
	if (prefix->writer)
		return take_repeated(cursor);
	if (take_pri(prefix, cursor))
		return true;
	if (isdigit((unsigned char)*cursor->at) &&
	    (take_kmsg(prefix, cursor) || take_half_bracket(prefix, cursor)))
		return true;
	return take_decoded(prefix, cursor) || take_stamp(prefix, cursor) ||
	       log_prefix_take_other(prefix, cursor) || take_tag(prefix, cursor, false);
}

static bool is_uptime(struct text_cursor at)
{
	uint64_t uptime;

	if (!take_char(&at, '['))
		return false;
	take_blanks(&at);
	return take_uptime(&at, &uptime) && text_cursor_is(&at, ']');
}

/*
 * Returns whether a date begins here. A file's name may precede it, from grep, or a container's
 * name, from a viewer.
 */
static bool is_date(struct text_cursor at)
{
	struct stamp stamp;

	take_char(&at, '[');
	return stamp_take(&at, &stamp) && !stamp.epoch && at.at < at.end && strchr(" ]", *at.at);
}

/*
 * Searches for a stamp behind an unknown prefix: a kernel's stamp anywhere, a logger's stamp within
 * the first few words.
 */
static bool log_prefix_resync(struct text_cursor *cursor)
{
	const char *end = cursor->at + MIN(text_cursor_left(cursor), RESYNC_BYTES);
	int words = 0;

	for (const char *at = cursor->at + 1; at < end; at++) {
		struct text_cursor here = { at, cursor->end };
		bool edge = words <= FOREIGN_WORDS_MAX && strchr(" \t:-|>", at[-1]);

		words += at[-1] == ' ' && *at != ' ';
		if (!is_uptime(here) && !(edge && is_date(here)))
			continue;
		cursor->at = at;
		return true;
	}
	return false;
}

/*
 * Skips fluentd's tag in "STAMP TAG: {...}" and "STAMP\tTAG\t{...}". This tag does not name a
 * program.
 */
static void skip_tag_of_json(struct log_prefix *prefix, struct text_cursor *cursor)
{
	size_t size = text_cursor_left(cursor);
	const char *open;

	if (size < 2 || cursor->end[-1] != '}')
		return;
	if (prefix->writer) {
		if (prefix->text_with_writer &&
		    prefix->text_with_writer == prefix->text_with_host && prefix->wall.stamp.year &&
		    *cursor->at == '{')
			prefix->writer = prefix->text_with_writer = prefix->text_with_host = NULL;
		return;
	}
	open = memmem(cursor->at, MIN(size, (size_t)TAG_MAX), "\t{\"", 3);
	if (open && prefix->shipper.quality)
		cursor->at = open + 1;
}

bool log_prefix_is_bare(const struct log_prefix *prefix)
{
	return !prefix->writer && !prefix->wall.quality && !prefix->uptime_quality &&
	       !prefix->has_delta && prefix->facility < 0;
}

bool log_prefix_read(struct log_prefix *prefix, const char *text, size_t size)
{
	struct text_cursor cursor = { text, text + size };
	bool found = false, known;

	/*
	 * reserve memory for all layers, so that the scratch does not move; each layer copies at
	 * most the size of the text
	 */
	if (!buffer_room(&prefix->scratch, (2 * LAYERS_MAX + 6) * (size + 1)))
		return false;
	escapes_drop(&prefix->scratch, &cursor);
	for (int i = 0; i < LAYERS_MAX && take_layer(prefix, &cursor); i++)
		found = true;
	known = prefix->writer || prefix->wall.quality || prefix->uptime_quality ||
		prefix->shipper.quality || prefix->has_delta;
	if (!known && !text_cursor_is(&cursor, '{') && log_prefix_resync(&cursor))
		for (int i = 0; i < LAYERS_MAX && take_layer(prefix, &cursor); i++)
			found = true;
	if (prefix->facility > 0 && prefix->writer &&
	    is_kernel(prefix->writer, prefix->writer_size))
		prefix->forged = true;
	take_blanks(&cursor);
	skip_tag_of_json(prefix, &cursor);
	prefix->text = cursor.at;
	prefix->size = text_cursor_left(&cursor);
	return found;
}
