// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs that crash again and again, whoever starts them: a shell's loop, a supervisor, cron.
 * Units and containers have checks of their own, which also find programs that end without a crash.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "audit/checks.h"
#include "audit/crashes.h"
#include "base/clock.h"
#include "base/foreign.h"
#include "base/json.h"
#include "base/number.h"

#define NAME "crashes"
#define LOG "/dev/kmsg"
#define NOW_MIN 2
#define HOUR_MIN 6
/* If no program crashed within this time, the loop may be over. */
#define RECENT_NS (600 * NSEC_PER_SEC)
#define SHOWN_MAX 10
/* Larger than any record of the log; each read returns one record. */
#define RECORD_SIZE 8192
#define RECORD_STARTS \
	"perf record -qa -e sched:sched_process_fork,sched:sched_process_exec -o /tmp/forks sleep 5"
#define RECORDS_MAX (1u << 20)

/* Returns the current time on the clock of the log's stamps. */
static uint64_t check_crashes_now(const struct host *host)
{
	return *host->root ? host->uptime_ns : clock_ns(CLOCK_MONOTONIC);
}

static int check_crashes_read(int fd, struct crashes *crashes)
{
	char record[RECORD_SIZE];
	int r = 0;

	for (size_t i = 0; r == 0 && i < RECORDS_MAX; i++) {
		ssize_t size = read(fd, record, sizeof(record));

		/* the kernel overwrote records that were not read yet */
		if (size < 0 && (errno == EPIPE || errno == EINTR))
			continue;
		if (size <= 0)
			return 0;
		r = crashes_take(crashes, record, size);
	}
	return r;
}

static bool is_crash_loop(const struct crashes *crashes, const struct crash_program *program)
{
	return program->now >= NOW_MIN ||
	       (program->hour >= HOUR_MIN && crashes->now_ns - program->last_ns < RECENT_NS);
}

static void check_crashes_put(const struct crashes *crashes, const struct crash_program *program,
			      double watched_s, struct finding *finding)
{
	uint64_t age_ns = (crashes->now_ns - program->last_ns) / NSEC_PER_SEC * NSEC_PER_SEC;
	char count[COUNT_TEXT_SIZE], age[32], now[64] = "";

	if (watched_s)
		snprintf(now, sizeof(now), "%lld within %.1f s, ", (long long)program->now,
			 watched_s);
	report_line(&finding->lines,
		    "%s: %sat least %s in the last hour, the last one %s%s: pid %lld, %s",
		    program->comm, now, count_format(program->hour, count),
		    age_ns ? duration_format(age_ns, age, sizeof(age)) : "just now",
		    age_ns ? " ago" : "", (long long)program->pid, program->text);
	json_open(&finding->numbers, '{');
	report_string(finding, "program", program->comm);
	report_i64(finding, "crashes_now", program->now);
	report_i64(finding, "crashes_last_hour", program->hour);
	report_age(finding, "last_crash_s", age_ns);
	report_i64(finding, "pid", program->pid);
	report_string(finding, "text", program->text);
	json_close(&finding->numbers, '}');
}

static const struct crash_program *check_crashes_worst(const struct crashes *crashes,
						       size_t *ret_count)
{
	const struct crash_program *worst = NULL;

	*ret_count = 0;
	for (size_t i = 0; i < crashes->list.count; i++) {
		const struct crash_program *program = &crashes->list.items[i];

		if (!is_crash_loop(crashes, program))
			continue;
		++*ret_count;
		if (!worst || program->hour > worst->hour)
			worst = program;
	}
	return worst;
}

static void check_crashes_put_all(const struct host *host, const struct crashes *crashes,
				  size_t count, struct finding *finding)
{
	size_t shown = 0;

	json_key(&finding->numbers, "programs");
	json_open(&finding->numbers, '[');
	for (size_t i = 0; i < crashes->list.count; i++)
		if (is_crash_loop(crashes, &crashes->list.items[i]) && shown++ < SHOWN_MAX)
			check_crashes_put(crashes, &crashes->list.items[i], host->watched_ns / 1e9,
					  finding);
	json_close(&finding->numbers, ']');
	if (count > SHOWN_MAX)
		report_line(&finding->lines, "and %zu more", count - SHOWN_MAX);
}

static int check_crashes_find(const struct host *host, const struct crashes *crashes,
			      struct report *report)
{
	size_t count;
	const struct crash_program *worst = check_crashes_worst(crashes, &count);
	struct finding *finding;
	char word[FOREIGN_WORD_SIZE];

	if (!worst)
		return 0;
	finding = report_find(report, "crash_looping_programs", SEVERITY_WARNING,
			      count == 1 ? "%s crashes again and again"
					 : "%s and other programs crash again and again",
			      worst->comm);
	if (!finding)
		return -ENOMEM;
	foreign_shell_word(worst->comm, word);
	report_sentence(&finding->means, "Something starts the program again after each crash.");
	report_sentence(&finding->means, "Each start and each core dump costs time in the kernel.");
	report_line(&finding->confirm, "dmesg -T | grep -F %s | tail", word);
	/* ps cannot show the parent, because the program ends too soon */
	report_line(&finding->confirm, "%s", RECORD_STARTS);
	report_line(&finding->confirm, "perf script -i /tmp/forks | grep -F -B1 %s", word);
	report_sentence(&finding->fix,
			"If it is one of the units or containers above, begin there.");
	report_sentence(
		&finding->fix,
		"Otherwise stop the parent that perf script shows, and repair the program.");
	check_crashes_put_all(host, crashes, count, finding);
	return 0;
}

int check_crashes(const struct host *host, struct report *report)
{
	uint64_t now_ns = check_crashes_now(host);
	_cleanup_(crashes_done) struct crashes crashes = {
		.now_ns = now_ns, .watched_ns = now_ns - MIN(now_ns, host->watched_ns)
	};
	char path[PATH_MAX], lack[HOST_LACK_SIZE];
	_cleanup_close_ int fd = -1;
	int r;

	if (snprintf(path, sizeof(path), "%s" LOG, host->root) >= (int)sizeof(path))
		return report_unread(report, NAME, "the path is too long");
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno != ENOENT)
		return report_unread(report, NAME, LOG ": %s", strerror(errno));
	if (fd < 0)
		return report_unread(report, NAME, "%s", host_lack(host, LOG, lack));
	if (!host->watched_ns)
		crashes.watched_ns = UINT64_MAX;
	r = check_crashes_read(fd, &crashes);
	if (r < 0)
		return r;
	r = check_crashes_find(host, &crashes, report);
	if (r < 0)
		return r;
	return report_checked(report, NAME, "%zu program%s", crashes.list.count,
			      plural(crashes.list.count));
}
