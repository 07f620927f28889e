// SPDX-License-Identifier: GPL-2.0-only
#include "cli/window/incident-book.h"

#include <ctype.h>

#include "base/clock.h"
#include "incidents/patterns/field-rows.h"
#include "incidents/logs/classify.h"

void book_done(struct book *book)
{
	for (size_t i = 0; i < book->kinds.count; i++)
		free(book->kinds.items[i].name);
	array_done(&book->kinds);
	array_done(&book->rows);
	array_done(&book->segments.list);
	strings_done(&book->strings);
	episodes_done(&book->episodes);
}

/* A store of somebody else may have a kind for each incident. */
#define KINDS_MAX 1024
#define KIND_NAME_MAX 64

static uint32_t incident_book_find_kind(const struct book *book, const char *name,
					enum severity severity)
{
	uint32_t i = 0;

	while (i < book->kinds.count &&
	       (book->kinds.items[i].severity != severity ||
		strncmp(book->kinds.items[i].name, name, KIND_NAME_MAX) != 0))
		i++;
	return i;
}

/*
 * A newer perftape may have written a severity that this version does not know. Kinds beyond the
 * limit are "other".
 */
static int incident_book_add_kind(struct book *book, const struct store_incident *incident,
				  uint32_t *ret_kind)
{
	struct kind kind = { .severity = MIN(incident->severity, (uint32_t)SEVERITY_CRIT) };
	const char *name = incident->kind;
	uint32_t i = incident_book_find_kind(book, name, kind.severity);

	if (i == book->kinds.count && i >= KINDS_MAX) {
		name = "other";
		i = incident_book_find_kind(book, name, kind.severity);
	}
	*ret_kind = i;
	if (i < book->kinds.count)
		return 0;
	kind.name = strndup(name, KIND_NAME_MAX);
	if (!kind.name || array_push(&book->kinds, kind) < 0) {
		free(kind.name);
		return -ENOMEM;
	}
	return 0;
}

static int incident_book_add_text(struct book *book, const char *text, uint32_t *ret_id)
{
	return strings_add(&book->strings, text, strlen(text), ret_id) < 0 ? -ENOMEM : 0;
}

static int incident_book_see(void *context, const struct store_incident *incident)
{
	struct book *book = context;
	struct book_row row = {
		.id = incident->id,
		.time_ns = incident->time_ns,
		.stall_ns = MIN(incident->stall_ns, incident->time_ns),
		.error_ns = incident->error_ns,
		.perf_ns = incident->perf_ns,
		.noted = !*incident->segment,
	};

	if (incident_book_add_kind(book, incident, &row.kind) < 0 ||
	    incident_book_add_text(book, incident->text, &row.text) < 0 ||
	    incident_book_add_text(book, incident->source, &row.source) < 0 ||
	    incident_book_add_text(book, incident->fields, &row.fields) < 0 ||
	    incident_book_add_text(book, incident->boot_id, &row.boot_id) < 0)
		return -ENOMEM;
	return array_push(&book->rows, row);
}

/*
 * Compares a field with a length, with some slack, because the wall clock is slewed between two
 * stamps of the kernel.
 */
static bool is_about(uint64_t number, uint64_t unit_ns, uint64_t length_ns)
{
	uint64_t slack_ns = length_ns / 1000 + NSEC_PER_USEC;

	return number && number <= (length_ns + slack_ns) / unit_ns &&
	       number * unit_ns + slack_ns >= length_ns;
}

/*
 * Returns whether a field states the length of the stall. Otherwise the length comes from the kind,
 * as a lower bound.
 */
static bool states_age(const struct fields *fields, uint64_t stall_ns)
{
	static const uint64_t units[] = { 1, NSEC_PER_USEC, NSEC_PER_MSEC, NSEC_PER_SEC };

	for (size_t i = 0; i < fields->count; i++) {
		const struct field *field = &fields->list[i];
		uint64_t number = field->number ? strtoull(field->value, NULL, 10) : 0;

		for (size_t unit = 0; unit < ARRAY_SIZE(units); unit++)
			if (is_about(number, units[unit], stall_ns))
				return true;
	}
	return false;
}

int book_incident(const struct book *book, const struct book_row *row, struct buffer *names,
		  char device[64], struct incident *ret_incident)
{
	struct incident incident = {
		.id = row->id,
		.kind = &book->kinds.items[row->kind],
		.moment = {
			.has_time = true,
			.realtime_ns = row->time_ns,
			.error_ns = row->error_ns,
			.has_uptime = row->perf_ns != 0,
			.uptime_ns = row->perf_ns,
		},
		.has_stall = row->stall_ns < row->time_ns,
		.stall_ns = row->time_ns - row->stall_ns,
		.boot_id = book_text(book, row->boot_id),
		.boot = row->boot_id,
		.line = book_text(book, row->text),
	};
	int r = field_rows_read(book_text(book, row->fields), names, &incident.fields);

	if (r < 0)
		return r;
	incident.fields.has_age =
		incident.has_stall && states_age(&incident.fields, incident.stall_ns);
	incident.line_size = strlen(incident.line);
	incident.device = classify_device(&incident.fields, "", device);
	*ret_incident = incident;
	return 0;
}

/* Makes the episodes. Call it after the last row was added, because adding rows moves the texts. */
static int make_episodes(struct book *book)
{
	_cleanup_(buffer_done) struct buffer names = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < book->rows.count; i++) {
		struct book_row *row = &book->rows.items[i];
		struct incident incident;
		char device[64];

		r = book_incident(book, row, &names, device, &incident);
		if (r < 0)
			return r;
		r = episodes_add(&book->episodes, &incident, &row->episode);
	}
	return r;
}

static int incident_book_read(struct store_reader *reader, uint64_t since_ns, struct book *book,
			      struct error *error)
{
	int r = store_reader_incidents(reader, since_ns, UINT64_MAX, incident_book_see, book,
				       error);

	return r < 0 ? r : make_episodes(book);
}

static int incident_book_find_segments(struct store_reader *reader, struct book *book,
				       struct error *error)
{
	uint64_t from_ns = UINT64_MAX, to_ns = 0;

	for (size_t i = 0; i < book->rows.count; i++) {
		from_ns = MIN(from_ns, book->rows.items[i].stall_ns);
		to_ns = MAX(to_ns, book->rows.items[i].time_ns + 1);
	}
	return from_ns < to_ns ? store_reader_list(reader, from_ns, to_ns, &book->segments, error)
			       : 0;
}

/* Gives the book to the caller, or frees it after a failure. Returns r. */
static int incident_book_give(int r, struct book *book, struct book *ret_book)
{
	if (r < 0)
		book_done(book);
	else
		*ret_book = *book;
	return r;
}

int book_open(struct store_reader *reader, struct book *ret_book, struct error *error)
{
	return book_open_since(reader, 0, ret_book, error);
}

int book_open_since(struct store_reader *reader, uint64_t since_ns, struct book *ret_book,
		    struct error *error)
{
	struct book book = { 0 };
	int r = incident_book_read(reader, since_ns, &book, error);

	if (r == 0)
		r = incident_book_find_segments(reader, &book, error);
	return incident_book_give(r, &book, ret_book);
}

int book_open_bare(struct store_reader *reader, struct book *ret_book, struct error *error)
{
	struct book book = { 0 };

	return incident_book_give(incident_book_read(reader, 0, &book, error), &book, ret_book);
}

int book_describe_unread(struct store_reader *reader, struct buffer *text, struct error *error)
{
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	const struct store_segment *first = NULL;
	size_t count = 0;
	int r = store_reader_find(reader, 0, UINT64_MAX, &segments, error);

	for (size_t i = 0; r == 0 && i < segments.list.count; i++) {
		const struct store_segment *segment = &segments.list.items[i];

		if (!*segment->damage)
			continue;
		first = first ? first : segment;
		count++;
	}
	if (count == 1)
		buffer_printf(text, "%s: %s; incidents in it may be missing", first->name,
			      first->damage);
	else if (count)
		buffer_printf(text, "%s: %s; incidents in it and in %zu others may be missing",
			      first->name, first->damage, count - 1);
	return r;
}

/* No segment is longer than this. */
#define SEGMENT_MAX_NS (7200 * NSEC_PER_SEC)

static size_t first_segment(const struct store_segments *segments, uint64_t time_ns)
{
	size_t low = 0, high = segments->list.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (segments->list.items[middle].begin_ns + SEGMENT_MAX_NS < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool same_boot(const char *a, const char *b)
{
	for (;;) {
		a += *a == '-';
		b += *b == '-';
		if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
			return false;
		if (!*a)
			return true;
		a++;
		b++;
	}
}

/* An unknown boot matches any. */
static bool may_be_of(const struct store_segment *segment, const char *boot_id)
{
	return !*boot_id || !*segment->boot_id || same_boot(segment->boot_id, boot_id);
}

uint64_t segments_recorded(const struct store_segments *segments, const char *boot_id,
			   uint64_t from_ns, uint64_t to_ns)
{
	uint64_t until_ns = from_ns, recorded_ns = 0;

	for (size_t i = first_segment(segments, from_ns); i < segments->list.count; i++) {
		const struct store_segment *segment = &segments->list.items[i];
		uint64_t begin_ns = MAX(segment->begin_ns, until_ns);
		uint64_t end_ns = MIN(segment->end_ns, to_ns);

		if (segment->begin_ns >= to_ns)
			break;
		if (*segment->damage || end_ns <= begin_ns || !may_be_of(segment, boot_id))
			continue;
		recorded_ns += end_ns - begin_ns;
		until_ns = end_ns;
	}
	return recorded_ns;
}

enum covered segments_covered(const struct store_segments *segments, const char *boot_id,
			      uint64_t from_ns, uint64_t to_ns)
{
	uint64_t recorded_ns;

	/* treat a moment as a window of a nanosecond */
	to_ns = MAX(to_ns, from_ns + 1);
	recorded_ns = segments_recorded(segments, boot_id, from_ns, to_ns);
	if (!recorded_ns)
		return COVERED_NOT;
	return recorded_ns < to_ns - from_ns ? COVERED_PARTLY : COVERED_WHOLLY;
}

static char incident_book_plain(char c)
{
	return c == '.' || c == '-' ? '_' : tolower((unsigned char)c);
}

bool book_kind_is(const char *kind, const char *asked, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (!kind[i] || incident_book_plain(kind[i]) != incident_book_plain(asked[i]))
			return false;
	return size && (!kind[size] || incident_book_plain(kind[size]) == '_');
}
