// SPDX-License-Identifier: GPL-2.0-only
/* The text of metrics, with values that others chose, and the file that holds it. */
#include "tests/check.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/status/metrics-text.h"
#include "tests/tapes.h"

/* The lines of both forms of one counter and one gauge. */
static const char *shown(enum metrics_form form, const char *value)
{
	static char text[2048];
	_cleanup_(buffer_done) struct buffer buffer = { 0 };
	struct metrics_text metrics = { .text = &buffer, .form = form };

	metrics_family(&metrics, "perftape_found", METRICS_COUNTER, "What was found.");
	metrics_label(&metrics, "by", value);
	metrics_label(&metrics, "cpu", "3");
	metrics_number(&metrics, 18446744073709551615ull);
	metrics_put_seconds(&metrics, "perftape_age_seconds", METRICS_GAUGE, 1500000002,
			    "Its age.");
	metrics_end(&metrics);
	snprintf(text, sizeof(text), "%s", buffer_shown(&buffer));
	return text;
}

static void test_forms(void)
{
	CHECK_STR(shown(METRICS_PROMETHEUS, "runc"),
		  "# HELP perftape_found_total What was found.\n"
		  "# TYPE perftape_found_total counter\n"
		  "perftape_found_total{by=\"runc\",cpu=\"3\"} 18446744073709551615\n"
		  "# HELP perftape_age_seconds Its age.\n"
		  "# TYPE perftape_age_seconds gauge\n"
		  "perftape_age_seconds 1.500000002\n");
	CHECK_STR(shown(METRICS_OPENMETRICS, "runc"),
		  "# HELP perftape_found What was found.\n"
		  "# TYPE perftape_found counter\n"
		  "perftape_found_total{by=\"runc\",cpu=\"3\"} 18446744073709551615\n"
		  "# HELP perftape_age_seconds Its age.\n"
		  "# TYPE perftape_age_seconds gauge\n"
		  "perftape_age_seconds 1.500000002\n"
		  "# EOF\n");
}

static bool has_label(const char *value, const char *label)
{
	return strstr(shown(METRICS_PROMETHEUS, value), label) != NULL;
}

static void test_foreign(void)
{
	char longest[METRICS_LABEL_BYTES + 64], label[sizeof(longest) + 16];

	/* a quotation mark would end the value, and a newline would begin another sample */
	CHECK(has_label("a\"} 1\nperftape_recording 1", "by=\"a\\\"} 1?perftape_recording 1\","));
	CHECK(has_label("back\\slash\\", "by=\"back\\\\slash\\\\\","));
	CHECK(has_label("\x1b[31m\x7f\r", "by=\"?[31m??\","));
	CHECK(has_label("\xff\xfe ok", "by=\"?? ok\","));
	CHECK(has_label("\xe2\x80\xae", "by=\"?\","));
	CHECK(has_label("m\xc3\xbcll", "by=\"m\xc3\xbcll\","));
	CHECK(has_label("", "{by=\"\",cpu"));
	/* a character of two bytes does not fit into the last byte */
	memset(longest, 'x', sizeof(longest));
	strcpy(longest + METRICS_LABEL_BYTES - 1, "\xc3\xbc and more");
	snprintf(label, sizeof(label), "by=\"%.*s\",", METRICS_LABEL_BYTES - 1, longest);
	CHECK(has_label(longest, label));
}

static void check_file(const char *path, const char *text)
{
	_cleanup_free_ char *data = NULL;
	struct stat about;

	CHECK_EQ(file_read(path, 1000, &data, NULL), 0);
	CHECK_STR(data, text);
	CHECK_EQ(stat(path, &about), 0);
	CHECK_EQ(about.st_mode & 07777, 0644);
}

static void test_file(void)
{
	_cleanup_(tapes_store_done) struct tapes_store folder;
	char path[256], theirs[256], beside[256];
	mode_t mask;

	tapes_store_init(&folder);
	snprintf(path, sizeof(path), "%s/perftape.prom", folder.path);
	snprintf(beside, sizeof(beside), "%s/.perftape.prom.new", folder.path);
	snprintf(theirs, sizeof(theirs), "%s/theirs", folder.path);
	mask = umask(077);
	CHECK_EQ(file_publish(path, "one\n", 4), 0);
	check_file(path, "one\n");
	/*
	 * a link in the place of a killed recorder's leftover file neither disturbs nor leads
	 * anywhere
	 */
	CHECK_EQ(symlink(theirs, beside), 0);
	CHECK_EQ(file_publish(path, "two\n", 4), 0);
	umask(mask);
	check_file(path, "two\n");
	CHECK_EQ(access(theirs, F_OK), -1);
	CHECK_EQ(access(beside, F_OK), -1);
	/* a folder of that name cannot be replaced */
	CHECK_EQ(mkdir(theirs, 0700), 0);
	CHECK_EQ(file_publish(theirs, "three\n", 6), -EISDIR);
	snprintf(beside, sizeof(beside), "%s/.theirs.new", folder.path);
	CHECK_EQ(access(beside, F_OK), -1);
	snprintf(path, sizeof(path), "%s/none/perftape.prom", folder.path);
	CHECK_EQ(file_publish(path, "four\n", 5), -ENOENT);
}

/* Values that differ only where they are cut or cleaned: readers refuse a text with equal samples.
 */
static void test_repeated(void)
{
	_cleanup_(buffer_done) struct buffer buffer = { 0 };
	struct metrics_text metrics = { .text = &buffer };
	char longest[METRICS_LABEL_BYTES + 2];

	metrics_family(&metrics, "a", METRICS_GAUGE, "A.");
	for (char end = '0'; end < '3'; end++) {
		memset(longest, 'x', METRICS_LABEL_BYTES);
		longest[METRICS_LABEL_BYTES] = end;
		longest[METRICS_LABEL_BYTES + 1] = 0;
		metrics_label(&metrics, "by", longest);
		metrics_number(&metrics, 1);
	}
	longest[METRICS_LABEL_BYTES] = 0;
	metrics_label(&metrics, "by", "other");
	metrics_number(&metrics, 1);
	metrics_family(&metrics, "b", METRICS_GAUGE, "B.");
	metrics_label(&metrics, "by", longest);
	metrics_number(&metrics, 1);
	for (int count = 2; count <= 4; count++) {
		char label[METRICS_LABEL_BYTES + 64];

		snprintf(label, sizeof(label), "\na{by=\"%s\",repeat=\"%d\"} 1\n", longest, count);
		CHECK_EQ(strstr(buffer_shown(&buffer), label) != NULL, count <= 3);
	}
	CHECK(strstr(buffer_shown(&buffer), "\na{by=\"other\"} 1\n"));
	CHECK(!strstr(buffer_shown(&buffer), "\nb{by=\"x") ||
	      !strstr(strstr(buffer_shown(&buffer), "\nb{by=\"x"), "repeat"));
}

CHECK_MAIN({ "counters and gauges in both forms", test_forms },
	   { "text that others chose stays in its label", test_foreign },
	   { "samples with equal labels get another label", test_repeated },
	   { "the file is replaced as a whole, and everybody may read it", test_file })
