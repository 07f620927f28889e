// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every line of tests/data/incident-lines.tsv, most of them from public reports, either has the
 * kind, the fields and the time of the table, or is not an incident. In the table, a field name
 * ends with a number if a pattern contains the name twice.
 */
#include "tests/scans.h"

#include <ctype.h>

#include "base/file.h"
#include "incidents/logs/stamp.h"

enum column {
	FORMAT,
	SOURCE,
	LINE,
	KIND,
	FIELDS,
	COLUMNS = 6,
};

static const char *const renamed[][2] = {
	{ "if1", "ifname" }, { "if2", "ifname" }, { "drv2", "drv" },
	{ "cs2", "cs" },     { "qid2", "qid" },	  { "ms2", "ms" },
};

static const char *our_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(renamed); i++)
		if (!strcmp(renamed[i][0], name))
			return renamed[i][1];
	return name;
}

/* In the table, _ also matches a blank. */
static bool has_field(const struct found *found, const char *name, const char *value)
{
	char wanted[256];
	const char *at;

	snprintf(wanted, sizeof(wanted), " %s=%s ", our_name(name), value);
	for (at = found->fields; *at; at++) {
		size_t i = 0;

		while (wanted[i] && (at[i] == wanted[i] || (at[i] == ' ' && wanted[i] == '_')))
			i++;
		if (!wanted[i])
			return true;
	}
	return false;
}

/* "Jul14T10:10:21" or RFC 3339, with or without a zone */
static bool is_wall(const struct found *found, const char *wall)
{
	char copy[64];
	struct text_cursor cursor = { copy, NULL };
	struct stamp stamp;
	time_t found_seconds = found->realtime_ns / NSEC_PER_SEC;
	struct tm tm;
	int64_t seconds;

	snprintf(copy, sizeof(copy), "%s", wall);
	if (isalpha((unsigned char)copy[0])) {
		memmove(copy + 4, copy + 3, strlen(copy + 3) + 1);
		copy[3] = ' ';
		*strrchr(copy, 'T') = ' ';
	}
	cursor.end = copy + strlen(copy);
	gmtime_r(&found_seconds, &tm);
	return stamp_take(&cursor, &stamp) && cursor.at == cursor.end &&
	       stamp_seconds(&stamp, stamp.year ? stamp.year : tm.tm_year + 1900, &seconds) &&
	       found->realtime_ns == (seconds - stamp.offset_s) * NSEC_PER_SEC + stamp.fraction_ns;
}

/* Returns whether the line has the values of the table. Some columns are only for tests of kmsg. */
static bool holds(const struct found *found, const char *name, const char *value)
{
	static const char *const elsewhere[] = { "level",  "facility", "seq",
						 "caller", "delta",    "mono_us" };
	uint64_t number = strtoull(value, NULL, 10);

	for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++)
		if (!strcmp(name, elsewhere[i]))
			return true;
	if (!strcmp(name, "up")) {
		char text[64];

		snprintf(text, sizeof(text), "%llu.%06llu",
			 (unsigned long long)(found->uptime_ns / NSEC_PER_SEC),
			 (unsigned long long)(found->uptime_ns % NSEC_PER_SEC / 1000));
		return found->has_uptime && !strcmp(text, value);
	}
	if (!strcmp(name, "up_us") || !strcmp(name, "src_us"))
		return found->has_uptime && found->uptime_ns == number * NSEC_PER_USEC;
	if (!strcmp(name, "wall"))
		return is_wall(found, value);
	/* a better stamp from elsewhere may differ from the table by the lateness of the line */
	if (!strcmp(name, "wall_ms"))
		return found->realtime_ns / NSEC_PER_SEC == number / 1000;
	if (!strcmp(name, "real_us"))
		return number * NSEC_PER_USEC - found->realtime_ns < 2 * NSEC_PER_MSEC;
	return has_field(found, name, value);
}

static void check_fields(const char *line, const struct found *found, char *fields)
{
	char *field;

	while ((field = strsep(&fields, " "))) {
		char *value = strchr(field, '=');

		if (!value)
			continue;
		*value++ = 0;
		if (!holds(found, field, value))
			CHECK_FAIL("%s: %s is not %s:%s %s", line, field, value, found->fields,
				   found->time);
	}
}

/* In the table, \n stands for a newline in a record; in other lines it is a backslash and an n. */
static void unescape(char *line)
{
	char *to = line;

	for (char *from = line; *from; from++) {
		if (from[0] == '\\' && from[1] == 'n') {
			*to++ = '\n';
			from++;
		} else {
			*to++ = *from;
		}
	}
	*to = 0;
}

static void check_row(char *row)
{
	struct found_list found = { 0 };
	char *columns[COLUMNS] = { NULL };
	bool none;

	for (size_t i = 0; i < COLUMNS; i++)
		columns[i] = strsep(&row, "\t");
	if (!strncmp(columns[FORMAT], "kmsg", 4) || !strcmp(columns[FORMAT], "journal-export"))
		unescape(columns[LINE]);
	none = !strcmp(columns[KIND], "none");
	scan(columns[LINE], &found);
	if (!strncmp(columns[KIND], "untrusted:", 10)) {
		CHECK_EQ(found.summary.forged, 1);
		none = true;
	}
	if (found.list.count != !none)
		CHECK_FAIL("%s: %zu incidents", columns[LINE], found.list.count);
	if (!none && strcmp(found.list.items[0].kind, columns[KIND]))
		CHECK_FAIL("%s: %s", columns[LINE], found.list.items[0].kind);
	if (!none)
		check_fields(columns[LINE], &found.list.items[0], columns[FIELDS]);
	/* only an event of Kubernetes puts its own words before the kernel's words */
	if (!none && found.list.items[0].quoted != !strcmp(columns[FORMAT], "k8s-event"))
		CHECK_FAIL("%s: quoted or not", columns[LINE]);
	found_done(&found);
}

static char *read_table(void)
{
	char path[4096], *text;

	snprintf(path, sizeof(path), "%s/data/incident-lines.tsv", getenv("PERFTAPE_TESTS"));
	CHECK_EQ(file_read(path, 1 << 24, &text, NULL), 0);
	return text;
}

static void test_lines(void)
{
	_cleanup_free_ char *text = read_table();
	char *rest = text, *row;
	size_t rows = 0;

	strsep(&rest, "\n");
	while ((row = strsep(&rest, "\n")) && *row) {
		check_row(row);
		rows++;
	}
	CHECK(rows > 140);
}

/*
 * A truncated line has the same kind as the whole line, or is not an incident. If a kind has
 * several patterns, all patterns give the same result.
 */
static void test_cut(void)
{
	_cleanup_free_ char *text = read_table();
	char *rest = text, *row;

	strsep(&rest, "\n");
	while ((row = strsep(&rest, "\n")) && *row) {
		char *columns[COLUMNS] = { NULL };

		for (size_t i = 0; i < COLUMNS; i++)
			columns[i] = strsep(&row, "\t");
		for (size_t size = strlen(columns[LINE]); size; size -= MIN(size, 3)) {
			struct found_list found = { 0 };
			struct log_clock_options clock = { .end_ns = SCAN_END_NS, .utc = true };

			scan_pieces(columns[LINE], size, 1 << 20, &clock, false, &found);
			if (found.list.count &&
			    strcmp(found.list.items[0].kind, columns[KIND]) != 0)
				CHECK_FAIL("%.*s: %s, not %s", (int)size, columns[LINE],
					   found.list.items[0].kind, columns[KIND]);
			found_done(&found);
		}
	}
}

/*
 * Messages from format strings of Linux 6.12 that are not incidents. The test writes them in the
 * form that says most about the writer, and in the form that says least.
 */
static void test_ordinary(void)
{
	static const char *const heads[] = { "", "[   12.345678] ",
					     "Mar 12 07:41:09 h kernel: ", "3,1,2,-;",
					     "2025-03-12T07:41:09Z " };
	_cleanup_free_ char *text = NULL;
	char path[4096], *rest, *message;
	size_t messages = 0;

	snprintf(path, sizeof(path), "%s/data/ordinary-messages.txt", getenv("PERFTAPE_TESTS"));
	CHECK_EQ(file_read(path, 1 << 24, &text, NULL), 0);
	rest = text;
	while ((message = strsep(&rest, "\n")) && *message) {
		messages++;
		for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
			struct found_list found = { 0 };
			char line[4096];

			snprintf(line, sizeof(line), "%s%s\n", heads[i], message);
			scan(line, &found);
			if (found.list.count)
				CHECK_FAIL("%s: %s", line, found.list.items[0].kind);
			found_done(&found);
		}
	}
	CHECK(messages > 2000);
}

static void check_quote(const char *message)
{
	struct found_list found = { 0 };
	struct scan_summary summary;
	char line[1024];
	const struct scanner_options options = { .catalogue = scan_catalogue(),
						 .own_words = true,
						 .give = scan_keep,
						 .context = &found };
	_cleanup_(cleanup_scanner) struct scanner *scanner = NULL;

	snprintf(line, sizeof(line), "3,1,2,-;%s\n", message);
	scan(line, &found);
	for (size_t i = 0; i < found.list.count; i++)
		if (!found.list.items[i].quoted)
			CHECK_FAIL("%s: %s", message, found.list.items[i].kind);
	found_done(&found);
	found = (struct found_list){ 0 };
	CHECK_EQ(scanner_new(&options, &scanner), 0);
	CHECK_EQ(scanner_feed(scanner, line, strlen(line)), 0);
	CHECK_EQ(scanner_finish(scanner, &summary), 0);
	CHECK_EQ(found.list.count, 0);
	found_done(&found);
}

/* Messages of the kernel in which a user chose the name of a file, a mount or a task. */
static void test_quotes(void)
{
	_cleanup_free_ char *text = NULL;
	char path[4096], *rest, *message;
	size_t messages = 0;

	snprintf(path, sizeof(path), "%s/data/quoted-messages.txt", getenv("PERFTAPE_TESTS"));
	CHECK_EQ(file_read(path, 1 << 24, &text, NULL), 0);
	rest = text;
	while ((message = strsep(&rest, "\n")) && *message) {
		check_quote(message);
		messages++;
	}
	CHECK(messages > 20);
}

CHECK_MAIN({ "what the kernel quotes is no incident of its own", test_quotes },
	   { "each line is what the table says", test_lines },
	   { "a truncated line has no other kind", test_cut },
	   { "ordinary messages are not incidents", test_ordinary })
