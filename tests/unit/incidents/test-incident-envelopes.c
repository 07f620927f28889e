// SPDX-License-Identifier: GPL-2.0-only
/*
 * A message is the same incident at the same time in every form that tools write around it, and in
 * nested forms. The messages are those of tests/data/incident-lines.tsv.
 */
#include "tests/scans.h"

#include "base/file.h"
#include "base/json.h"

#define AT_NS 1741765269339996000ull /* 2025-03-12T07:41:09.339996Z */
#define UPTIME_NS 1371911339996000ull
#define HOST "ip-10-0-3-7"

/*
 * %M is the message, %J the message as a JSON string without quotes, %B its bytes in JSON, %C the
 * message in CSV, %H in HTML.
 */
static const struct envelope {
	const char *name, *form;
	/* the largest error of the time; 0: the form contains no time */
	uint64_t time_error_ns;
	bool uptime;
} envelopes[] = {
	{ "bare", "%M", 0, false },
	{ "dmesg", "[1371911.339996] %M", 0, true },
	{ "dmesg -T", "[Wed Mar 12 07:41:09 2025] %M", NSEC_PER_SEC, false },
	{ "dmesg -T -d", "[Wed Mar 12 07:41:09 2025 <    0.004711>] %M", NSEC_PER_SEC, false },
	{ "dmesg -d", "[1371911.339996 <    0.004711>] %M", 0, true },
	{ "dmesg -d notime", "[<    0.004711>] %M", 0, false },
	{ "dmesg -r", "<3>[1371911.339996] %M", 0, true },
	{ "dmesg -x", "kern  :err   : [1371911.339996] %M", 0, true },
	{ "dmesg -x -T", "kern  :warn  : [Wed Mar 12 07:41:09 2025] %M", NSEC_PER_SEC, false },
	{ "dmesg iso", "2025-03-12T07:41:09,339996+00:00 %M", 1000, false },
	{ "dmesg -x iso", "kern  :crit  : 2025-03-12T07:41:09,339996+00:00 %M", 1000, false },
	{ "dmesg -H", "[Mar12 07:41] Booting\n[  +9.339996] %M", 60 * NSEC_PER_SEC, false },
	{ "dmesg caller", "[1371911.339996] [   T1234] %M", 0, true },
	{ "dmesg caller in irq", "[1371911.339996] [     C12] %M", 0, true },
	{ "dmesg several times",
	  "[1371911.339996] [Wed Mar 12 07:41:09 2025] [  +0.000000] "
	  "2025-03-12T07:41:09,339996+00:00 %M",
	  NSEC_PER_SEC, true },
	{ "dmesg --json",
	  "{\n   \"dmesg\": [\n      {\n         \"pri\": 3,\n"
	  "         \"time\": 1371911.339996,\n         \"msg\": \"%J\"\n      }\n   ]\n}",
	  0, true },
	{ "dmesg in colour", "\x1b[32m[1371911.339996] \x1b[0m\x1b[33m%M\x1b[0m", 0, true },
	{ "journalctl short", "Mar 12 07:41:09 " HOST " kernel: %M", NSEC_PER_SEC, false },
	{ "journalctl --no-hostname", "Mar 12 07:41:09 kernel: %M", NSEC_PER_SEC, false },
	{ "journalctl short-precise", "Mar 12 07:41:09.341207 " HOST " kernel: %M",
	  2 * NSEC_PER_MSEC, false },
	{ "journalctl short-iso", "2025-03-12T07:41:09+0000 " HOST " kernel: %M", NSEC_PER_SEC,
	  false },
	{ "journalctl short-iso 255", "2025-03-12T07:41:09+00:00 " HOST " kernel: %M", NSEC_PER_SEC,
	  false },
	{ "journalctl short-iso-precise", "2025-03-12T07:41:09.341207+0000 " HOST " kernel: %M",
	  2 * NSEC_PER_MSEC, false },
	{ "journalctl short-full", "Wed 2025-03-12 07:41:09 UTC " HOST " kernel: %M", NSEC_PER_SEC,
	  false },
	{ "journalctl short-unix", "1741765269.341207 " HOST " kernel: %M", 2 * NSEC_PER_MSEC,
	  false },
	{ "journalctl short-monotonic", "[1371911.339996] " HOST " kernel: %M", 0, true },
	{ "journalctl short-delta", "[1371911.339996 <    0.004711 >] " HOST " kernel: %M", 0,
	  true },
	{ "journalctl with-unit", "Wed 2025-03-12 07:41:09 UTC " HOST " kernel[0]: %M",
	  NSEC_PER_SEC, false },
	{ "journalctl json",
	  "{\"__REALTIME_TIMESTAMP\":\"1741765269341207\",\"__MONOTONIC_TIMESTAMP\":"
	  "\"1371911341207\",\"_TRANSPORT\":\"kernel\",\"SYSLOG_FACILITY\":\"0\","
	  "\"SYSLOG_IDENTIFIER\":\"kernel\",\"_SOURCE_MONOTONIC_TIMESTAMP\":"
	  "\"1371911339996\","
	  "\"MESSAGE\":\"%J\"}",
	  1000, true },
	{ "journalctl json, bytes",
	  "{\"__REALTIME_TIMESTAMP\":\"1741765269341207\",\"_TRANSPORT\":\"kernel\","
	  "\"_SOURCE_MONOTONIC_TIMESTAMP\":\"1371911339996\",\"MESSAGE\":[%B],"
	  "\"_HOSTNAME\":null}",
	  2 * NSEC_PER_MSEC, true },
	{ "journalctl json, bytes, written anew",
	  "{\"__REALTIME_TIMESTAMP\": \"1741765269341207\", \"MESSAGE\": [%B], "
	  "\"_HOSTNAME\": null}",
	  2 * NSEC_PER_MSEC, false },
	{ "journalctl json-pretty",
	  "{\n\t\"__REALTIME_TIMESTAMP\" : \"1741765269341207\",\n\t\"MESSAGE\" : \"%J\",\n\t"
	  "\"_SOURCE_MONOTONIC_TIMESTAMP\" : \"1371911339996\",\n\t\"_TRANSPORT\" : "
	  "\"kernel\"\n}",
	  2 * NSEC_PER_MSEC, true },
	{ "journalctl json-pretty, bytes",
	  "{\n\t\"__REALTIME_TIMESTAMP\" : \"1741765269341207\",\n\t\"MESSAGE\" : [%B],\n\t"
	  "\"_TRANSPORT\" : \"kernel\"\n}",
	  2 * NSEC_PER_MSEC, false },
	{ "journalctl json-sse",
	  "data: {\"__REALTIME_TIMESTAMP\":\"1741765269341207\",\"MESSAGE\":\"%J\"}\n",
	  2 * NSEC_PER_MSEC, false },
	{ "journalctl json-seq",
	  "\x1e{\"__REALTIME_TIMESTAMP\":\"1741765269341207\",\"MESSAGE\":\"%J\"}",
	  2 * NSEC_PER_MSEC, false },
	{ "journalctl export",
	  "__CURSOR=s=1\n__REALTIME_TIMESTAMP=1741765269341207\n_TRANSPORT=kernel\nMESSAGE=%"
	  "M\n"
	  "_SOURCE_MONOTONIC_TIMESTAMP=1371911339996\n\n",
	  2 * NSEC_PER_MSEC, true },
	{ "syslog", "Mar 12 07:41:09 " HOST " kernel: [1371911.339996] %M", NSEC_PER_SEC, true },
	{ "syslog, imjournal", "Mar 12 07:41:09 " HOST " kernel: %M", NSEC_PER_SEC, false },
	{ "syslog with a priority", "<3>Mar 12 07:41:09 " HOST " kernel: %M", NSEC_PER_SEC, false },
	{ "syslog RFC 3339",
	  "2025-03-12T07:41:09.341207+00:00 " HOST " kernel: [1371911.339996] %M",
	  2 * NSEC_PER_MSEC, true },
	{ "syslog in another zone", "2025-03-12T09:41:09.341207+02:00 " HOST " kernel: %M",
	  2 * NSEC_PER_MSEC, false },
	{ "syslog RFC 5424",
	  "<3>1 2025-03-12T07:41:09.341207Z " HOST " kernel - - [a@1 b=\"c\"] [1371911.339996] %M",
	  2 * NSEC_PER_MSEC, true },
	{ "syslog with the year", "Mar 12 2025 07:41:09 " HOST " kernel: %M", NSEC_PER_SEC, false },
	{ "logread", "Wed Mar 12 07:41:09 2025 kern.err kernel: [1371911.339996] %M", NSEC_PER_SEC,
	  true },
	{ "kmsg", "3,48123,1371911339996,-;%M\n SUBSYSTEM=pci", 0, true },
	{ "kmsg with its caller", "3,48123,1371911339996,-,caller=T1;%M", 0, true },
	{ "netconsole with its release", "6.12.0,3,48123,1371911339996,-;%M", 0, true },
	{ "netconsole by syslog", "Mar 12 07:41:09 " HOST " 3,48123,1371911339996,-;%M",
	  NSEC_PER_SEC, true },
	{ "CloudWatch", "{\"timestamp\":1741765269341,\"message\":\"%J\",\"ingestionTime\":1}",
	  2 * NSEC_PER_MSEC, false },
	{ "CloudWatch around syslog",
	  "{\n    \"events\": [\n        {\n            \"timestamp\": 1741765269341,\n"
	  "            \"message\": \"Mar 12 07:41:09 " HOST " kernel: %J\",\n"
	  "            \"ingestionTime\": 1741765271002\n        }\n    ]\n}",
	  NSEC_PER_SEC, false },
	{ "CloudWatch around syslog of another zone",
	  "{\"timestamp\":1741765269341,\"message\":\"Mar 12 00:41:09 " HOST " kernel: %J\"}",
	  NSEC_PER_SEC, false },
	{ "CloudWatch CSV", "timestamp,message\n1741765269341,\"%M\"", 2 * NSEC_PER_MSEC, false },
	{ "Insights CSV", "@timestamp,@message\n2025-03-12 07:41:09.341,\"%M\"", 2 * NSEC_PER_MSEC,
	  false },
	{ "Insights JSON",
	  "[[{\"field\":\"@timestamp\",\"value\":\"2025-03-12 07:41:09.341\"},"
	  "{\"field\":\"@message\",\"value\":\"%J\"}]]",
	  2 * NSEC_PER_MSEC, false },
	{ "aws logs tail",
	  "2025-03-12T07:41:09.341000+00:00 i-0abc Mar 12 07:41:09 " HOST " kernel: %M",
	  NSEC_PER_SEC, false },
	{ "Loki", "2025-03-12T07:41:09Z {job=\"journal\", host=\"" HOST "\"} %M", NSEC_PER_SEC,
	  false },
	{ "Loki jsonl",
	  "{\"labels\":{\"job\":\"j\"},\"line\":\"%J\",\"timestamp\":\"2025-03-12T07:41:09."
	  "341207Z"
	  "\"}",
	  2 * NSEC_PER_MSEC, false },
	{ "Loki's answer",
	  "{\"data\":{\"result\":[{\"stream\":{\"job\":\"j\"},\"values\":[["
	  "\"1741765269341207000\","
	  "\"%J\"]]}]}}",
	  2 * NSEC_PER_MSEC, false },
	{ "docker",
	  "{\"log\":\"%J\\n\",\"stream\":\"stdout\",\"time\":\"2025-03-12T07:41:09."
	  "341207Z\"}",
	  2 * NSEC_PER_MSEC, false },
	{ "containerd", "2025-03-12T07:41:09.341207Z stdout F %M", 2 * NSEC_PER_MSEC, false },
	{ "docker around dmesg",
	  "{\"log\":\"[1371911.339996] %J\\n\",\"time\":\"2025-03-12T07:41:09.341207Z\"}",
	  2 * NSEC_PER_MSEC, true },
	{ "a tag alone", "kernel: [1371911.339996] %M", 0, true },
	{ "a foreign beginning", "00h 02m 10.251s(76962ms): [1371911.339996] %M", 0, true },
	{ "carriage returns", "[1371911.339996] %M\r", 0, true },
	{ "dmesg -H, a minute later",
	  "[Mar12 07:40] Booting\n[  +5.000000] x\n[Mar12 07:41] y\n"
	  "[  +9.339996] %M",
	  60 * NSEC_PER_SEC, false },
	{ "dmesg -T in German", "[Mi M\xc3\xa4r 12 07:41:09 2025] %M", NSEC_PER_SEC, false },
	{ "dmesg -T in French", "[mer. mars 12 07:41:09 2025] %M", NSEC_PER_SEC, false },
	{ "journalctl short-delta, late", "[1371911.339996 <    0.004711*>] " HOST " kernel: %M", 0,
	  true },
	{ "journalctl short-delta, first", "[1371911.339996                ] " HOST " kernel: %M",
	  0, true },
	{ "journalctl verbose",
	  "Wed 2025-03-12 07:41:09.341207 UTC [s=0639;i=4fb;"
	  "b=2f1b03c3e2104787adb361b0dfd671fc;m=13f6c49c497;t=6302054294417;x=33f1]\n"
	  "    _TRANSPORT=kernel\n    SYSLOG_FACILITY=0\n    SYSLOG_IDENTIFIER=kernel\n"
	  "    MESSAGE=%M\n    _SOURCE_MONOTONIC_TIMESTAMP=1371911339996",
	  2 * NSEC_PER_MSEC, true },
	{ "rsyslog's repetition",
	  "Mar 12 07:41:09 " HOST " kernel: message repeated 2 times: [ [1371911.339996] %M]",
	  NSEC_PER_SEC, true },
	{ "rsyslog's escapes", "Mar 12 07:41:09 " HOST " kernel: #033[33m%M#033[0m#012",
	  NSEC_PER_SEC, false },
	{ "syslog without host and tag", "Mar 12 07:41:09 [1371911.339996] %M", NSEC_PER_SEC,
	  true },
	{ "a date in front", "2025-03-12 07:41:09 [1371911.339996] %M", NSEC_PER_SEC, true },
	{ "grep", "/var/log/kern.log:Mar 12 07:41:09 " HOST " kernel: [1371911.339996] %M",
	  NSEC_PER_SEC, true },
	{ "grep -n", "kern.log.1:1234:Mar 12 07:41:09 " HOST " kernel: %M", NSEC_PER_SEC, false },
	{ "grep -C", "messages-20250312-Mar 12 07:41:09 " HOST " kernel: %M", NSEC_PER_SEC, false },
	{ "grep of dmesg -T", "dmesg.txt:[Wed Mar 12 07:41:09 2025] %M", NSEC_PER_SEC, false },
	{ "cat -n", "   812\tMar 12 07:41:09 " HOST " kernel: %M", NSEC_PER_SEC, false },
	{ "quoted", "> Mar 12 07:41:09 " HOST " kernel: %M", NSEC_PER_SEC, false },
	{ "awslogs", "/var/log/messages i-0abc Mar 12 07:41:09 " HOST " kernel: %M", NSEC_PER_SEC,
	  false },
	{ "awslogs with its stamp", "/var/log/messages i-0abc 2025-03-12T07:41:09.341Z %M",
	  2 * NSEC_PER_MSEC, false },
	{ "get-log-events as text", "EVENTS\t1741765271002\t%M\t1741765269341", 2 * NSEC_PER_MSEC,
	  false },
	{ "filter-log-events as text",
	  "EVENTS\t38000000000000000000000000000000000000000000000000000000\t1741765271002\t"
	  "i-0abc\t%M\t1741765269341",
	  2 * NSEC_PER_MSEC, false },
	{ "docker compose", "kmsg-1  | 2025-03-12T07:41:09.341207Z %M", 2 * NSEC_PER_MSEC, false },
	{ "kubectl logs", "[pod/kmsg-x2v9d/kmsg] [1371911.339996] %M", 0, true },
	{ "fluentd's file", "2025-03-12T07:41:09+00:00\tkernel\t{\"message\":\"%J\"}", NSEC_PER_SEC,
	  false },
	{ "fluentd's output", "2025-03-12 07:41:09.341207000 +0000 kern.x: {\"message\":\"%J\"}",
	  2 * NSEC_PER_MSEC, false },
	{ "Splunk",
	  "{\"result\":{\"_raw\":\"Mar 12 07:41:09 " HOST
	  " kernel: %J\",\"_time\":\"2025-03-12T07:41:09.000+00:00\"}}",
	  NSEC_PER_SEC, false },
	{ "GELF", "{\"version\":\"1.1\",\"short_message\":\"%J\",\"timestamp\":1741765269.341}",
	  2 * NSEC_PER_MSEC, false },
	{ "Google's logging",
	  "{\"jsonPayload\":{\"MESSAGE\":\"%J\",\"_TRANSPORT\":\"kernel\"},\"resource\":{"
	  "\"labels\":{\"zone\":\"a\"}},\"timestamp\":\"2025-03-12T07:41:09.341207Z\"}",
	  2 * NSEC_PER_MSEC, false },
	{ "two entries in one object",
	  "{\"a\":{\"message\":\"x\"},\"b\":{\"message\":\"%J\"},\"timestamp\":"
	  "\"2025-03-12T07:41:09.341207Z\"}",
	  2 * NSEC_PER_MSEC, false },
	{ "Azure's logs",
	  "{\"TimeGenerated\":\"2025-03-12T07:41:09.341Z\",\"Facility\":\"kern\","
	  "\"SyslogMessage\":\"%J\"}",
	  2 * NSEC_PER_MSEC, false },
	{ "Azure's logs as CSV",
	  "\"2025-03-12T07:41:09.341Z\",\"" HOST "\",\"kern\",\"kernel\",\"%C\"", 2 * NSEC_PER_MSEC,
	  false },
	{ "CSV with columns that are not quoted",
	  "2025-03-12T07:41:09.341Z," HOST ",\"kernel\",\"%C\",,\"x\"", 2 * NSEC_PER_MSEC, false },
	{ "Splunk's CSV", "\"2025-03-12T07:41:09.341+0000\",\"[1371911.339996] %C\"",
	  2 * NSEC_PER_MSEC, true },
	{ "a console's output",
	  "{\"InstanceId\":\"i-0abc\",\"Output\":\"[1371911.000000] x\\r\\n[1371911.339996] "
	  "%J\\r\\n[1371912.000000] y\",\"Timestamp\":\"2025-03-12T07:45:09.000Z\"}",
	  0, true },
	{ "logfmt", "time=\"2025-03-12T07:41:09.341Z\" level=error msg=\"%J\" source=kmsg",
	  2 * NSEC_PER_MSEC, false },
	{ "logfmt without quotes", "ts=2025-03-12T07:41:09.341Z level=err msg=\"%J\"",
	  2 * NSEC_PER_MSEC, false },
	{ "a web server's date", "12/Mar/2025:07:41:09 +0000 " HOST " kernel: %M", NSEC_PER_SEC,
	  false },
	{ "a web page's source", "[1371911.339996] %H", 0, true },
	{ "in quotes", "`[1371911.339996] %M`", 0, true },
	{ "an element of an array", "        '[1371911.339996] %M',", 0, true },
	{ "YAML", "    message: \"%M\"", 0, false },
	{ "a broadcast",
	  "Message from syslogd@" HOST " at Mar 12 07:41:09 ...\n kernel:[1371911.339996] "
	  "%M\n",
	  NSEC_PER_SEC, true },
	{ "a broadcast without the kernel's stamp",
	  "Message from syslogd@" HOST " at Mar 12 07:41:09 ...\n kernel:%M\n", NSEC_PER_SEC,
	  false },
	{ "Talos", "10.5.0.2: kern:   alert: [2025-03-12T07:41:09.341207718Z]: %M",
	  2 * NSEC_PER_MSEC, false },
	{ "a console with a prompt", HOST " login: [1371911.339996] %M", 0, true },
	{ "callers without blanks", "[1371911.339996][   T31] %M", 0, true },
	{ "crash's log -T", "[Wed Mar 12 07:41:09 UTC 2025] %M", NSEC_PER_SEC, false },
	{ "RFC 5424 with brackets in its data",
	  "<3>1 2025-03-12T07:41:09.341207Z " HOST " kernel - - [a@1 b=\"c]\\\"]\"] %M",
	  2 * NSEC_PER_MSEC, false },
};

/*
 * Formats whose rows supply messages. Together they contain each wording of kinds.conf for which
 * the table has a line.
 */
static const char *const bare_formats[] = { "dmesg", "bare" };

static void put_json(struct buffer *out, const char *message)
{
	_cleanup_(buffer_done) struct buffer quoted = { 0 };

	json_string(&quoted, message);
	buffer_bytes(out, quoted.data + 1, quoted.size - 2);
}

static void put_bytes(struct buffer *out, const char *message)
{
	for (const char *at = message; *at; at++)
		buffer_printf(out, "%s%d", at > message ? "," : "", (unsigned char)*at);
}

/* Puts the message with each of these characters written in another way. */
static void put_replaced(struct buffer *out, const char *message, const char *characters,
			 const char *const *texts)
{
	for (; *message; message++) {
		const char *at = strchr(characters, *message);

		if (at)
			buffer_text(out, texts[at - characters]);
		else
			buffer_u8(out, *message);
	}
}

static void fill(struct buffer *out, const char *form, const char *message)
{
	for (; *form; form++) {
		if (form[0] != '%') {
			buffer_u8(out, *form);
			continue;
		}
		form++;
		if (*form == 'M')
			buffer_text(out, message);
		else if (*form == 'J')
			put_json(out, message);
		else if (*form == 'C')
			put_replaced(out, message, "\"", (const char *const[]){ "\"\"" });
		else if (*form == 'H')
			put_replaced(out, message, ">\"'&",
				     (const char *const[]){ "&gt;", "&quot;", "&#39;", "&amp;" });
		else
			put_bytes(out, message);
	}
	buffer_u8(out, 0);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static void check_same(const struct envelope *envelope, const char *text,
		       const struct found_list *found, const struct found *bare)
{
	const struct found *one = found->list.items;

	if (found->list.count != 1)
		CHECK_FAIL("%s: %zu incidents in %s", envelope->name, found->list.count, text);
	if (strcmp(one->kind, bare->kind) || strcmp(one->fields, bare->fields))
		CHECK_FAIL("%s: %s%s, not %s%s", envelope->name, one->kind, one->fields, bare->kind,
			   bare->fields);
	if (one->has_uptime != envelope->uptime || (one->has_uptime && one->uptime_ns != UPTIME_NS))
		CHECK_FAIL("%s: the uptime of %s", envelope->name, text);
	if (!!one->realtime_ns != !!envelope->time_error_ns ||
	    (one->realtime_ns && distance(one->realtime_ns, AT_NS) > envelope->time_error_ns))
		CHECK_FAIL("%s: %s is the time of %s", envelope->name, one->time, text);
	if (one->realtime_ns && distance(one->realtime_ns, AT_NS) > one->error_ns)
		CHECK_FAIL("%s: the error of %s", envelope->name, one->time);
}

static void check_message(const char *message)
{
	struct found_list bare = { 0 };

	scan(message, &bare);
	CHECK_EQ(bare.list.count, 1);
	for (size_t i = 0; i < ARRAY_SIZE(envelopes); i++) {
		_cleanup_(buffer_done) struct buffer text = { 0 };
		struct found_list found = { 0 };

		fill(&text, envelopes[i].form, message);
		scan((const char *)text.data, &found);
		check_same(&envelopes[i], (const char *)text.data, &found, &bare.list.items[0]);
		found_done(&found);
	}
	found_done(&bare);
}

/* Returns the message of a row whose format has a stamp that is easy to remove. */
static const char *message_of(char *row)
{
	char *format = strsep(&row, "\t"), *line, *kind;
	bool known = false;

	strsep(&row, "\t");
	line = strsep(&row, "\t");
	kind = strsep(&row, "\t");
	for (size_t i = 0; i < ARRAY_SIZE(bare_formats); i++)
		known |= !strcmp(format, bare_formats[i]);
	if (!known || !strcmp(kind, "none"))
		return NULL;
	return *line == '[' && strstr(line, "] ") ? strstr(line, "] ") + 2 : line;
}

static void test_envelopes(void)
{
	_cleanup_free_ char *text = NULL;
	char path[4096], *rest, *row;
	size_t messages = 0;

	snprintf(path, sizeof(path), "%s/data/incident-lines.tsv", getenv("PERFTAPE_TESTS"));
	CHECK_EQ(file_read(path, 1 << 24, &text, NULL), 0);
	rest = text;
	strsep(&rest, "\n");
	while ((row = strsep(&rest, "\n")) && *row) {
		const char *message = message_of(row);

		if (!message)
			continue;
		check_message(message);
		messages++;
	}
	CHECK(messages > 200);
}

/* For a field with a newline, journald exports the name, eight bytes of size, and the bytes. */
static void test_export_binary(void)
{
	static const char head[] =
		"__REALTIME_TIMESTAMP=1741765269341207\n_TRANSPORT=kernel\nMESSAGE\n";
	static const char message[] =
		"ena 0000:20:03.0: Device reset completed successfully, Driver "
		"info: Elastic Network Adapter (ENA) v2.11.0g\n";
	_cleanup_(buffer_done) struct buffer text = { 0 };
	struct log_clock_options clock = { .end_ns = SCAN_END_NS, .utc = true };

	buffer_text(&text, head);
	buffer_u64(&text, strlen(message));
	buffer_text(&text, message);
	buffer_text(&text, "\n_HOSTNAME=x\n\n");
	for (size_t piece = 1; piece < 40; piece++) {
		struct found_list found = { 0 };

		scan_pieces((const char *)text.data, text.size, piece, &clock, false, &found);
		CHECK_EQ(found.list.count, 1);
		CHECK_STR(found.list.items[0].kind, "ena.reset_done");
		CHECK_STR(found.list.items[0].time, "2025-03-12T07:41:09.341207Z");
		found_done(&found);
	}
}

CHECK_MAIN({ "a message is the same incident in every form", test_envelopes },
	   { "an export of the journal with binary fields, in pieces of any size",
	     test_export_binary })
