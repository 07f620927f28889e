// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads /proc/softirqs: how often each CPU ran each kind of softirq. Puts nothing for a kind that a
 * CPU never ran, because most kinds are rare and a large host has thousands of columns.
 */
#include <string.h>

#include "gauges/source.h"

/* Enough for 8,192 possible CPUs with ten kinds and 11 characters each. */
#define LIMIT (1 << 20)
#define CPUS_MAX 65536

/* The kernel's words, in its order; the gauges have them in small letters. */
static const struct {
	const char *row, *name;
} kinds[] = {
	{ "HI:", "hi" },	   { "TIMER:", "timer" }, { "NET_TX:", "net_tx" },
	{ "NET_RX:", "net_rx" },   { "BLOCK:", "block" }, { "IRQ_POLL:", "irq_poll" },
	{ "TASKLET:", "tasklet" }, { "SCHED:", "sched" }, { "HRTIMER:", "hrtimer" },
	{ "RCU:", "rcu" },
};

struct softirqs {
	struct source_file file;
	/* The CPU of each column: the kernel has one for each possible CPU. */
	array_of(uint32_t) cpus;
	/* A slot for each column and kind. */
	struct source_ids ids;
};

static void *softirqs_make(const char *root)
{
	struct softirqs *softirqs = calloc(1, sizeof(*softirqs));

	if (softirqs)
		source_file_init(&softirqs->file, root, "/proc/softirqs");
	return softirqs;
}

static void softirqs_done(void *state)
{
	struct softirqs *softirqs = state;

	source_file_done(&softirqs->file);
	array_done(&softirqs->cpus);
	source_ids_done(&softirqs->ids);
	free(softirqs);
}

/* Reads "CPU0 CPU1 CPU4". New columns get new gauges. Returns 0, -ENOMEM or -EBADMSG. */
static int softirqs_take_heading(struct softirqs *softirqs, struct words line)
{
	size_t columns = 0;
	struct words word;
	int64_t cpu;

	while (words_next(&line, &word)) {
		if (!words_skip(&word, "CPU") || !words_number(&word, &cpu) || cpu >= CPUS_MAX)
			return -EBADMSG;
		if (columns == softirqs->cpus.count && array_push(&softirqs->cpus, cpu) < 0)
			return -ENOMEM;
		if (softirqs->cpus.items[columns] != cpu) {
			source_ids_done(&softirqs->ids);
			softirqs->cpus.items[columns] = cpu;
		}
		columns++;
	}
	softirqs->cpus.count = columns;
	return 0;
}

static int softirqs_put_row(struct softirqs *softirqs, const struct gauges_sink *sink, size_t kind,
			    struct words line)
{
	struct words word;
	int64_t times;
	int r = 0;

	for (size_t i = 0; r == 0 && i < softirqs->cpus.count; i++) {
		if (!words_next(&line, &word) || !words_number(&word, &times))
			return 0;
		if (times)
			r = source_put(&softirqs->ids, i * ARRAY_SIZE(kinds) + kind, sink, times,
				       "cpu%u/%s_softirqs", softirqs->cpus.items[i],
				       kinds[kind].name);
	}
	return r;
}

static int softirqs_take_row(struct softirqs *softirqs, const struct gauges_sink *sink,
			     struct words line)
{
	struct words name;

	if (!words_next(&line, &name))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (words_equal(&name, kinds[i].row))
			return softirqs_put_row(softirqs, sink, i, line);
	return 0;
}

static int softirqs_read(void *state, const struct gauges_sink *sink)
{
	struct softirqs *softirqs = state;
	struct words text, line;
	int r = source_file_read(&softirqs->file, LIMIT);

	if (r < 0)
		return r;
	text = (struct words){ softirqs->file.text, softirqs->file.text + softirqs->file.size };
	if (!words_line(&text, &line))
		return -EBADMSG;
	r = softirqs_take_heading(softirqs, line);
	while (r == 0 && words_line(&text, &line))
		r = softirqs_take_row(softirqs, sink, line);
	return r;
}

const struct source_kind source_softirqs = { "softirqs",    1,	 softirqs_make, softirqs_read,
					     softirqs_done, NULL };
