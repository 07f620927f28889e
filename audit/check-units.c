// SPDX-License-Identifier: GPL-2.0-only
/*
 * Units that are started again and again, and units that failed. systemd's own limit only ends a
 * loop of more than five starts in ten seconds; a slower loop never ends.
 */
#include <stdio.h>
#include <string.h>

#include "audit/checks.h"
#include "audit/services.h"
#include "base/clock.h"
#include "base/foreign.h"
#include "base/json.h"
#include "base/number.h"

#define NAME "units"
/* Fewer restarts than this are not a loop. */
#define RESTARTS_MIN 3
#define STARTS_NOW_MIN 2
#define YOUNG_NS (600 * NSEC_PER_SEC)
/* A loop restarts at least once per this time, on average. */
#define OFTEN_NS (1200 * NSEC_PER_SEC)
#define SHOWN_MAX 10

/*
 * Returns whether the restarts since boot are frequent. systemd's count begins at boot or later; a
 * few restarts in weeks are not a loop.
 */
static bool is_often(const struct host *host, const struct service *service)
{
	return host->uptime_ns && service->restarts * OFTEN_NS >= host->uptime_ns;
}

/*
 * Returns whether a service restarts in a loop. systemd's own counter proves restarts, but not when
 * they happened. Without this counter, a timer explains repeated starts. We know units of users'
 * managers, and of managers in containers, only by their cgroups. So we do not know what starts
 * these units.
 */
static bool is_looping(const struct host *host, const struct service *service)
{
	bool now = service->restarting || service->age_ns < YOUNG_NS || service->starts.now;

	if (service->failed)
		return false;
	if (service->restarts >= 0)
		return service->restarts >= RESTARTS_MIN &&
		       (service->starts.now || service->starts.hour >= RESTARTS_MIN ||
			(now && is_often(host, service)));
	return !service->timed &&
	       (service->starts.now >= STARTS_NOW_MIN ||
		(service->starts.hour >= RESTARTS_MIN && !strchr(service->name, '/')));
}

static void check_units_describe(const struct host *host, const struct service *service,
				 struct buffer *text)
{
	uint64_t uptime_ns = host->uptime_ns / NSEC_PER_SEC * NSEC_PER_SEC;
	char count[COUNT_TEXT_SIZE], age[32];

	buffer_printf(text, "%s:", service->name);
	if (service->restarts >= 0)
		buffer_printf(text, " %s restart%s by systemd%s%s,",
			      count_format(service->restarts, count), plural(service->restarts),
			      host->uptime_ns ? " in at most " : "",
			      host->uptime_ns ? duration_format(uptime_ns, age, sizeof(age)) : "");
	if (service->starts.hour) {
		buffer_printf(text, " at least %s start%s recorded within the last %s",
			      count_format(service->starts.hour, count),
			      plural(service->starts.hour),
			      duration_format(service->starts.hour_ns, age, sizeof(age)));
		host_put_quiet(host, &service->starts, text);
		buffer_u8(text, ',');
	}
	if (service->starts.now)
		buffer_printf(text, " %lld within %.1f s,", (long long)service->starts.now,
			      host->watched_ns / 1e9);
	if (service->restarting)
		buffer_text(text, " waits for its restart,");
	else if (service->age_ns != AGE_UNKNOWN)
		buffer_printf(text, " runs for %s,",
			      duration_format(service->age_ns, age, sizeof(age)));
	/* the NUL replaces the last comma */
	text->data[text->size - 1] = 0;
}

static int put_service(const struct host *host, const struct service *service,
		       struct finding *finding)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };

	check_units_describe(host, service, &text);
	if (buffer_failed(&text))
		return -ENOMEM;
	report_line(&finding->lines, "%s", (char *)text.data);
	json_open(&finding->numbers, '{');
	report_string(finding, "unit", service->name);
	report_i64(finding, "restarts", service->restarts);
	report_i64(finding, "starts_last_hour", service->starts.hour);
	report_i64(finding, "starts_now", service->starts.now);
	report_age(finding, "last_start_s", host_quiet_ns(host, &service->starts));
	report_age(finding, "age_s", service->age_ns);
	json_close(&finding->numbers, '}');
	return 0;
}

static int put_services(const struct host *host, const struct services *services,
			bool (*passes)(const struct host *host, const struct service *service),
			struct finding *finding)
{
	size_t count = 0;
	int r = 0;

	json_key(&finding->numbers, "units");
	json_open(&finding->numbers, '[');
	for (size_t i = 0; r == 0 && i < services->list.count; i++)
		if (passes(host, &services->list.items[i]) && count++ < SHOWN_MAX)
			r = put_service(host, &services->list.items[i], finding);
	json_close(&finding->numbers, ']');
	if (count > SHOWN_MAX)
		report_line(&finding->lines, "and %zu more", count - SHOWN_MAX);
	return r;
}

static const struct service *
first_of(const struct host *host, const struct services *services,
	 bool (*passes)(const struct host *host, const struct service *service), size_t *ret_count)
{
	const struct service *first = NULL;

	*ret_count = 0;
	for (size_t i = 0; i < services->list.count; i++) {
		const struct service *service = &services->list.items[i];

		if (!passes(host, service))
			continue;
		first = first ? first : service;
		++*ret_count;
	}
	return first;
}

/* A loop without recent starts may have ended. */
static bool is_looping_now(const struct host *host, const struct service *service)
{
	return is_looping(host, service) && (service->restarting || service->age_ns < YOUNG_NS ||
					     host_quiet_ns(host, &service->starts) < YOUNG_NS);
}

static int check_loops(const struct host *host, const struct services *services,
		       struct report *report)
{
	size_t count;
	static const char *const verbs[2][2] = { { "was", "is" }, { "were", "are" } };
	const struct service *now = first_of(host, services, is_looping_now, &count);
	const struct service *any = first_of(host, services, is_looping, &count);
	const struct service *first = now ? now : any;
	struct finding *finding;
	char word[FOREIGN_WORD_SIZE];

	if (!first)
		return 0;
	foreign_shell_word(first->name, word);
	finding = report_find(report, "crash_looping_units", SEVERITY_WARNING,
			      count == 1 ? "%s %s started again and again"
					 : "%s and other units %s started again and again",
			      first->name, verbs[count > 1][now != NULL]);
	if (!finding)
		return -ENOMEM;
	report_sentence(&finding->means, "The program ends soon after each start.");
	report_sentence(&finding->means,
			"Each start makes a cgroup, which stays while memory is charged to it.");
	report_sentence(&finding->means, "A loop over days leaves tens of thousands of cgroups.");
	if (services->asked) {
		report_line(&finding->confirm,
			    "systemctl show -p NRestarts,Result,ExecMainStatus,RestartUSec %s",
			    word);
		report_line(&finding->confirm, "journalctl -u %s -n 50", word);
	} else {
		host_put_search(host, first->name, &finding->confirm);
	}
	if (!services->asked)
		report_sentence(&finding->fix,
				"systemd did not answer here; run this where systemd runs.");
	report_sentence(&finding->fix, "systemctl disable --now %s if the host does not need it.",
			word);
	report_sentence(
		&finding->fix,
		"Otherwise repair it; RestartSec= and StartLimitIntervalSec= can end a loop.");
	return put_services(host, services, is_looping, finding);
}

static bool has_failed(const struct host *host, const struct service *service)
{
	(void)host;
	return service->failed;
}

static int check_failed(const struct host *host, const struct services *services,
			struct report *report)
{
	size_t count;
	const struct service *first = first_of(host, services, has_failed, &count);
	struct finding *finding;
	char word[FOREIGN_WORD_SIZE];

	if (!first)
		return 0;
	foreign_shell_word(first->name, word);
	finding = report_find(report, "failed_units", SEVERITY_WARNING,
			      count == 1 ? "%s has failed" : "%s and other units have failed",
			      first->name);
	if (!finding)
		return -ENOMEM;
	report_line(&finding->means,
		    "systemd does not start them again, so nothing on this host does their work.");
	report_line(&finding->confirm, "systemctl --failed");
	report_line(&finding->confirm, "systemctl status %s", word);
	report_sentence(&finding->fix, "journalctl -u %s says why.", word);
	report_sentence(&finding->fix,
			"systemctl reset-failed forgets a failure that does not matter.");
	return put_services(host, services, has_failed, finding);
}

static size_t count_there(const struct services *services)
{
	size_t count = 0;

	for (size_t i = 0; i < services->list.count; i++)
		count += services->list.items[i].there;
	return count;
}

static int report_unasked(const struct host *host, const struct services *services,
			  struct report *report)
{
	char lack[HOST_LACK_SIZE];

	if (!services->any)
		return report_unread(report, NAME, "%s, and no cgroups of units",
				     *host->root ? host_lack(host, "/run/systemd/units", lack)
						 : "no systemd");
	if (!services->asked)
		return report_unread(report, "failed units", "%s",
				     *host->root ? "a copy has no systemd to ask"
						 : "systemd does not answer");
	return 0;
}

int check_units(const struct host *host, struct report *report)
{
	_cleanup_(services_done) struct services services = { .asked = false };
	int r = services_read(host, &services);

	if (r < 0)
		return r;
	r = check_loops(host, &services, report);
	if (r < 0)
		return r;
	r = check_failed(host, &services, report);
	if (r < 0)
		return r;
	r = report_unasked(host, &services, report);
	if (r < 0)
		return r;
	return services.any ? report_checked(report, NAME, "%zu", count_there(&services)) : 0;
}
