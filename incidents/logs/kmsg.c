// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/logs/kmsg.h"

#include <ctype.h>
#include <errno.h>

#include "base/clock.h"
#include "incidents/patterns/text-cursor.h"

static int kmsg_hex_digit(char c)
{
	if (isdigit((unsigned char)c))
		return c - '0';
	return isxdigit((unsigned char)c) ? (c | 0x20) - 'a' + 10 : -1;
}

void kmsg_unescape(const char *text, size_t size, struct buffer *out)
{
	const char *end = text + size;

	while (text < end) {
		const char *escape = memchr(text, '\\', end - text);

		escape = escape ? escape : end;
		buffer_bytes(out, text, escape - text);
		text = escape;
		if (end - text >= 4 && text[1] == 'x' && kmsg_hex_digit(text[2]) >= 0 &&
		    kmsg_hex_digit(text[3]) >= 0) {
			buffer_u8(out, kmsg_hex_digit(text[2]) << 4 | kmsg_hex_digit(text[3]));
			text += 4;
		} else if (text < end) {
			buffer_u8(out, *text++);
		}
	}
}

/* Takes ",caller=C12". Skips other fields, which a later kernel may write. */
static void parse_extra(struct text_cursor *cursor, struct kmsg_record *record)
{
	struct text_cursor at = *cursor;
	uint64_t id;

	if (take_text(&at, "caller=") && at.at < at.end && (*at.at == 'T' || *at.at == 'C')) {
		char caller = *at.at++;

		if (take_number(&at, 1, 9, &id)) {
			record->caller = caller;
			record->caller_id = id;
		}
	}
	while (cursor->at < cursor->end && *cursor->at != ',' && *cursor->at != ';' &&
	       *cursor->at != '\n')
		cursor->at++;
}

static bool parse_head(struct text_cursor *cursor, struct kmsg_record *record)
{
	uint64_t priority, stamp_us;

	if (!take_number(cursor, 1, 4, &priority) || !take_char(cursor, ',') ||
	    !take_number(cursor, 1, 19, &record->sequence) || !take_char(cursor, ',') ||
	    !take_number(cursor, 1, 15, &stamp_us) || !take_char(cursor, ',') ||
	    cursor->at == cursor->end || !strchr("-c+", *cursor->at))
		return false;
	record->facility = priority >> 3;
	record->level = priority & 7;
	record->stamp_ns = stamp_us * NSEC_PER_USEC;
	record->fragment = *cursor->at++ != '-';
	while (take_char(cursor, ','))
		parse_extra(cursor, record);
	return take_char(cursor, ';');
}

int kmsg_parse(const char *data, size_t size, struct buffer *text, struct kmsg_record *ret_record)
{
	struct text_cursor cursor = { data, data + size };
	struct kmsg_record record = { 0 };
	size_t start = text->size;
	const char *line_end;

	if (!parse_head(&cursor, &record))
		return -EBADMSG;
	line_end = memchr(cursor.at, '\n', text_cursor_left(&cursor));
	line_end = line_end ? line_end : cursor.end;
	kmsg_unescape(cursor.at, line_end - cursor.at, text);
	if (buffer_failed(text))
		return -ENOMEM;
	record.text_size = text->size - start;
	record.text = text->data ? (const char *)text->data + start : "";
	while (record.text_size && isspace((unsigned char)record.text[record.text_size - 1]))
		record.text_size--;
	record.dictionary = line_end + (line_end < cursor.end);
	record.dictionary_size = cursor.end - record.dictionary;
	*ret_record = record;
	return 0;
}

const char *kmsg_value(const struct kmsg_record *record, const char *key, size_t *ret_size)
{
	struct text_cursor cursor = { record->dictionary,
				      record->dictionary + record->dictionary_size };

	while (cursor.at < cursor.end) {
		const char *end = memchr(cursor.at, '\n', text_cursor_left(&cursor));

		end = end ? end : cursor.end;
		if (take_char(&cursor, ' ') && take_text(&cursor, key) && take_char(&cursor, '=') &&
		    cursor.at <= end) {
			*ret_size = end - cursor.at;
			return cursor.at;
		}
		cursor.at = end + (end < cursor.end);
	}
	return NULL;
}
