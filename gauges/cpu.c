// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads /proc/stat, which counts in ticks of mostly 1/100 s. As in mpstat, the user time of a CPU
 * excludes the time of guests.
 */
#include <string.h>

#include "base/mutation.h"
#include "gauges/source.h"

#define LIMIT (16 << 20)
#define CPUS_MAX 65536
#define TICKS_MAX 1000000000000000 /* 300,000 years */
#define MSEC_PER_SEC 1000

enum column { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, GUEST, GUEST_NICE, COLUMNS };

static const char *const names[COLUMNS] = { "user", "nice",    "system", "idle", "iowait",
					    "irq",  "softirq", "steal",	 "guest" };

/* The kernel counts the reader among the running processes, so subtract 1, as vmstat does. */
static const struct {
	const char *word;
	const char *name;
	int64_t from_reader;
} totals[] = { { "ctxt", "host/switches", 0 },
	       { "processes", "host/forks", 0 },
	       { "procs_running", "host/running", 1 },
	       { "procs_blocked", "host/blocked", 0 } };

struct cpu {
	struct source_file file;
	int64_t tick_ms;
	struct source_ids times;
	struct source_ids totals;
};

static void *cpu_make(const char *root)
{
	struct cpu *cpu = calloc(1, sizeof(*cpu));

	if (!cpu)
		return NULL;
	cpu->tick_ms = MSEC_PER_SEC / sysconf(_SC_CLK_TCK);
	source_file_init(&cpu->file, root, "/proc/stat");
	return cpu;
}

static void cpu_done(void *state)
{
	struct cpu *cpu = state;

	source_file_done(&cpu->file);
	source_ids_done(&cpu->times);
	source_ids_done(&cpu->totals);
	free(cpu);
}

/* Reads the columns of a line. Old kernels write fewer columns; the missing values become 0. */
static bool read_times(struct words *line, int64_t times[COLUMNS])
{
	struct words word;

	memset(times, 0, COLUMNS * sizeof(*times));
	for (int i = 0; i < COLUMNS; i++) {
		if (!words_next(line, &word))
			return i > IDLE;
		if (!words_number(&word, &times[i]) || times[i] > TICKS_MAX)
			return false;
	}
	return true;
}

static int cpu_put_times(struct cpu *cpu, const struct gauges_sink *sink, int64_t number,
			 struct words *line)
{
	int64_t times[COLUMNS];
	int r = 0;

	if (number >= CPUS_MAX || !read_times(line, times))
		return 0;
	times[USER] -= times[GUEST];
	times[NICE] -= times[GUEST_NICE];
	times[GUEST] += times[GUEST_NICE];
	if (mutated("mix-cpu-columns"))
		times[SYSTEM] = times[USER];
	for (int i = 0; r == 0 && i < GUEST_NICE; i++)
		r = source_put(&cpu->times, number * COLUMNS + i, sink, times[i] * cpu->tick_ms,
			       "cpu%d/%s_ms", (int)number, names[i]);
	return r;
}

static int put_total(struct cpu *cpu, const struct gauges_sink *sink, const struct words *word,
		     struct words *line)
{
	struct words value;
	int64_t number;

	for (size_t i = 0; i < ARRAY_SIZE(totals); i++)
		if (words_equal(word, totals[i].word) && words_next(line, &value) &&
		    words_number(&value, &number))
			return source_put(&cpu->totals, i, sink,
					  MAX(number - totals[i].from_reader, 0), "%s",
					  totals[i].name);
	return 0;
}

static int cpu_read(void *state, const struct gauges_sink *sink)
{
	struct words text, line, word;
	struct cpu *cpu = state;
	int64_t number;
	int r = source_file_read(&cpu->file, LIMIT);

	if (r < 0)
		return r;
	text = (struct words){ cpu->file.text, cpu->file.text + cpu->file.size };
	while (r == 0 && words_line(&text, &line)) {
		if (!words_next(&line, &word))
			continue;
		/* the first line is the sum of all CPUs */
		if (words_skip(&word, "cpu"))
			r = words_number(&word, &number) ? cpu_put_times(cpu, sink, number, &line)
							 : 0;
		else
			r = put_total(cpu, sink, &word, &line);
	}
	return r;
}

const struct source_kind source_cpu = { "cpu", 1, cpu_make, cpu_read, cpu_done, NULL };
