// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <errno.h>

#include "incidents/logs/kmsg.h"

static int parse(const char *data, struct buffer *text, struct kmsg_record *record)
{
	return kmsg_parse(data, strlen(data), text, record);
}

static void check_text(const struct kmsg_record *record, const char *expected)
{
	CHECK_EQ(record->text_size, strlen(expected));
	CHECK(!memcmp(record->text, expected, record->text_size));
}

static void test_record(void)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	struct kmsg_record record;
	const char *value;
	size_t size;

	CHECK_EQ(parse("3,48123,1371911339996,-,caller=C12;ena 0000:20:03.0 eth0: Trigger reset "
		       "is on\n SUBSYSTEM=pci\n DEVICE=+pci:0000:20:03.0\n",
		       &text, &record),
		 0);
	CHECK_EQ(record.facility, 0);
	CHECK_EQ(record.level, 3);
	CHECK_EQ(record.sequence, 48123);
	CHECK_EQ(record.stamp_ns, 1371911339996000);
	CHECK(!record.fragment);
	CHECK_EQ(record.caller, 'C');
	CHECK_EQ(record.caller_id, 12);
	check_text(&record, "ena 0000:20:03.0 eth0: Trigger reset is on");
	value = kmsg_value(&record, "DEVICE", &size);
	CHECK(value && size == 17 && !memcmp(value, "+pci:0000:20:03.0", size));
	value = kmsg_value(&record, "SUBSYSTEM", &size);
	CHECK(value && size == 3 && !memcmp(value, "pci", size));
	CHECK(!kmsg_value(&record, "SUBSYS", &size));
}

static void test_forms(void)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	struct kmsg_record record;
	size_t size;

	CHECK_EQ(parse("30,1,0,c;systemd[1]: caf\\xc3\\xa9 \\x5c \\x0a", &text, &record), 0);
	CHECK_EQ(record.facility, 3);
	CHECK_EQ(record.level, 6);
	CHECK(record.fragment);
	CHECK_EQ(record.caller, 0);
	check_text(&record, "systemd[1]: caf\xc3\xa9 \\");
	CHECK(!kmsg_value(&record, "DEVICE", &size));
	/* fields that later kernels may add */
	CHECK_EQ(parse("6,2,5,-,caller=T77,later=1,x;text", &text, &record), 0);
	CHECK_EQ(record.caller, 'T');
	CHECK_EQ(record.caller_id, 77);
	check_text(&record, "text");
	CHECK_EQ(parse("6,2,5,-;", &text, &record), 0);
	CHECK_EQ(record.text_size, 0);
	/* this is not an escape */
	CHECK_EQ(parse("6,2,5,-;\\x4 \\xzz \\", &text, &record), 0);
	check_text(&record, "\\x4 \\xzz \\");
}

static void test_damaged(void)
{
	static const char *const rows[] = { "",
					    "3",
					    "3,",
					    "3,1,2",
					    "3,1,2,-",
					    "3,1,2,?;x",
					    "x,1,2,-;x",
					    "3,,2,-;x",
					    "3,1,2,-\n;x",
					    "99999,1,2,-;x",
					    "3,1,99999999999999999999,-;x" };
	_cleanup_(buffer_done) struct buffer text = { 0 };
	struct kmsg_record record;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (parse(rows[i], &text, &record) != -EBADMSG)
			CHECK_FAIL("\"%s\" is taken", rows[i]);
}

CHECK_MAIN({ "a record is read", test_record },
	   { "escapes, fragments and unknown fields are read", test_forms },
	   { "text that is not a record is refused", test_damaged })
