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
#define RESYNC_BYTES                                                                \
	200 /* how far into a line with a foreign beginning its stamp is looked for \
	     */

void log_prefix_init(struct log_prefix *heading)
{
	*heading = (struct log_prefix){ .facility = -1, .level = -1 };
}

void log_prefix_done(struct log_prefix *heading)
{
	buffer_done(&heading->scratch);
}

void log_prefix_offer_wall(struct log_prefix *heading, const struct stamp *stamp,
			   enum wall_quality quality)
{
	struct wall wall = { .quality = quality, .stamp = *stamp };

	if (quality == WALL_SHIPPER && !heading->shipper.quality)
		heading->shipper = wall;
	if (quality > heading->wall.quality)
		heading->wall = wall;
}

static void offer_uptime(struct log_prefix *heading, uint64_t uptime_ns)
{
	if (heading->uptime_quality == UPTIME_PRINTK)
		return;
	heading->uptime_quality = UPTIME_PRINTK;
	heading->uptime_ns = uptime_ns;
}

static void offer_priority(struct log_prefix *heading, unsigned int priority)
{
	if (heading->facility >= 0)
		return;
	heading->facility = priority >> 3;
	heading->level = priority & 7;
}

static void log_prefix_set_writer(struct log_prefix *heading, const char *writer, size_t size)
{
	heading->writer = writer;
	heading->writer_size = size;
}

static bool is_kernel(const char *writer, size_t size)
{
	return size == 6 && !memcmp(writer, "kernel", 6);
}

/* 12345.678901 */
static bool take_uptime(struct text_cursor *taker, uint64_t *ret_ns)
{
	struct text_cursor at = *taker;
	uint64_t seconds, unit;
	uint32_t fraction;

	if (!take_number(&at, 1, 9, &seconds) || !take_char(&at, '.') ||
	    !take_fraction(&at, &fraction, &unit) || unit > 1000000)
		return false;
	*ret_ns = seconds * 1000000000 + fraction;
	*taker = at;
	return true;
}

/* "<    0.004711>"; journalctl has a blank or a star before its end, and blanks alone in the first
 * line */
static bool take_delta(struct text_cursor *taker, uint64_t *ret_ns)
{
	struct text_cursor at = *taker;

	take_blanks(&at);
	if (!take_char(&at, '<')) {
		if (text_cursor_is(&at, ']'))
			*taker = at;
		return false;
	}
	take_blanks(&at);
	if (!take_uptime(&at, ret_ns))
		return false;
	if (!take_char(&at, ' '))
		take_char(&at, '*');
	if (!take_char(&at, '>'))
		return false;
	*taker = at;
	return true;
}

/* What is between the brackets of "[  123.456789 <    0.004711>] ", "[  +0.005115] ", "[    T123] "
 * and the like. */
static bool take_bracketed(struct log_prefix *heading, struct text_cursor *taker)
{
	struct stamp stamp;
	uint64_t ns, number;

	take_blanks(taker);
	if (take_char(taker, '+')) {
		if (!take_uptime(taker, &ns))
			return false;
		heading->has_delta = true;
		heading->delta_ns = ns;
		return true;
	}
	if (take_delta(taker, &ns))
		return true;
	if (take_uptime(taker, &ns)) {
		offer_uptime(heading, ns);
		if (take_char(taker, ','))
			take_number(taker, 1, 4, &number);
		take_delta(taker, &ns);
		return true;
	}
	/* T1234 or C3, who called; Tuesdays and Thursdays begin so, too */
	if ((text_cursor_is(taker, 'T') || text_cursor_is(taker, 'C')) &&
	    text_cursor_left(taker) > 1 && isdigit((unsigned char)taker->at[1])) {
		taker->at++;
		return take_number(taker, 1, 9, &number);
	}
	if (stamp_take(taker, &stamp)) {
		log_prefix_offer_wall(heading, &stamp, stamp.year ? WALL_DATED : WALL_TRADITIONAL);
		take_delta(taker, &ns);
		return true;
	}
	if (stamp_take_minute(taker, &stamp)) {
		log_prefix_offer_wall(heading, &stamp, WALL_MINUTE);
		return true;
	}
	return take_text(taker, "...");
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
	if (colon == end || *colon != ':')
		return NULL;
	*ret_size = (bracket ? bracket : colon) - at;
	*ret_sure = bracket ? colon[-1] == ']' : is_kernel(at, *ret_size);
	/* syslogd leaves no blank behind "kernel:" when it tells all who are logged in */
	if (colon + 1 < end && !strchr(" \t[", colon[1]) && !is_kernel(at, *ret_size))
		return NULL;
	return valid_writer(at, *ret_size) ? colon + 1 : NULL;
}

static size_t log_prefix_word_size(struct text_cursor taker)
{
	size_t size = 0;

	while (size < text_cursor_left(&taker) && !isblank((unsigned char)taker.at[size]))
		size++;
	return size;
}

static struct text_cursor next_word(struct text_cursor taker)
{
	taker.at += log_prefix_word_size(taker);
	take_blanks(&taker);
	return taker;
}

/* "kern.info", before the tag */
static void look_for_priority(struct log_prefix *heading, struct text_cursor taker)
{
	if (take_text(&taker, "kern.") && heading->facility < 0)
		heading->facility = 0;
	else if ((take_text(&taker, "user.") || take_text(&taker, "daemon.")) &&
		 heading->facility < 0)
		heading->facility = 1;
}

/*
 * "HOST kernel:", "HOST LEVEL kernel:", "systemd[1]:" and so on. `loose` takes a word without a
 * process id for a program too, where a logger would have put it: as the first word or the second.
 */
static bool take_tag(struct log_prefix *heading, struct text_cursor *taker, bool loose)
{
	struct text_cursor at = *taker;
	int words = loose ? HOST_WORDS_MAX : 2;

	for (int i = 0; i < words && at.at < at.end; i++, at = next_word(at)) {
		size_t size;
		bool sure;
		const char *after = tag_end(at.at, at.end, &size, &sure);

		look_for_priority(heading, at);
		if (!after || !(sure || (loose && i < 2)))
			continue;
		log_prefix_set_writer(heading, at.at, size);
		heading->loose = sure ? NULL : at.at;
		heading->unnamed = sure ? NULL : taker->at;
		taker->at = after;
		return true;
	}
	return false;
}

/*
 * Whether the first word is the name of a stream, which another stamp follows: then the one before
 * it is a shipper's. A host's name before the kernel's stamp is skipped.
 */
static bool log_prefix_take_name(struct log_prefix *heading, struct text_cursor *taker,
				 const struct stamp *outer)
{
	struct text_cursor at = next_word(*taker), inner = at;
	struct stamp stamp;
	uint64_t uptime, number;

	if (at.at == at.end || text_cursor_is(taker, '[') || text_cursor_is(taker, '{'))
		return false;
	if (stamp_take(&inner, &stamp)) {
		log_prefix_offer_wall(heading, outer, WALL_SHIPPER);
		*taker = at;
		return true;
	}
	if (take_number(&inner, 1, 4, &number) && take_char(&inner, ',') &&
	    take_number(&inner, 1, 19, &number) && take_char(&inner, ',')) {
		*taker = at; /* netconsole by way of syslog */
	} else if (take_char(&inner, '[')) {
		take_blanks(&inner);
		if (take_uptime(&inner, &uptime))
			*taker = at;
	}
	return false;
}

static void take_behind_stamp(struct log_prefix *heading, struct text_cursor *taker,
			      struct stamp *stamp)
{
	bool shipped = text_cursor_is(taker, ',') || text_cursor_is(taker, '\t');
	struct text_cursor at;

	if (shipped)
		taker->at++;
	take_blanks(taker);
	at = *taker;
	shipped = shipped || take_labels(&at) || take_stream(&at);
	if (shipped) {
		taker->at = at.at > taker->at ? at.at : taker->at;
		log_prefix_offer_wall(heading, stamp, WALL_SHIPPER);
		take_blanks(taker);
		take_columns(&heading->scratch, taker);
		return;
	}
	at = *taker;
	if (log_prefix_take_name(heading, taker, stamp))
		return;
	log_prefix_offer_wall(heading, stamp,
			      stamp->year || stamp->epoch ? WALL_DATED : WALL_TRADITIONAL);
	/* dmesg puts no host and no tag; before the kernel's own stamp there is none either */
	if (!stamp->comma && !heading->writer && at.at == taker->at && !text_cursor_is(taker, '['))
		take_tag(heading, taker, true);
}

static bool take_stamp(struct log_prefix *heading, struct text_cursor *taker)
{
	struct stamp stamp;

	if (!stamp_take(taker, &stamp) && !take_quoted_stamp(taker, &stamp))
		return false;
	take_behind_stamp(heading, taker, &stamp);
	return true;
}

static bool log_prefix_take_brackets(struct log_prefix *heading, struct text_cursor *taker)
{
	struct text_cursor at = *taker;

	if (!take_char(&at, '[') || !take_bracketed(heading, &at) || !take_char(&at, ']'))
		return false;
	take_char(&at, ':');
	take_blanks(&at);
	if (!heading->writer)
		take_tag(heading, &at, false);
	*taker = at;
	return true;
}

/* A bracket that was cut off at its left: "1003.011834] " */
static bool take_half_bracket(struct log_prefix *heading, struct text_cursor *taker)
{
	struct text_cursor at = *taker;
	uint64_t uptime;

	if (!take_uptime(&at, &uptime) || !take_char(&at, ']'))
		return false;
	offer_uptime(heading, uptime);
	*taker = at;
	return true;
}

/* [id name="value" ...] of RFC 5424, any number of them; a bracket in a value is none. */
static void take_data(struct text_cursor *taker)
{
	while (take_char(taker, '[')) {
		bool quoted = false;

		for (; taker->at < taker->end && (quoted || *taker->at != ']'); taker->at++) {
			if (*taker->at == '\\' && text_cursor_left(taker) > 1)
				taker->at++;
			else if (*taker->at == '"')
				quoted = !quoted;
		}
		take_char(taker, ']');
	}
}

/* RFC 5424 behind its version: "2025-03-12T07:41:09.341207Z HOST APP PID ID [DATA] " */
static bool take_5424(struct log_prefix *heading, struct text_cursor *taker)
{
	struct text_cursor at = *taker, app;
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
	log_prefix_offer_wall(heading, &stamp, WALL_DATED);
	log_prefix_set_writer(heading, app.at, log_prefix_word_size(app));
	*taker = at;
	return true;
}

/* "<3>" */
static bool take_pri(struct log_prefix *heading, struct text_cursor *taker)
{
	struct text_cursor at = *taker;
	uint64_t priority;

	if (!take_char(&at, '<') || !take_number(&at, 1, 3, &priority) || !take_char(&at, '>'))
		return false;
	offer_priority(heading, priority);
	*taker = at;
	take_5424(heading, taker);
	return true;
}

/* "kern  :err   : " of dmesg --decode */
static bool take_decoded(struct log_prefix *heading, struct text_cursor *taker)
{
	static const char *const facilities[] = { "kern",   "user",   "mail",	  "daemon",
						  "auth",   "syslog", "lpr",	  "news",
						  "uucp",   "cron",   "authpriv", "ftp",
						  "local0", "local1", "local2",	  "local3",
						  "local4", "local5", "local6",	  "local7" };
	static const char *const levels[] = { "emerg", "alert",	 "crit", "err",
					      "warn",  "notice", "info", "debug" };

	for (size_t i = 0; i < ARRAY_SIZE(facilities); i++) {
		struct text_cursor at = *taker;

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
			offer_priority(heading, i << 3 | level);
			*taker = after;
			return true;
		}
	}
	return false;
}

/* A record of /dev/kmsg or of extended netconsole, which may put the kernel's release first. */
static bool take_kmsg(struct log_prefix *heading, struct text_cursor *taker)
{
	struct text_cursor at = *taker;
	struct kmsg_record record;
	const char *device;
	size_t size;

	for (int release = 0;; release++) {
		if (kmsg_parse(at.at, text_cursor_left(&at), &heading->scratch, &record) == 0)
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
	*taker = (struct text_cursor){ record.text, record.text + record.text_size };
	return true;
}

static bool log_prefix_take_other(struct log_prefix *heading, struct text_cursor *taker)
{
	struct stamp stamp = { 0 };

	if (take_logfmt(&heading->scratch, taker, &stamp)) {
		if (stamp.year || stamp.epoch)
			log_prefix_offer_wall(heading, &stamp, WALL_SHIPPER);
		return true;
	}
	if (take_events(taker, &stamp)) {
		log_prefix_offer_wall(heading, &stamp, WALL_SHIPPER);
		return true;
	}
	return take_char(taker, '\x1e') || take_text(taker, "\xef\xbb\xbf") ||
	       take_text(taker, "data: ") || take_member(taker);
}

/* rsyslog's "message repeated 2 times: [ ...]" */
static bool take_repeated(struct text_cursor *taker)
{
	struct text_cursor at = *taker;
	uint64_t times;

	if (!take_text(&at, "message repeated ") || !take_number(&at, 1, 9, &times) ||
	    !take_text(&at, " times: ["))
		return false;
	if (at.at < at.end && at.end[-1] == ']')
		at.end--;
	*taker = at;
	return true;
}

/* A message whose writer is known begins right behind it, but for the kernel's own stamps. */
static bool take_layer(struct log_prefix *heading, struct text_cursor *taker)
{
	take_blanks(taker);
	if (taker->at == taker->end || *taker->at == '{')
		return false;
	if (*taker->at == '[')
		return log_prefix_take_brackets(heading, taker);
	if (take_quotes(taker))
		return true;
	if (heading->writer)
		return take_repeated(taker);
	if (take_pri(heading, taker))
		return true;
	if (isdigit((unsigned char)*taker->at) &&
	    (take_kmsg(heading, taker) || take_half_bracket(heading, taker)))
		return true;
	return take_decoded(heading, taker) || take_stamp(heading, taker) ||
	       log_prefix_take_other(heading, taker) || take_tag(heading, taker, false);
}

static bool is_uptime(struct text_cursor at)
{
	uint64_t uptime;

	if (!take_char(&at, '['))
		return false;
	take_blanks(&at);
	return take_uptime(&at, &uptime) && text_cursor_is(&at, ']');
}

/* A date, as grep shows it behind a file's name, or a viewer behind a container's. */
static bool is_date(struct text_cursor at)
{
	struct stamp stamp;

	take_char(&at, '[');
	return stamp_take(&at, &stamp) && !stamp.epoch && at.at < at.end && strchr(" ]", *at.at);
}

/* Behind something foreign, a stamp of the kernel is still one; so is that of a logger, a few words
 * on. */
static bool log_prefix_resync(struct text_cursor *taker)
{
	const char *end = taker->at + MIN(text_cursor_left(taker), RESYNC_BYTES);
	int words = 0;

	for (const char *at = taker->at + 1; at < end; at++) {
		struct text_cursor here = { at, taker->end };
		bool edge = words <= FOREIGN_WORDS_MAX && strchr(" \t:-|>", at[-1]);

		words += at[-1] == ' ' && *at != ' ';
		if (!is_uptime(here) && !(edge && is_date(here)))
			continue;
		taker->at = at;
		return true;
	}
	return false;
}

/* fluentd's "STAMP TAG: {...}" and "STAMP\tTAG\t{...}": no program says that, it is what was
 * shipped */
static void skip_tag_of_json(struct log_prefix *heading, struct text_cursor *taker)
{
	size_t size = text_cursor_left(taker);
	const char *open;

	if (size < 2 || taker->end[-1] != '}')
		return;
	if (heading->writer) {
		if (heading->loose && heading->loose == heading->unnamed &&
		    heading->wall.stamp.year && *taker->at == '{')
			heading->writer = heading->loose = heading->unnamed = NULL;
		return;
	}
	open = memmem(taker->at, MIN(size, (size_t)TAG_MAX), "\t{\"", 3);
	if (open && heading->shipper.quality)
		taker->at = open + 1;
}

bool log_prefix_read(struct log_prefix *heading, const char *text, size_t size)
{
	struct text_cursor taker = { text, text + size };
	bool found = false, known;

	/* so that what is put there does not move: each layer that copies makes it no longer */
	if (!buffer_room(&heading->scratch, (2 * LAYERS_MAX + 6) * (size + 1)))
		return false;
	escapes_drop(&heading->scratch, &taker);
	for (int i = 0; i < LAYERS_MAX && take_layer(heading, &taker); i++)
		found = true;
	known = heading->writer || heading->wall.quality || heading->uptime_quality ||
		heading->shipper.quality || heading->has_delta;
	if (!known && !text_cursor_is(&taker, '{') && log_prefix_resync(&taker))
		for (int i = 0; i < LAYERS_MAX && take_layer(heading, &taker); i++)
			found = true;
	if (heading->facility > 0 && heading->writer &&
	    is_kernel(heading->writer, heading->writer_size))
		heading->forged = true;
	take_blanks(&taker);
	skip_tag_of_json(heading, &taker);
	heading->text = taker.at;
	heading->size = text_cursor_left(&taker);
	return found;
}
