// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzes the files that an audit reads besides those of the gauges: any text in place of each, on a
 * host with one saturated core. Then prints the report.
 */
#include <stdint.h>
#include <string.h>

#include "audit/audit.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/answer/audit-text.h"
#include "tests/fuzz/root.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const files[] = { "/proc/7/stat",
				     "/proc/7/task/7/stat",
				     "/proc/uptime",
				     "/proc/self/status",
				     "/proc/pressure/memory",
				     "/proc/sys/kernel/perf_event_max_sample_rate",
				     "/proc/sys/kernel/kptr_restrict",
				     "/cg/docker/0123456789abcdef0123456789abcdef/cgroup.procs",
				     "/proc/stat",
				     "/proc/vmstat",
				     "/cg/cgroup.stat",
				     "/proc/interrupts",
				     "/dev/kmsg" };
static const char *const folders[] = { "/proc/7/task/7",
				       "/proc/self",
				       "/proc/pressure",
				       "/proc/sys/kernel",
				       "/cg/docker/0123456789abcdef0123456789abcdef",
				       "/cg/system.slice/a.service",
				       "/dev" };

static uint64_t now_ns(void *context)
{
	return *(uint64_t *)context;
}

/* During the wait, only the busy core's time changes. */
static void wait_ns(void *context, uint64_t ns)
{
	*(uint64_t *)context += ns;
	put_text("/proc/stat", "cpu0 0 0 100 0\ncpu1 0 0 0 100\n");
}

static void put_usual(void)
{
	put_text("/proc/self/mountinfo", "30 24 0:26 / /cg rw - cgroup2 cgroup2 rw\n");
	put_text("/proc/stat", "cpu0 0 0 0 0\ncpu1 0 0 0 0\n");
	put_text("/proc/uptime", "5000.00 1.00\n");
	put_text("/cg/docker/0123456789abcdef0123456789abcdef/cgroup.procs", "7\n");
	put_text("/proc/sys/kernel/perf_event_max_sample_rate", "50\n");
	put_text("/proc/7/task/7/stat", "7 (a) R 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 99 0 0 0 0 "
					"0 0 0 0 0 0 0 0 0 0 0 17 0 0\n");
}

static void check_json(const struct buffer *text)
{
	struct json_reader reader;
	struct json_token token;
	int r;

	json_reader_init(&reader, (const char *)text->data, text->size);
	do
		r = json_next(&reader, &token);
	while (r == 1);
	if (r < 0 || reader.depth)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct terminal terminal = { .width = 80 };
	uint64_t clock = 1794971520 * NSEC_PER_SEC;
	const struct audit_options options = { .root = root,
					       .watch_ns = NSEC_PER_SEC,
					       .now_ns = now_ns,
					       .wait = wait_ns,
					       .context = &clock };
	_cleanup_(buffer_done) struct buffer text = { 0 };
	struct report report = { .now_ns = 0 };

	if (!size)
		return 0;
	if (!*root)
		make_root(folders, ARRAY_SIZE(folders));
	put_usual();
	put(files[data[0] % ARRAY_SIZE(files)], data + 1, size - 1);
	if (audit_run(&options, &report, NULL) < 0)
		abort();
	audit_put_json(&report, &text);
	check_json(&text);
	audit_put_text(&report, &terminal, &text);
	/* names may contain any bytes, but none of them may move a cursor */
	for (size_t i = 0; i < text.size; i++)
		if (text.data[i] < ' ' && text.data[i] != '\n')
			abort();
	report_done(&report);
	return 0;
}
