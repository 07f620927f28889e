// SPDX-License-Identifier: GPL-2.0-only
/*
 * Splits a log into lines and finds incidents in them. Invariants:
 *   1. Lines go to the clock in their order, and each at most once.
 *   2. A line that matches only as a truncated one waits for the next line, which may continue it.
 */
#include "incidents/logs/scanner.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "incidents/logs/log-record.h"
#include "incidents/logs/classify.h"
#include "incidents/logs/line-form.h"
#include "incidents/logs/split-message.h"

#define NESTED_MAX 3 /* greatest nesting of JSON in JSON strings */
#define KEY_MAX 16

struct scanner {
	struct classify classify;
	/* Bytes that do not form a whole line yet. */
	struct buffer pending;
	/* A line that may continue on the next one. */
	struct buffer wrapped;
	/* The lines of the kernel so far, for messages that the logger split. */
	struct split_message split;
	uint64_t wrapped_number;
	bool has_wrapped;
	/* The beginning of the last line that the clock received. */
	char key[KEY_MAX];
	/* A JSON entry that spans several lines, or an entry of journalctl -o export. */
	struct log_record record;
	bool exporting;
	/* The record is an entry of journalctl -o verbose. */
	bool verbose;
	/* The stamp of a message to all logged-in users, whose text is the next line. */
	struct stamp announced;
	bool has_announced;
	/* A line had a stamp, so a line with blanks in place of a stamp continues another one. */
	bool stamped;
	/* The prefix around the JSON that is being read. */
	const struct log_prefix *outer;
	unsigned int nested;
};

int scanner_new(const struct scanner_options *options, struct scanner **ret_scanner)
{
	_cleanup_(cleanup_scanner) struct scanner *scanner = calloc(1, sizeof(*scanner));

	if (!scanner)
		return -ENOMEM;
	classify_init(&scanner->classify, options);
	*ret_scanner = take_ptr(scanner);
	return 0;
}

struct scanner *scanner_free(struct scanner *scanner)
{
	if (!scanner)
		return NULL;
	buffer_done(&scanner->pending);
	buffer_done(&scanner->wrapped);
	classify_done(&scanner->classify);
	log_record_done(&scanner->record);
	free(scanner);
	return NULL;
}

static int take_json(struct scanner *scanner, struct log_record *record, const struct line *line);

/* Notes if there was no memory to read the line. scanner_finish() then returns -ENOMEM. */
static bool scanner_lacks_memory(struct scanner *scanner, const struct log_prefix *prefix)
{
	scanner->pending.failed |= buffer_failed(&prefix->scratch);
	return buffer_failed(&prefix->scratch);
}

/* Takes a line of a text, which may be a part of the kernel's message before it. */
static void classify_text(struct scanner *scanner, struct log_prefix *prefix,
			  const struct line *line)
{
	bool is_own;

	prefix->continues |= split_message_continues(&scanner->split, prefix);
	prefix->doubtful = split_message_is_doubtful(&scanner->split, prefix);
	is_own = classify_take(&scanner->classify, prefix, line);
	split_message_take(&scanner->split, prefix, is_own);
}

struct entry {
	struct scanner *scanner;
	const struct line *line;
};

/* Takes one line of an entry's message; the line may be JSON again. */
static void take_message(const struct entry *entry, const struct log_record *record,
			 struct text_cursor message)
{
	struct scanner *scanner = entry->scanner;
	const struct log_prefix *outer = scanner->outer;
	_cleanup_(log_prefix_done) struct log_prefix prefix = { 0 };
	struct line line = { .number = entry->line->number };

	log_prefix_init(&prefix);
	if (outer && outer->wall.quality)
		log_prefix_offer_wall(&prefix, &outer->wall.stamp, WALL_SHIPPER);
	log_record_read_prefix(record, message, &prefix);
	if (scanner_lacks_memory(scanner, &prefix))
		return;
	prefix.continues =
		log_record_is_kernel(record) && message.at != log_record_message(record).at;
	line.text = prefix.text;
	line.size = prefix.size;
	if (prefix.size && *prefix.text == '{' && scanner->nested < NESTED_MAX) {
		_cleanup_(log_record_done) struct log_record inner = { 0 };

		scanner->nested++;
		scanner->outer = &prefix;
		take_json(scanner, &inner, &line);
		scanner->outer = outer;
		scanner->nested--;
		return;
	}
	/* an entry of a journal has its whole message */
	if (log_record_is_kernel(record)) {
		classify_take(&scanner->classify, &prefix, &line);
		return;
	}
	/* a message begins where an entry begins */
	if (message.at == log_record_message(record).at)
		split_message_begin(&scanner->split);
	classify_text(scanner, &prefix, &line);
}

/* Takes an entry with a message. The output of a console is one entry with many lines. */
static void take_entry(void *context, struct log_record *record)
{
	struct text_cursor left = log_record_message(record);
	bool is_json = text_cursor_is(&left, '{');

	do {
		const char *newline =
			is_json ? NULL : memchr(left.at, '\n', text_cursor_left(&left));
		struct text_cursor line = { left.at, newline ? newline : left.end };

		left.at = newline ? newline + 1 : left.end;
		if (line.at < line.end && line.end[-1] == '\r')
			line.end--;
		take_message(context, record, line);
	} while (left.at < left.end);
}

static int take_json(struct scanner *scanner, struct log_record *record, const struct line *line)
{
	struct entry entry = { scanner, line };
	int r = log_record_json(record, line->text, line->size, take_entry, &entry);

	if (r != 0)
		return r;
	/* a line within an entry ends with the entry */
	if (scanner->outer && log_record_has(record, LOG_RECORD_MESSAGE))
		take_entry(&entry, record);
	return 0;
}

/* Returns whether the line matches only as a truncated one. The next line may then continue it. */
static bool seems_wrapped(const struct scanner *scanner, const struct log_prefix *prefix)
{
	struct fields fields;

	return !classify_match(&scanner->classify, prefix, false, &fields) &&
	       classify_match(&scanner->classify, prefix, true, &fields);
}

/*
 * Takes "Message from syslogd@HOST at STAMP ...", which precedes a message to all logged-in users.
 */
static bool take_announcement(struct scanner *scanner, const struct line *line)
{
	struct text_cursor cursor = { line->text, line->text + line->size };
	const char *at;

	if (!take_text(&cursor, "Message from syslogd@"))
		return false;
	at = memmem(cursor.at, text_cursor_left(&cursor), " at ", 4);
	cursor.at = at ? at + 4 : cursor.end;
	scanner->has_announced = stamp_take(&cursor, &scanner->announced);
	return true;
}

/*
 * Returns whether the line continues the one before it. dmesg and journalctl indent the later lines
 * of a message, and give a stamp only to its first line.
 */
static bool scanner_continues(struct scanner *scanner, const struct line *line,
			      const struct log_prefix *prefix)
{
	bool bare = log_prefix_is_bare(prefix);

	scanner->stamped |= !bare;
	return bare && scanner->stamped && line->size && isblank((unsigned char)*line->text);
}

static void take_text_line(struct scanner *scanner, const struct line *line, bool may_wrap)
{
	_cleanup_(log_prefix_done) struct log_prefix prefix = { 0 };

	log_prefix_init(&prefix);
	log_prefix_read(&prefix, line->text, line->size);
	if (scanner_lacks_memory(scanner, &prefix))
		return;
	prefix.continues = scanner_continues(scanner, line, &prefix);
	if (scanner->has_announced && !prefix.wall.quality)
		log_prefix_offer_wall(&prefix, &scanner->announced, WALL_TRADITIONAL);
	scanner->has_announced = false;
	if (prefix.size && *prefix.text == '{' && !prefix.writer) {
		_cleanup_(log_record_done) struct log_record inner = { 0 };
		uint64_t before = scanner->classify.summary.incidents;

		scanner->outer = &prefix;
		take_json(scanner, &inner,
			  &(struct line){ prefix.text, prefix.size, line->number });
		scanner->outer = NULL;
		if (scanner->classify.summary.incidents > before)
			return;
	}
	if (may_wrap && seems_wrapped(scanner, &prefix)) {
		scanner->wrapped.size = 0;
		buffer_bytes(&scanner->wrapped, line->text, line->size);
		scanner->wrapped_number = line->number;
		scanner->has_wrapped = true;
		return;
	}
	classify_text(scanner, &prefix, line);
}

/*
 * Takes the waiting line, together with the next line if the next line continues it. Returns true
 * if it does.
 */
static bool scanner_finish_wrapped(struct scanner *scanner, const struct line *next)
{
	struct line line = { (const char *)scanner->wrapped.data, scanner->wrapped.size,
			     scanner->wrapped_number };
	_cleanup_(log_prefix_done) struct log_prefix prefix, joined;
	struct fields fields;
	bool used = false;

	log_prefix_init(&prefix);
	log_prefix_init(&joined);
	scanner->has_wrapped = false;
	if (next) {
		log_prefix_read(&prefix, next->text, next->size);
		if (!scanner_lacks_memory(scanner, &prefix) && log_prefix_is_bare(&prefix) &&
		    prefix.size) {
			buffer_u8(&scanner->wrapped, ' ');
			buffer_bytes(&scanner->wrapped, prefix.text, prefix.size);
			log_prefix_read(&joined, (const char *)scanner->wrapped.data,
					scanner->wrapped.size);
			used = !scanner_lacks_memory(scanner, &joined) &&
			       classify_match(&scanner->classify, &joined, false, &fields);
		}
	}
	line.text = (const char *)scanner->wrapped.data;
	if (used)
		line.size = scanner->wrapped.size;
	take_text_line(scanner, &line, false);
	return used;
}

/* Remembers how the line begins. Returns true if the clock needs it: one line of each minute. */
static bool scanner_remember_stamp(struct scanner *scanner, const struct line *line)
{
	size_t size = 12;

	if (!line->size)
		return false;
	if (*line->text == '[' && line->size > 1) {
		/* the clock needs every line with a delta, because it adds up all deltas */
		if (line->size > 3 && (memchr(line->text, '+', MIN(line->size, 8))))
			return true;
		size = isalpha((unsigned char)line->text[1]) ? strlen("[Mar12 07:41]") : 9;
	} else if (isdigit((unsigned char)*line->text)) {
		size = KEY_MAX;
	}
	if (line->size < size || !memcmp(line->text, scanner->key, size))
		return false;
	memcpy(scanner->key, line->text, size);
	return true;
}

/* Takes "-- Boot 2f1b03c3e2104787adb361b0dfd671fc --", which journalctl puts between boots. */
static bool take_boot_mark(struct scanner *scanner, const struct line *line)
{
	struct text_cursor cursor = { line->text, line->text + line->size };
	size_t size;

	if (!take_text(&cursor, "-- "))
		return false;
	if (!take_text(&cursor, "Boot ")) {
		if (take_text(&cursor, "Reboot"))
			log_clock_boot(&scanner->classify.clock);
		return true;
	}
	for (size = 0;
	     size < text_cursor_left(&cursor) && isxdigit((unsigned char)cursor.at[size]);)
		size++;
	if (size == 32) {
		memcpy(scanner->classify.boot_id, cursor.at, size);
		log_clock_boot(&scanner->classify.clock);
	}
	return true;
}

/* Reads a line as JSON. Returns false if the line is not JSON after all. */
static bool take_json_line(struct scanner *scanner, const struct line *line, bool hit)
{
	struct line json = *line;
	uint64_t before = scanner->classify.summary.incidents;
	bool open = log_record_json_open(&scanner->record);

	if (!open) {
		char last = line->text[line->size - 1];

		while (*json.text != '{' && *json.text != '[') {
			json.text++;
			json.size--;
		}
		if (!hit && (last == '}' || last == ']'))
			return true;
	}
	if (take_json(scanner, &scanner->record, &json) == 0)
		return true;
	return scanner->classify.summary.incidents > before;
}

static void end_export(struct scanner *scanner, uint64_t number)
{
	struct line line = { .number = number };
	struct entry entry = { scanner, &line };

	if (log_record_has(&scanner->record, LOG_RECORD_MESSAGE))
		take_entry(&entry, &scanner->record);
	log_record_clear(&scanner->record);
}

/* Takes a line of journalctl -o export. Returns false for other lines. */
static bool take_export_line(struct scanner *scanner, const struct line *line)
{
	size_t name = line_export_name(line);

	if (!line->size && scanner->exporting) {
		end_export(scanner, line->number);
		return true;
	}
	if (!name || name == line->size || line->text[name] != '=') {
		if (scanner->exporting)
			end_export(scanner, line->number);
		scanner->exporting = false;
		return false;
	}
	if (!scanner->exporting)
		log_record_clear(&scanner->record);
	scanner->exporting = true;
	log_record_put(&scanner->record, line->text, name, line->text + name + 1,
		       line->size - name - 1);
	return true;
}

static void scanner_put_hex(struct scanner *scanner, const char *name, struct text_cursor digits)
{
	char text[24];
	uint64_t value = 0;

	if (!text_cursor_left(&digits) || text_cursor_left(&digits) > 15)
		return;
	for (; digits.at < digits.end; digits.at++)
		value = value << 4 |
			(isdigit((unsigned char)*digits.at) ? *digits.at - '0'
							    : (*digits.at | 0x20) - 'a' + 10);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	log_record_put(&scanner->record, name, strlen(name), text, strlen(text));
}

/*
 * Takes the first line of an entry of journalctl -o verbose: "Wed 2025-03-12 07:41:09.341207 UTC
 * [s=...;i=4fb;b=...;m=13fbe8e8b17;t=630208e1b9c97;x=...]".
 */
static bool take_verbose_head(struct scanner *scanner, const struct line *line)
{
	struct text_cursor boot;

	if (!line->size || line->text[line->size - 1] != ']' ||
	    !isupper((unsigned char)*line->text) || !memmem(line->text, line->size, " [s=", 4))
		return false;
	boot = line_digits_after(line, ";b=");
	if (text_cursor_left(&boot) != 32)
		return false;
	log_record_clear(&scanner->record);
	scanner->verbose = true;
	log_record_put(&scanner->record, "_BOOT_ID", 8, boot.at, 32);
	scanner_put_hex(scanner, "__MONOTONIC_TIMESTAMP", line_digits_after(line, ";m="));
	scanner_put_hex(scanner, "__REALTIME_TIMESTAMP", line_digits_after(line, ";t="));
	return true;
}

/*
 * Takes a later line of an entry of journalctl -o verbose. Four blanks indent a field; more blanks
 * continue a value.
 */
static bool take_verbose_line(struct scanner *scanner, const struct line *line)
{
	struct line field = { line->text + 4, line->size - 4, line->number };
	size_t name;

	if (scanner->verbose && line->size > 4 && !memcmp(line->text, "    ", 4)) {
		name = line_export_name(&field);
		if (name && name < field.size && field.text[name] == '=')
			log_record_put(&scanner->record, field.text, name, field.text + name + 1,
				       field.size - name - 1);
		return true;
	}
	if (scanner->verbose)
		end_export(scanner, line->number);
	scanner->verbose = false;
	return take_verbose_head(scanner, line);
}

static bool may_be_export(const struct scanner *scanner, const struct line *line)
{
	return scanner->exporting ||
	       (line->size > 2 && line->text[0] == '_' && line->text[1] == '_' &&
		isupper((unsigned char)line->text[2]) && memchr(line->text, '=', line->size));
}

static void scanner_take_line(struct scanner *scanner, const struct line *line, bool hit)
{
	scanner->classify.summary.lines++;
	if (scanner->has_wrapped && scanner_finish_wrapped(scanner, line))
		return;
	if (!line->size && !scanner->exporting && !scanner->verbose)
		return;
	if (may_be_export(scanner, line) && take_export_line(scanner, line))
		return;
	if (take_verbose_line(scanner, line))
		return;
	if (line->size && (log_record_json_open(&scanner->record) || line_is_json(line)) &&
	    take_json_line(scanner, line, hit))
		return;
	if (take_boot_mark(scanner, line) || take_announcement(scanner, line))
		return;
	if (scanner_remember_stamp(scanner, line) || hit)
		take_text_line(scanner, line, hit);
}

/*
 * Takes a binary field of an export: its name alone on a line, eight bytes of size, the value, a
 * newline. Returns the field's size from the name on. Returns 0 if the text is not a binary field,
 * or SIZE_MAX if bytes are missing.
 */
static size_t take_binary(struct scanner *scanner, const char *text, size_t size, size_t name)
{
	struct reader reader;
	uint64_t value_size;
	const char *value;

	if (size < name + 9)
		return SIZE_MAX;
	reader_init(&reader, text + name + 1, size - name - 1);
	value_size = reader_u64(&reader);
	if (value_size > LINE_MAX_BYTES / 2)
		return 0;
	value = reader_take(&reader, value_size);
	if (!value || !reader_take(&reader, 1))
		return SIZE_MAX;
	log_record_put(&scanner->record, text, name, value, value_size);
	return name + 1 + 8 + value_size + 1;
}

struct hits {
	const struct anchors *anchors;
	struct anchors_search search;
	/* The offset of the next anchor; SIZE_MAX after the last one. */
	size_t at;
};

static void next_hit(struct hits *hits, size_t from)
{
	while (hits->at < from)
		if (anchors_next(hits->anchors, &hits->search, &hits->at) == UINT32_MAX)
			hits->at = SIZE_MAX;
}

/* Passes lines with which the scanner does nothing else. */
static void scanner_pass(struct scanner *scanner, const char *text, size_t size)
{
	if (split_message_pass(&scanner->split, text, size) < 0)
		scanner->pending.failed = true;
}

/* Takes all whole lines. Returns their size. */
static size_t scanner_take_lines(struct scanner *scanner, const char *text, size_t size, bool last)
{
	struct hits hits = { .anchors = catalogue_anchors(scanner->classify.options.catalogue) };
	size_t at = 0, passed = 0;

	anchors_start(hits.anchors, &hits.search, text, size);
	if (anchors_next(hits.anchors, &hits.search, &hits.at) == UINT32_MAX)
		hits.at = SIZE_MAX;
	for (;;) {
		struct line line = { text + at, line_find_end(text + at, size - at, last),
				     scanner->classify.summary.lines + 1 };
		size_t after;
		bool hit;

		if (line.size == SIZE_MAX)
			break;
		after = at + line.size + (at + line.size < size && text[at + line.size] == '\n');
		if (scanner->exporting && line.size && line_export_name(&line) == line.size) {
			size_t binary = take_binary(scanner, text + at, size - at, line.size);

			if (binary == SIZE_MAX && !last && size - at < LINE_MAX_BYTES)
				break;
			if (binary && binary != SIZE_MAX) {
				at += binary;
				scanner->classify.summary.lines++;
				next_hit(&hits, at);
				continue;
			}
		}
		hit = hits.at < at + line.size;
		if (hit) {
			scanner_pass(scanner, text + passed, at - passed);
			passed = after;
		}
		if (line.size && line.text[line.size - 1] == '\r')
			line.size--;
		scanner_take_line(scanner, &line, hit);
		at = after;
		next_hit(&hits, at);
	}
	scanner_pass(scanner, text + passed, at - passed);
	return at;
}

int scanner_feed(struct scanner *scanner, const void *data, size_t size)
{
	size_t taken;

	scanner->classify.summary.bytes += size;
	buffer_bytes(&scanner->pending, data, size);
	if (buffer_failed(&scanner->pending))
		return -ENOMEM;
	taken = scanner_take_lines(scanner, (const char *)scanner->pending.data,
				   scanner->pending.size, false);
	scanner->pending.size -= taken;
	if (taken)
		memmove(scanner->pending.data, scanner->pending.data + taken,
			scanner->pending.size);
	return 0;
}

int scanner_flush(struct scanner *scanner)
{
	if (scanner->has_wrapped)
		scanner_finish_wrapped(scanner, NULL);
	if (scanner->verbose)
		end_export(scanner, scanner->classify.summary.lines);
	scanner->verbose = false;
	return buffer_failed(&scanner->pending) ? -ENOMEM : 0;
}

int scanner_finish(struct scanner *scanner, struct scan_summary *ret_summary)
{
	if (scanner->pending.size)
		scanner_take_lines(scanner, (const char *)scanner->pending.data,
				   scanner->pending.size, true);
	scanner->pending.size = 0;
	(void)scanner_flush(scanner);
	/* a truncated entry may already contain its message */
	if (scanner->exporting || log_record_has(&scanner->record, LOG_RECORD_MESSAGE))
		end_export(scanner, scanner->classify.summary.lines);
	*ret_summary = scanner->classify.summary;
	return buffer_failed(&scanner->pending) ? -ENOMEM : 0;
}

void scanner_span(struct scanner *scanner, const char *head, size_t head_size, const char *tail,
		  size_t tail_size)
{
	struct stamp first, last;

	if (stamp_find_yearless(head, head_size, false, &first) &&
	    stamp_find_yearless(tail, tail_size, true, &last))
		log_clock_span(&scanner->classify.clock, &first, &last);
}
