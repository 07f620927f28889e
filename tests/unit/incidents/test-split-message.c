// SPDX-License-Identifier: GPL-2.0-only
/* Names with newlines, in logs of which each line looks like a message of its own. */
#include "tests/scans.h"

#define RESET "ena 0000:20:03.0 eth0: Trigger reset is on"
#define HUNG "INFO: task a:1 blocked for more than 120 seconds."
#define QUOTE "overlayfs: failed to resolve '/x\n"

/* Returns how many incidents of a log are the kernel's own, in pieces of any size. */
static size_t count_own(const char *text, bool with_doubtful)
{
	static const size_t pieces[] = { 1, 7, 100, 1 << 20 };
	struct log_clock_options clock = { .end_ns = SCAN_END_NS, .utc = true };
	size_t counts[ARRAY_SIZE(pieces)] = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		struct found_list found = { 0 };

		scan_pieces(text, strlen(text), pieces[i], &clock, false, &found);
		for (size_t j = 0; j < found.list.count; j++)
			counts[i] += !found.list.items[j].quoted &&
				     (with_doubtful || !found.list.items[j].doubtful);
		CHECK_EQ(counts[i], counts[0]);
		found_done(&found);
	}
	return counts[0];
}

/* Some loggers give each line of a message the stamp of the message. */
static void test_split(void)
{
	static const char *const quoted[] = {
		/* rsyslog with imklog, in its two formats, and without the kernel's stamp */
		"Mar 12 07:41:09 h kernel: [  754.272691] " QUOTE
		"Mar 12 07:41:09 h kernel: [  754.272691] " HUNG "\n"
		"Mar 12 07:41:09 h kernel: [  754.272691] ': -2\n",
		"2025-03-12T07:41:09.183840+00:00 h kernel: [  754.272691] " QUOTE
		"2025-03-12T07:41:09.183855+00:00 h kernel: [  754.272691] " HUNG "\n",
		"2025-03-12T07:41:09.183840+00:00 h kernel: " QUOTE
		"2025-03-12T07:41:09.183840+00:00 h kernel: " HUNG "\n",
		/* dmesg of busybox */
		"[  754.272691] " QUOTE "[  754.272691] " HUNG "\n[  754.272691] ': -2\n",
		/* an empty first line, and two lies */
		"[  754.272691] \n[  754.272691] " HUNG "\n[  754.272691] " HUNG "\n",
		/* a user's own lines come between, also such that look like the kernel's */
		"Mar 12 07:41:09 h kernel: [  754.272691] " QUOTE
		"Mar 12 07:41:09 h nobody: noise\n"
		"Mar 12 07:41:09 h nobody: kernel: [  9.000000] noise\n"
		"Mar 12 07:41:09 h nobody[7]: [  9.000000] " HUNG "\n"
		"Mar 12 07:41:09 h kernel: [  754.272691] " HUNG "\n",
		/* a shipper puts each line of such a file into JSON */
		"{\"log\":\"Mar 12 07:41:09 h kernel: [  754.272691] " HUNG " '/x\"}\n"
		"{\"log\":\"Mar 12 07:41:09 h kernel: [  754.272691] " HUNG "\"}\n",
	};
	static const char *const own[] = {
		"[  754.272690] eth0: link up\n[  754.272691] " HUNG "\n",
		/* incidents that name no file do not make others doubtful */
		"[  754.272691] " RESET
		"\n[  754.272691] ena 0000:20:03.0 eth0: napi handler hasn't "
		"been called for a long time but is scheduled\n[  754.272691] " HUNG "\n",
		/* no stamp of the kernel, and none of the logger that would be fine enough */
		"Mar 12 07:41:09 h kernel: eth0: link up\nMar 12 07:41:09 h kernel: " HUNG "\n",
	};
	static const size_t counts[] = { 1, 3, 1 };

	for (size_t i = 0; i < ARRAY_SIZE(quoted); i++)
		if (count_own(quoted[i], true) != (i == ARRAY_SIZE(quoted) - 1))
			CHECK_FAIL("%s is not marked as quoted", quoted[i]);
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		CHECK_EQ(count_own(own[i], true), counts[i]);
}

#define OVERLAY "overlayfs: failed to resolve '/x"

/* Without the kernel's stamps, the log does not show where a message begins. */
static void test_doubtful(void)
{
	static const char *const doubtful[] = {
		/* rsyslog without the kernel's stamps */
		"Mar 12 07:41:09 h kernel: " OVERLAY "\nMar 12 07:41:09 h kernel: " HUNG "\n",
		"Mar 12 07:41:09 h kernel: " OVERLAY "\nMar 12 07:41:10 h kernel: " HUNG "\n",
		"Mar 12 23:59:59 h kernel: " OVERLAY "\nMar 13 00:00:00 h kernel: " HUNG "\n",
		"2025-03-12T07:41:09.183840+00:00 h kernel: " OVERLAY
		"\n2025-03-12T07:41:09.183855+00:00 h kernel: " HUNG "\n",
		"kernel: " OVERLAY "\nkernel: " HUNG "\n",
		/* two lies; others' lines come between */
		"Mar 12 07:41:09 h kernel: " OVERLAY "\nMar 12 07:41:09 h x: noise\n"
		"Mar 12 07:41:09 h kernel: " HUNG "\nMar 12 07:41:10 h kernel: " RESET "\n",
		/* the user chooses stamps, too */
		"Mar 12 07:41:09 h kernel: " OVERLAY "\nMar 12 07:41:09 h kernel: [ 1.000000] " HUNG
		"\n",
		"Mar 12 07:41:09 h kernel: " OVERLAY "\nMar 12 07:41:09 h kernel: [ 1.000000] x\n"
		"Mar 12 07:41:09 h kernel: [ 2.000000] y\n"
		"Mar 12 07:41:09 h kernel: [ 3.000000] " HUNG "\n",
		/* journalctl -o cat, dmesg --notime */
		OVERLAY "\n" HUNG "\n",
		OVERLAY "\n\n" HUNG "\n",
		OVERLAY "\n[  754.272691] " HUNG "\n",
		"[  754.272691] " OVERLAY "\n" HUNG "\n",
	};
	static const char *const certain[] = {
		HUNG "\n",
		"Mar 12 07:41:07 h kernel: " OVERLAY "\nMar 12 07:41:09 h kernel: " HUNG "\n",
		"Mar 11 07:41:09 h kernel: " OVERLAY "\nMar 12 07:41:09 h kernel: " HUNG "\n",
		"Mar 12 07:41:09 h x: noise\nMar 12 07:41:09 h kernel: " HUNG "\n",
		"Mar 12 07:41:09 h kernel: " RESET "\nMar 12 07:41:09 h kernel: " HUNG "\n",
		"Mar 12 07:41:09 h kernel: [ 9.000000] " OVERLAY
		"\nMar 12 07:41:09 h kernel: [ 9.000001] " HUNG "\n",
		"-- Boot 2f1b03c3e2104787adb361b0dfd671fc --\nMar 12 07:41:09 h kernel: " HUNG "\n",
		"[Wed Mar 12 07:41:09 2025] " OVERLAY "\n[Wed Mar 12 07:41:09 2025] " HUNG "\n",
		"{\"message\":\"" OVERLAY "\"}\n{\"message\":\"" HUNG "\"}\n",
		"timestamp,message\n2025-03-12T07:41:09.000Z,\"" HUNG "\"\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(doubtful); i++)
		if (count_own(doubtful[i], false))
			CHECK_FAIL("%s is not marked as doubtful", doubtful[i]);
	for (size_t i = 0; i < ARRAY_SIZE(certain); i++)
		if (!count_own(certain[i], false))
			CHECK_FAIL("%s is marked as doubtful", certain[i]);
}

CHECK_MAIN({ "a line with the stamp of the message before it is quoted", test_split },
	   { "a line that may belong to the message before it is doubtful", test_doubtful })
