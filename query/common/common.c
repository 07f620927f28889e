// SPDX-License-Identifier: GPL-2.0-only
#include "query/common/common.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/foreign.h"
#include "query/common/common-internal.h"

void common_command(const struct common_case *of, const struct common_store *stores, char *command,
		    size_t size)
{
	char word[FOREIGN_WORD_SIZE];
	int used = snprintf(command, size, "perftape explain --store %s ",
			    foreign_shell_word(stores[of->store].path, word));

	if (used < 0 || (size_t)used >= size)
		return;
	if (of->id)
		snprintf(command + used, size - used, "--incident %" PRIu64, of->id);
	else
		snprintf(command + used, size - used, "--from @%" PRIu64 " --to @%" PRIu64,
			 (uint64_t)(of->stall_from_ns / NSEC_PER_SEC),
			 (uint64_t)(of->stall_to_ns / NSEC_PER_SEC + 1));
}

const char *common_kind_name(enum common_kind kind)
{
	static const char *const names[COMMON_KINDS] = {
		[COMMON_THREAD] = "thread",	[COMMON_THREAD_ON_CPU] = "thread_on_cpu",
		[COMMON_FUNCTION] = "function", [COMMON_PATH] = "path",
		[COMMON_CGROUP] = "cgroup",	[COMMON_GAUGE] = "gauge",
		[COMMON_CPU] = "cpu",		[COMMON_MACHINE] = "machine",
	};

	return names[kind];
}

const char *common_pattern_name(enum common_pattern_kind kind)
{
	static const char *const names[COMMON_PATTERNS] = {
		[COMMON_OF_HOST] = "host",     [COMMON_OF_CPU] = "cpu",
		[COMMON_OF_QUEUE] = "queue",   [COMMON_OF_HOUR] = "hour",
		[COMMON_OF_UPTIME] = "uptime", [COMMON_OF_INTERVAL] = "interval",
	};

	return names[kind];
}

static int common_compare_newest(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left < right) - (left > right);
}

int common_keep_newest(struct common_answer *answer)
{
	size_t count = answer->cases.count, kept = 0, newer = 0;
	_cleanup_free_ uint64_t *times = calloc(count + 1, sizeof(*times));
	uint64_t last_ns;

	if (!times)
		return -ENOMEM;
	if (count <= COMMON_CASES_MOST)
		return 0;
	for (size_t i = 0; i < count; i++)
		times[i] = answer->cases.items[i].stall_to_ns;
	qsort(times, count, sizeof(*times), common_compare_newest);
	last_ns = times[COMMON_CASES_MOST - 1];
	while (times[newer] > last_ns)
		newer++;
	for (size_t i = 0; i < count; i++) {
		const struct common_case *of = &answer->cases.items[i];

		/* several may have the time of the last one */
		if (of->stall_to_ns < last_ns ||
		    (of->stall_to_ns == last_ns && newer++ >= COMMON_CASES_MOST))
			continue;
		answer->cases.items[kept++] = *of;
	}
	answer->older += count - kept;
	answer->cases.count = kept;
	return 0;
}

static int common_set_span(struct common_run *run)
{
	struct common_answer *answer = run->answer;

	for (size_t i = 0; i < run->hosts.count; i++) {
		const struct common_host *host = &run->hosts.items[i];
		size_t count = host->segments.count;

		if (array_push(&answer->hosts, host->name) < 0)
			return -ENOMEM;
		answer->recorded_ns += host->recorded_ns;
		if (!count)
			continue;
		answer->from_ns = answer->from_ns ? MIN(answer->from_ns,
							host->segments.items[0].about.begin_ns)
						  : host->segments.items[0].about.begin_ns;
		answer->to_ns = MAX(answer->to_ns, host->segments.items[count - 1].about.end_ns);
	}
	return 0;
}

static int common_compare(struct common_run *run, struct common_matrix *matrix, struct error *error)
{
	int r = common_matrix_make(run, matrix);

	if (r < 0)
		return r;
	r = common_traits_make(run, matrix);
	if (r < 0)
		return r;
	r = common_full_sign_find(run, error);
	if (r < 0)
		return r;
	r = common_patterns_find(run);
	return r < 0 ? r : common_signs_find(run, matrix, error);
}

static void common_run_done(struct common_run *run)
{
	common_hosts_done(run);
	array_done(&run->windows);
	array_done(&run->values);
	strings_done(&run->keys);
	array_done(&run->last);
	pthread_mutex_destroy(&run->lock);
}

int common_run(const struct common_options *options, struct common_answer *answer,
	       struct error *error)
{
	_cleanup_(common_run_done) struct common_run run = {
		.options = options,
		.answer = answer,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	_cleanup_(common_matrix_done) struct common_matrix matrix = { 0 };
	int r;

	for (size_t i = 0; i < answer->cases.count; i++)
		answer->cases.items[i].full_cpu = NO_CPU;
	r = common_hosts_read(&run, error);
	if (r != 0)
		return r;
	r = common_set_span(&run);
	if (r != 0)
		return r;
	r = common_controls_choose(&run);
	if (r != 0)
		return r;
	r = common_window_rows_read(&run, error);
	return r != 0 ? r : common_compare(&run, &matrix, error);
}

void common_done(struct common_answer *answer)
{
	array_done(&answer->cases);
	array_done(&answer->hosts);
	strings_done(&answer->names);
}
