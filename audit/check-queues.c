// SPDX-License-Identifier: GPL-2.0-only
/* Network transmit queues that made no progress until the kernel's watchdog reset the device. */
#include <stdio.h>

#include "audit/checks.h"
#include "base/clock.h"
#include "base/foreign.h"
#include "base/json.h"
#include "base/number.h"

#define NAME "network queues"
#define SHOWN_MAX 12

struct queue {
	char device[32];
	unsigned int number;
	const struct host_figure *figure;
};

/* Parses "net/eth0/tx5_timeouts". */
static bool check_queues_parse_name(const char *name, struct queue *queue)
{
	int end = 0;

	return sscanf(name, "net/%31[^/]/tx%u_timeouts%n", queue->device, &queue->number, &end) ==
		       2 &&
	       end && !name[end];
}

static void put_queue(const struct host *host, const struct queue *queue, struct finding *finding)
{
	const struct host_figure *figure = queue->figure,
				 *cpu = host_find(host, "net/%s/tx%u_cpu", queue->device,
						  queue->number);
	char served[32] = "", over[32], grown[64] = "";

	if (cpu && cpu->read)
		snprintf(served, sizeof(served), ", served by CPU %lld", (long long)cpu->last);
	if (figure->from_ns < figure->to_ns)
		snprintf(grown, sizeof(grown), "; %lld of them in the last %s",
			 (long long)figure->grown,
			 duration_format(figure->to_ns - figure->from_ns, over, sizeof(over)));
	report_line(&finding->lines,
		    "%s transmit queue %u: %lld time%s since the driver was loaded%s%s",
		    queue->device, queue->number, (long long)figure->last, plural(figure->last),
		    grown, served);
	json_open(&finding->numbers, '{');
	report_string(finding, "device", queue->device);
	report_i64(finding, "queue", queue->number);
	report_i64(finding, "timeouts", figure->last);
	report_i64(finding, "recorded", figure->grown);
	report_i64(finding, "now", figure->last - figure->first);
	if (cpu && cpu->read)
		report_i64(finding, "cpu", cpu->last);
	json_close(&finding->numbers, '}');
}

static void check_queues_put_advice(const char *device, struct finding *finding)
{
	char word[FOREIGN_WORD_SIZE];

	foreign_shell_word(device, word);
	report_sentence(&finding->means,
			"For seconds, the device did not report that it had sent its packets.");
	report_sentence(&finding->means,
			"Usually, the CPU that serves the queue was busy with other work.");
	report_sentence(&finding->means,
			"The driver then resets the device, and the network is gone for a moment.");
	report_line(&finding->confirm, "grep . /sys/class/net/%s/queues/tx-*/tx_timeout", word);
	report_line(&finding->confirm, "dmesg -T | grep -i -e 'transmit queue' -e %s", word);
	report_sentence(&finding->fix, "perftape incidents lists when queues timed out.");
	report_sentence(&finding->fix,
			"perftape query --incident last shows what every CPU did just before.");
	report_sentence(&finding->fix, "If one CPU was busy in the kernel, end what kept it busy.");
}

static int check_queues_put(const struct host *host, const struct queue *queues, size_t count,
			    bool recent, struct report *report)
{
	struct finding *finding = report_find(
		report, "queue_timeouts", recent ? SEVERITY_CRITICAL : SEVERITY_WARNING,
		"%zu network transmit queue%s timed out%s", count, plural(count),
		recent ? ", also within the last hours" : " since the driver was loaded");

	if (!finding)
		return -ENOMEM;
	json_key(&finding->numbers, "queues");
	json_open(&finding->numbers, '[');
	for (size_t i = 0; i < MIN(count, SHOWN_MAX); i++)
		put_queue(host, &queues[i], finding);
	json_close(&finding->numbers, ']');
	if (count > SHOWN_MAX)
		report_line(&finding->lines, "and %zu more", count - SHOWN_MAX);
	check_queues_put_advice(queues[0].device, finding);
	return 0;
}

int check_queues(const struct host *host, struct report *report)
{
	_cleanup_array_ array_of(struct queue) timed_out = { 0 };
	struct queue queue;
	char lack[HOST_LACK_SIZE];
	size_t count = 0;
	bool recent = false;
	int r = 0;

	for (uint32_t id = 1; r == 0 && id < strings_count(&host->names); id++) {
		queue.figure = &host->figures.items[id];
		if (!queue.figure->read ||
		    !check_queues_parse_name(strings_at(&host->names, id), &queue))
			continue;
		count++;
		if (!queue.figure->last)
			continue;
		recent |= queue.figure->grown > 0 || queue.figure->last > queue.figure->first;
		r = array_push(&timed_out, queue);
	}
	if (r < 0)
		return r;
	if (timed_out.count)
		r = check_queues_put(host, timed_out.items, timed_out.count, recent, report);
	if (r < 0)
		return r;
	if (count)
		return report_checked(report, NAME, "%zu", count);
	return report_unread(report, NAME, "%s",
			     host_has(host, "/sys/class/net")
				     ? "no device reports timeouts"
				     : host_lack(host, "/sys/class/net", lack));
}
