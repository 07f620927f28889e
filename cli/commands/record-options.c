// SPDX-License-Identifier: GPL-2.0-only
#include "cli/commands/record-options.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cpu-list.h"
#include "base/size.h"
#include "cli/service/snapshot-shelf.h"
#include "cli/options/limit-options.h"
#include "recorder/perf/perf-events.h"
#include "recorder/trace/trace-set.h"

/* Shorter segments would consist mostly of names. */
#define SEGMENT_MIN_NS (1 * NSEC_PER_SEC)
#define SEGMENT_MAX_NS (3600 * NSEC_PER_SEC)
#define FREQUENCY_MAX 100000
#define RING_MIN (64u << 10)
#define RING_ASKED_MIN 64000 /* "64K", rounded up */
#define RING_MAX (64u << 20)
#define STACK_ASKED_MIN 4000 /* "4K", rounded up */
#define STACK_ASKED_MAX 65536
#define STACK_STEP 4096

const struct option record_options[] = {
	{ "duration", 'd', "LENGTH",
	  "stop after this time, such as 30s or 12h (default: until Ctrl-C)" },
	{ "event", 'e', "NAME",
	  "cycles, cpu-clock, page-faults or context-switches (default: cycles, else cpu-clock)" },
	{ "cpus", 0, "LIST", "only these CPUs, such as 0-3,8" },
	{ "trace", 0, "SYSTEM:EVENT",
	  "also record these trace events, separated by commas (repeatable)" },
	{ "no-user-stacks", 0, NULL, "keep only the kernel's part of the stacks" },
	{ "no-stack-dumps", 0, NULL,
	  "do not read stacks; follow frame pointers, which most programs do not keep" },
	{ "stack-bytes", 0, "SIZE",
	  "how much of each stack to read, 4K to 64K (default: 16K, and more if needed)" },
	{ "ring", 0, "SIZE",
	  "ring buffer size per CPU, 64K to 64M (default: 1M, less on small hosts)" },
	{ "frequency", 'F', "HZ", "samples per second on each CPU (default: 97)" },
	{ "segment", 0, "LENGTH", "length of a segment, 1s to 1h (default: 2m)" },
	LIMIT_OPTIONS,
	FORCE_OPTION,
	{ "user", 0, "NAME",
	  "drop root, become that user and keep only the rights to sample and to name" },
	{ "group", 0, "NAME", "group that may read the store (default: only its owner)" },
	{ "patterns", 0, "DIR", "folder of own patterns (default: /etc/perftape/incidents.d)" },
	{ "snapshot-dir", 0, "DIR", "folder for a .tape of each incident's window" },
	{ "snapshot-max", 0, "SIZE",
	  "size of all snapshots in that folder, the oldest go first (default: 1G)" },
	{ "forecast", 0, NULL,
	  "record a minute into a temporary store: how much disk a night takes" },
	{ "metrics-file", 0, "FILE", "write metrics for node-exporter to this *.prom file" },
	{ "trust-user-kmsg", 0, NULL,
	  "trust lines that users write into the kernel's log, for rehearsals" },
	{ 0 },
};

static int parse_duration(const struct invocation *invocation, const char *name, uint64_t *ret_ns)
{
	const char *text = option_value(invocation, name);
	int r = text ? duration_parse(text, ret_ns) : 0;

	if (r == 0)
		return EXIT_DONE;
	if (r == -EDOM)
		return option_error(invocation, name, "'%s': duration needs a unit, as %ss", text,
				    text);
	return option_error(invocation, name,
			    "'%s' is not a duration; write 250ms, 5s, 2m, 12h or 7d", text);
}

static int parse_frequency(const struct invocation *invocation, unsigned int *ret_frequency)
{
	const char *text = option_value(invocation, "frequency");
	unsigned long frequency;
	char *end;

	if (!text)
		return EXIT_DONE;
	frequency = strtoul(text, &end, 10);
	if (*end || text[0] < '0' || text[0] > '9' || frequency < 1 || frequency > FREQUENCY_MAX)
		return option_error(invocation, "frequency", "'%s' is not a number from 1 to %d",
				    text, FREQUENCY_MAX);
	*ret_frequency = frequency;
	return EXIT_DONE;
}

static int parse_event(const struct invocation *invocation, const char **ret_event)
{
	const char *text = option_value(invocation, "event");

	if (!text)
		return EXIT_DONE;
	for (const char *const *name = perf_events_known(); *name; name++)
		if (strcmp(*name, text) == 0) {
			*ret_event = *name;
			return EXIT_DONE;
		}
	return option_error(
		invocation, "event",
		"'%s' is not one of cycles, cpu-clock, page-faults and context-switches", text);
}

static int parse_ring(const struct invocation *invocation, size_t *ret_bytes)
{
	const char *text = option_value(invocation, "ring");
	uint64_t bytes;
	int r;

	if (!text)
		return EXIT_DONE;
	r = size_parse(text, &bytes);
	if (r == -EDOM)
		return option_error(invocation, "ring", "'%s': size needs a unit, as 1M", text);
	if (r < 0 || bytes < RING_ASKED_MIN || bytes > RING_MAX)
		return option_error(invocation, "ring", "'%s' is not a size from 64K to 64M", text);
	/* the kernel accepts only powers of two of pages */
	*ret_bytes = RING_MIN;
	while (*ret_bytes < bytes)
		*ret_bytes *= 2;
	return EXIT_DONE;
}

static int parse_stack_bytes(const struct invocation *invocation, struct recorder_options *ret)
{
	const char *text = option_value(invocation, "stack-bytes");
	uint64_t bytes = RECORDER_STACK_BYTES;
	int r = text ? size_parse(text, &bytes) : 0;

	ret->stack_bytes_fixed = text;
	if (r == -EDOM)
		return option_error(invocation, "stack-bytes", "'%s': size needs a unit, as 16K",
				    text);
	if (r < 0 || bytes < STACK_ASKED_MIN || bytes > STACK_ASKED_MAX)
		return option_error(invocation, "stack-bytes", "'%s' is not a size from 4K to 64K",
				    text);
	/* 32K, or 32000, means 32768; the kernel's records are smaller than 64K */
	bytes = (bytes + STACK_STEP - 1) / STACK_STEP * STACK_STEP;
	ret->stack_bytes = MIN(bytes, PERF_DUMPS_STACK_MAX);
	if (option_given(invocation, "no-stack-dumps"))
		ret->stack_bytes = 0;
	return EXIT_DONE;
}

static int parse_cpus(const struct invocation *invocation, const char **ret_cpus)
{
	const char *text = option_value(invocation, "cpus");
	struct cpu_list list;

	if (!text)
		return EXIT_DONE;
	if (cpu_list_parse(text, &list) < 0)
		return option_error(invocation, "cpus",
				    "'%s' is not a list of CPUs; write 3 or 0-3,8", text);
	cpu_list_done(&list);
	*ret_cpus = text;
	return EXIT_DONE;
}

/* Joins the values of all --trace options with commas. */
static int parse_trace(const struct invocation *invocation, struct buffer *names)
{
	const char *text = option_value(invocation, "trace");

	for (size_t i = 0; i < invocation->given_count; i++)
		if (strcmp(invocation->given[i].option->name, "trace") == 0)
			buffer_printf(names, "%s%s", names->size ? "," : "",
				      invocation->given[i].value);
	if (text && !names->size)
		buffer_text(names, text);
	buffer_u8(names, 0);
	if (buffer_failed(names))
		return fail(-ENOMEM, NULL);
	if (text && !trace_set_check((const char *)names->data))
		return option_error(invocation, "trace",
				    "'%s' is not SYSTEM:EVENT, such as sched:sched_process_exit",
				    names->data);
	return EXIT_DONE;
}

/* Parses the options for events and their sampling. */
static int parse_events(const struct invocation *invocation, struct recorder_options *ret)
{
	int r = parse_frequency(invocation, &ret->frequency);

	if (r == EXIT_DONE)
		r = parse_event(invocation, &ret->event);
	if (r == EXIT_DONE)
		r = parse_cpus(invocation, &ret->cpus);
	if (r == EXIT_DONE)
		r = parse_ring(invocation, &ret->ring_bytes);
	if (r == EXIT_DONE)
		r = parse_stack_bytes(invocation, ret);
	ret->no_user_stacks = option_given(invocation, "no-user-stacks");
	return r;
}

int record_options_snapshot_max(const struct invocation *invocation, uint64_t *ret_bytes)
{
	const char *text = option_value(invocation, "snapshot-max");
	int r;

	*ret_bytes = SNAPSHOT_SHELF_BYTES;
	if (!text)
		return EXIT_DONE;
	r = size_parse(text, ret_bytes);
	if (r == -EDOM)
		return option_error(invocation, "snapshot-max", "'%s': size needs a unit, as 1G",
				    text);
	if (r < 0 || !*ret_bytes)
		return option_error(invocation, "snapshot-max", "'%s' is not a size, such as 1G",
				    text);
	return EXIT_DONE;
}

static int record_options_parse_all(const struct invocation *invocation,
				    struct recorder_options *ret)
{
	int r = parse_duration(invocation, "duration", &ret->duration_ns);

	if (r == EXIT_DONE)
		r = parse_duration(invocation, "segment", &ret->segment_ns);
	if (r == EXIT_DONE)
		r = parse_events(invocation, ret);
	if (r == EXIT_DONE)
		r = limit_options_parse(invocation, &ret->limits);
	if (r != EXIT_DONE)
		return r;
	if (option_given(invocation, "duration") && !ret->duration_ns)
		return option_error(invocation, "duration", "0 records nothing");
	if (ret->segment_ns < SEGMENT_MIN_NS || ret->segment_ns > SEGMENT_MAX_NS)
		return option_error(invocation, "segment", "'%s' is not from 1s to 1h",
				    option_value(invocation, "segment"));
	return EXIT_DONE;
}

int record_options_parse(const struct invocation *invocation, struct recorder_options *options,
			 struct buffer *trace)
{
	uint64_t snapshot_bytes;
	int r = record_options_parse_all(invocation, options);

	if (r == EXIT_DONE)
		r = record_options_snapshot_max(invocation, &snapshot_bytes);
	if (r == EXIT_DONE)
		r = parse_trace(invocation, trace);
	options->trace = (const char *)trace->data;
	return r;
}
