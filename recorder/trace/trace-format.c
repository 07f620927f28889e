// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/trace/trace-format.h"

#include <ctype.h>
#include <stdio.h>
#include <traceevent/event-parse.h>

/*
 * The last part of the file describes, as C code, how the kernel would print an event. We do not
 * need that part, and the library would most likely fail on it.
 */
#define PRINT "print fmt:"
#define NO_PRINT "print fmt: \"\"\n"

/* An event of the kernel has at most 64 KB. */
#define RAW_MAX 65536
#define FIELDS_MAX 128

struct trace_format *trace_format_free(struct trace_format *format)
{
	if (!format)
		return NULL;
	for (size_t i = 0; i < format->fields.count; i++)
		free(format->fields.items[i].name);
	array_done(&format->fields);
	free(format->name);
	free(format);
	return NULL;
}

uint32_t trace_format_field(const struct trace_format *format, const char *name)
{
	for (size_t i = 0; i < format->fields.count; i++)
		if (strcmp(format->fields.items[i].name, name) == 0)
			return i;
	return TRACE_NO_FIELD;
}

static bool is_number_size(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/*
 * Returns whether a field is a text. The library's own flag is also set for arrays of small
 * numbers.
 */
static bool trace_format_is_text(const struct tep_format_field *field)
{
	return (field->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC)) &&
	       strstr(field->type, "char") && !strstr(field->type, "unsigned char");
}

static enum trace_type type_of(const struct tep_format_field *from, const struct trace_field *field)
{
	if (trace_format_is_text(from))
		return TRACE_TEXT;
	if (!is_number_size(field->element_size))
		return TRACE_BYTES;
	if (!field->dynamic && field->size % field->element_size)
		return TRACE_BYTES;
	if ((from->flags & TEP_FIELD_IS_POINTER) && field->size == field->element_size)
		return TRACE_ADDRESS;
	/* "u8 mac[6]", "unsigned char cdb[16]" */
	return field->element_size == 1 && (from->flags & TEP_FIELD_IS_ARRAY) ? TRACE_BYTES
									      : TRACE_NUMBERS;
}

static int trace_format_add_field(struct trace_format *format, const struct tep_format_field *from)
{
	struct trace_field field = {
		.is_signed = from->flags & TEP_FIELD_IS_SIGNED,
		.dynamic = from->flags & TEP_FIELD_IS_DYNAMIC,
		.relative = from->flags & TEP_FIELD_IS_RELATIVE,
		.offset = from->offset,
		.size = from->size,
	};
	bool array = from->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC);

	if (from->offset < 0 || from->size < 0 || from->offset > RAW_MAX || from->size > RAW_MAX ||
	    (field.dynamic && field.size != 4) || !from->name || !*from->name ||
	    format->fields.count == FIELDS_MAX)
		return -EBADMSG;
	field.element_size = array ? from->elementsize : field.size;
	field.type = type_of(from, &field);
	field.name = strdup(from->name);
	if (!field.name || array_push(&format->fields, field) < 0) {
		free(field.name);
		return -ENOMEM;
	}
	return 0;
}

static int take_event(const struct tep_event *event, const char *system,
		      struct trace_format *format)
{
	int r = 0;

	if (!event->name || event->id <= 0 || event->id > UINT16_MAX)
		return -EBADMSG;
	format->id = event->id;
	if (asprintf(&format->name, "%s:%s", system, event->name) < 0) {
		format->name = NULL;
		return -ENOMEM;
	}
	for (const struct tep_format_field *field = event->format.fields; r == 0 && field;
	     field = field->next)
		r = trace_format_add_field(format, field);
	return r;
}

static bool trace_format_take_text(const char **at, const char *text)
{
	size_t size = strlen(text);
	bool there = strncmp(*at, text, size) == 0;

	*at += there ? size : 0;
	return there;
}

static bool trace_format_take_digits(const char **at, size_t most)
{
	size_t size = strspn(*at, "0123456789");

	*at += size;
	return size && size <= most;
}

static size_t trace_format_word_size(const char *at)
{
	return isdigit((unsigned char)*at)
		       ? 0
		       : strspn(at,
				"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
}

/*
 * Reads a pair of brackets and its content, which may have nested brackets. Does not go beyond the
 * line.
 */
static bool trace_format_take_brackets(const char **at, char open, char close)
{
	size_t depth = 0;

	for (; isalnum((unsigned char)**at) || (**at && strchr(" _+-*/,()[]", **at)); ++*at) {
		depth += **at == open;
		depth -= **at == close;
		if (!depth) {
			++*at;
			return true;
		}
	}
	return false;
}

/* Skips an attribute in a type. */
static bool take_attribute(const char **at)
{
	*at += strspn(*at, " ");
	return trace_format_take_text(at, "__attribute__") &&
	       trace_format_take_brackets(at, '(', ')');
}

/* Reads a type such as "struct cred *". Returns the number of words and stars. */
static size_t trace_format_take_words(const char **at)
{
	size_t count = 0, size;

	for (;; count++) {
		while (strncmp(*at + strspn(*at, " "), "__attribute__", 13) == 0)
			if (!take_attribute(at))
				return 0;
		*at += strspn(*at, " ");
		size = **at == '*' && count ? 1 : trace_format_word_size(*at);
		if (!size)
			return count;
		*at += size;
	}
}

/* Reads a type and a name: "unsigned long args[6]", "__data_loc unsigned int[] lengths". */
static bool take_declaration(const char **at)
{
	bool dynamic = strncmp(*at, "__data_loc ", 11) == 0 || strncmp(*at, "__rel_loc ", 10) == 0;
	size_t words = trace_format_take_words(at);
	bool named = (*at)[-1] != '*' && (*at)[-1] != ' ';

	if (dynamic) {
		if (**at == ';')
			return words > 2 && named;
		trace_format_take_text(at, " ");
		if (words < 2 || !trace_format_take_text(at, "[] "))
			return false;
		words = trace_format_word_size(*at);
		*at += words;
		return words && **at == ';';
	}
	if (words < 2 || !named)
		return false;
	return **at == ';' || (trace_format_take_brackets(at, '[', ']') && **at == ';');
}

static bool take_field(const char **at)
{
	if (!trace_format_take_text(at, "\tfield:") || !take_declaration(at))
		return false;
	if (!trace_format_take_text(at, ";\toffset:") || !trace_format_take_digits(at, 5) ||
	    !trace_format_take_text(at, ";\tsize:") || !trace_format_take_digits(at, 5))
		return false;
	if (trace_format_take_text(at, ";\tsigned:") && !trace_format_take_digits(at, 1))
		return false;
	return trace_format_take_text(at, ";\n");
}

/*
 * Returns whether the text is a format file. The library expects a file from the kernel, and
 * crashes on other texts.
 */
static bool is_format(const char *at)
{
	size_t name;

	if (!trace_format_take_text(&at, "name: ") || !(name = trace_format_word_size(at)))
		return false;
	at += name;
	if (!trace_format_take_text(&at, "\nID: ") || !trace_format_take_digits(&at, 9) ||
	    !trace_format_take_text(&at, "\nformat:\n"))
		return false;
	while (*at == '\t')
		if (!take_field(&at))
			return false;
	if (!trace_format_take_text(&at, "\n"))
		return false;
	while (*at == '\t')
		if (!take_field(&at))
			return false;
	return trace_format_take_text(&at, "\n") && strcmp(at, NO_PRINT) == 0;
}

/*
 * Sets *ret_cut to the text with an empty PRINT part, which the library needs. Returns 0, -EBADMSG
 * if the text does not describe a format, or -ENOMEM.
 */
static int cut_text(const char *text, size_t size, char **ret_cut)
{
	const char *end =
		size <= TRACE_FORMAT_MAX ? memmem(text, size, PRINT, strlen(PRINT)) : NULL;
	_cleanup_free_ char *cut = NULL;

	if (!end || memchr(text, 0, end - text))
		return -EBADMSG;
	cut = malloc(end - text + sizeof(NO_PRINT));
	if (!cut)
		return -ENOMEM;
	memcpy(cut, text, end - text);
	memcpy(cut + (end - text), NO_PRINT, sizeof(NO_PRINT));
	if (!is_format(cut))
		return -EBADMSG;
	*ret_cut = take_ptr(cut);
	return 0;
}

int trace_format_parse(const char *system, const char *text, size_t size,
		       struct trace_format **ret_format)
{
	_cleanup_(cleanup_trace_format) struct trace_format *format = calloc(1, sizeof(*format));
	_cleanup_free_ char *cut = NULL;
	struct tep_handle *tep;
	int r = format ? cut_text(text, size, &cut) : -ENOMEM;

	if (r < 0)
		return r;
	tep = tep_alloc();
	if (!tep)
		return -ENOMEM;
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_long_size(tep, sizeof(long));
	r = -EBADMSG;
	if (tep_parse_event(tep, cut, strlen(cut), system) == 0 && tep_get_events_count(tep) == 1)
		r = take_event(tep_get_first_event(tep), system, format);
	tep_free(tep);
	if (r < 0)
		return r;
	*ret_format = take_ptr(format);
	return 0;
}
