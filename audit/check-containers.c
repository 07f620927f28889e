// SPDX-License-Identifier: GPL-2.0-only
/*
 * Containers that replace one another: each of them runs only for seconds, and another one follows
 * soon. An agent or an orchestrator starts them, so systemd does not count their restarts.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "audit/checks.h"
#include "base/clock.h"
#include "base/json.h"
#include "gauges/cgroup-names.h"

#define NAME "containers"
#define GROUPS_MAX 1024
#define CONTAINERS_MAX 2048
#define PROCESSES_MAX 64 /* per container */
#define SHOWN_MAX 10
/*
 * An orchestrator that waits longer after each failure ends at one start in five minutes: twelve
 * per hour.
 */
#define STARTS_HOUR_MIN 6
#define STARTS_NOW_MIN 2
#define YOUNG_NS (600 * NSEC_PER_SEC)
#define AGE_UNKNOWN UINT64_MAX

struct group {
	/* the names of the containers, with a star for the part that differs */
	char name[256];
	size_t running;
	uint64_t youngest_ns;
	struct host_starts starts;
};

struct containers {
	const struct host *host;
	array_of(struct group) groups;
	struct buffer name;
	size_t running;
};

/* Returns NULL when the groups are too many, the name is too long, or memory ran out. */
static struct group *check_containers_find_group(struct containers *containers, const char *name)
{
	struct group group = { .youngest_ns = AGE_UNKNOWN };

	for (size_t i = 0; i < containers->groups.count; i++)
		if (strcmp(containers->groups.items[i].name, name) == 0)
			return &containers->groups.items[i];
	if (containers->groups.count == GROUPS_MAX || strlen(name) >= sizeof(group.name) ||
	    array_push(&containers->groups, group) < 0)
		return NULL;
	strcpy(containers->groups.items[containers->groups.count - 1].name, name);
	return &containers->groups.items[containers->groups.count - 1];
}

/*
 * Reads how long ago a process started: field 22 of /proc/PID/stat, in ticks since boot. Returns
 * false when the start is not known.
 */
static bool read_age_of(const struct host *host, int64_t pid, uint64_t *ret_ns)
{
	uint64_t tick_ns = NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
	struct words line, word;
	struct source_file file;
	char path[64];
	int64_t ticks;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
	source_file_init(&file, host->root, path);
	if (source_file_read(&file, 4096) == 0) {
		const char *close = memrchr(file.text, ')', file.size);

		line = (struct words){ close ? close + 1 : file.text + file.size,
				       file.text + file.size };
		found = true;
		for (int field = 3; found && field <= 22; field++)
			found = words_next(&line, &word);
		found = found && words_number(&word, &ticks);
	}
	source_file_done(&file);
	/* the file of a copy may contain anything */
	if (!found || (uint64_t)ticks > host->uptime_ns / tick_ns)
		return false;
	*ret_ns = host->uptime_ns - ticks * tick_ns;
	return true;
}

/*
 * Returns the age of a container: that of its oldest process. The times of the cgroup's folder do
 * not help, because they change whenever the kernel loads the inode.
 */
static uint64_t read_age(const struct containers *containers, const struct cgroups_seen *seen)
{
	char path[NAME_MAX + 32], text[4096];
	_cleanup_close_ int fd = -1;
	struct words list, line;
	uint64_t age_ns = AGE_UNKNOWN;
	ssize_t size;

	snprintf(path, sizeof(path), "%s/cgroup.procs", seen->folder);
	fd = openat(seen->dir_fd, path, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? -1 : pread(fd, text, sizeof(text), 0);
	if (size <= 0)
		return AGE_UNKNOWN;
	list = (struct words){ text, text + size };
	for (int i = 0; i < PROCESSES_MAX && words_line(&list, &line); i++) {
		uint64_t of_this_ns;
		int64_t pid;

		if (!words_number(&line, &pid) || !read_age_of(containers->host, pid, &of_this_ns))
			continue;
		if (age_ns == AGE_UNKNOWN || age_ns < of_this_ns)
			age_ns = of_this_ns;
	}
	return age_ns;
}

static int check_containers_see_cgroup(void *context, const struct cgroups_seen *seen)
{
	struct containers *containers = context;
	struct group *group;
	uint64_t age_ns;

	if (cgroup_name(seen->path, &containers->name) != CGROUP_CONTAINER)
		return buffer_failed(&containers->name) ? -ENOMEM : 0;
	if (buffer_failed(&containers->name))
		return -ENOMEM;
	group = check_containers_find_group(containers, (const char *)containers->name.data);
	if (!group || containers->running >= CONTAINERS_MAX)
		return 0;
	age_ns = read_age(containers, seen);
	if (age_ns == AGE_UNKNOWN)
		return 0;
	containers->running++;
	group->running++;
	group->youngest_ns = MIN(group->youngest_ns, age_ns);
	return 0;
}

static int check_containers_walk(struct containers *containers)
{
	const struct host *host = containers->host;
	uint64_t count;

	return host->has_cgroups ? cgroups_walk(host->cgroups.path, check_containers_see_cgroup,
						containers, &count)
				 : -ENOENT;
}

static void check_containers_add_figures(struct containers *containers)
{
	const struct host *host = containers->host;

	for (uint32_t id = 1; id < strings_count(&host->names); id++) {
		const struct host_figure *figure = &host->figures.items[id];
		struct group *group;
		char name[HOST_PART_SIZE];

		if (!host_started(strings_at(&host->names, id), "containers/", name))
			continue;
		group = check_containers_find_group(containers, name);
		if (!group)
			continue;
		host_add_starts(host, figure, &group->starts);
	}
}

static bool is_churning(const struct group *group)
{
	bool young = !group->running || group->youngest_ns < YOUNG_NS;

	return young &&
	       (group->starts.now >= STARTS_NOW_MIN || group->starts.hour >= STARTS_HOUR_MIN);
}

/* Returns whether no container of the group runs and the last known start is not recent. */
static bool is_over(const struct host *host, const struct group *group)
{
	return !group->running && host_quiet_ns(host, &group->starts) > YOUNG_NS;
}

static void check_containers_describe(const struct host *host, const struct group *group,
				      struct buffer *text)
{
	char over[32];

	buffer_printf(text, "%s:", group->name);
	if (host->watched_ns)
		buffer_printf(text, " %lld started within %.1f s,", (long long)group->starts.now,
			      host->watched_ns / 1e9);
	if (group->starts.hour_ns)
		buffer_printf(text, " at least %lld recorded within the last %s",
			      (long long)group->starts.hour,
			      duration_format(group->starts.hour_ns, over, sizeof(over)));
	if (group->starts.hour)
		host_put_quiet(host, &group->starts, text);
	if (group->starts.hour_ns)
		buffer_u8(text, ',');
	/* put a semicolon after the numbers; without numbers, put it after the name */
	if (!buffer_failed(text) && text->data[text->size - 1] == ',')
		text->data[text->size - 1] = ';';
	buffer_printf(text, " %zu run%s", group->running,
		      group->running ? ", the youngest for " : "");
	if (group->running)
		buffer_text(text, duration_format(group->youngest_ns, over, sizeof(over)));
	buffer_u8(text, 0);
}

static void check_containers_put_group(const struct host *host, const struct group *group,
				       struct finding *finding)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	struct buffer *json = &finding->numbers;

	check_containers_describe(host, group, &text);
	if (buffer_failed(&text))
		json->failed = true;
	else
		report_line(&finding->lines, "%s", (const char *)text.data);
	json_open(json, '{');
	report_string(finding, "group", group->name);
	report_i64(finding, "starts_now", group->starts.now);
	report_i64(finding, "starts_last_hour", group->starts.hour);
	report_age(finding, "last_start_s", host_quiet_ns(host, &group->starts));
	report_i64(finding, "running", group->running);
	report_age(finding, "youngest_s", group->youngest_ns);
	json_close(json, '}');
}

/* The paths of the cgroups show which runtime runs the containers. */
static void put_confirm(const struct containers *containers, struct finding *finding)
{
	static const struct {
		const char *parts[4], *command;
	} runtimes[] = {
		{ { "docker", "ecs" },
		  "docker ps -a --format '{{.CreatedAt}} {{.Status}} {{.Names}}' | head" },
		{ { "kubepods", "cri-containerd", "crio" }, "crictl ps -a | head" },
		{ { "libpod" }, "podman ps -a" },
	};
	bool told[ARRAY_SIZE(runtimes)] = { false }, looked = false;

	for (size_t i = 0; i < containers->groups.count; i++) {
		const struct group *group = &containers->groups.items[i];

		if (!is_churning(group))
			continue;
		if (!looked)
			host_put_search(containers->host, group->name, &finding->confirm);
		looked = true;
		for (size_t j = 0; j < ARRAY_SIZE(runtimes); j++)
			for (size_t k = 0; !told[j] && runtimes[j].parts[k]; k++)
				told[j] = strstr(group->name, runtimes[j].parts[k]) != NULL;
	}
	for (size_t j = 0; j < ARRAY_SIZE(runtimes); j++)
		if (told[j])
			report_line(&finding->confirm, "%s", runtimes[j].command);
}

static int check_containers_find(const struct containers *containers, struct report *report)
{
	struct finding *finding = NULL;
	size_t count = 0;

	for (size_t i = 0; i < containers->groups.count; i++) {
		const struct group *group = &containers->groups.items[i];

		if (!is_churning(group))
			continue;
		if (!finding) {
			finding = report_find(
				report, "short_lived_containers", SEVERITY_WARNING,
				is_over(containers->host, group)
					? "containers in %s were started again and again"
					: "containers in %s end after seconds, again and again",
				group->name);
			if (!finding)
				return -ENOMEM;
			json_key(&finding->numbers, "groups");
			json_open(&finding->numbers, '[');
		}
		if (count++ < SHOWN_MAX)
			check_containers_put_group(containers->host, group, finding);
	}
	if (!finding)
		return 0;
	json_close(&finding->numbers, ']');
	if (count > SHOWN_MAX)
		report_line(&finding->lines, "and %zu more", count - SHOWN_MAX);
	report_sentence(&finding->means,
			"Each container ends soon after its start, and another one replaces it.");
	report_sentence(&finding->means,
			"That is a crash loop, or jobs that are meant to be short.");
	report_sentence(
		&finding->means,
		"Each container leaves a memory cgroup behind while memory is charged to it.");
	put_confirm(containers, finding);
	report_sentence(&finding->fix, "The log of a container that ended says why.");
	report_sentence(&finding->fix,
			"Read it with docker logs, crictl logs or kubectl logs --previous.");
	return 0;
}

static int check_containers_report_unread(const struct host *host, int r, struct report *report)
{
	static const char mounts[] = "/proc/self/mountinfo";
	const char *path = host->has_cgroups ? host->cgroups.path + strlen(host->root) : mounts;
	char lack[HOST_LACK_SIZE];

	if (r == -EFBIG)
		return report_unread(report, NAME,
				     "there are too many cgroups to check all of them");
	return report_unread(report, NAME, "%s",
			     host_has(host, path) ? "no cgroups are visible"
						  : host_lack(host, path, lack));
}

static void containers_done(struct containers *containers)
{
	array_done(&containers->groups);
	buffer_done(&containers->name);
}

static int check_containers_search(struct containers *containers, struct report *report)
{
	int r = check_containers_walk(containers);

	return r < 0 ? r : check_containers_find(containers, report);
}

int check_containers(const struct host *host, struct report *report)
{
	_cleanup_(containers_done) struct containers containers = { .host = host };
	int r;

	check_containers_add_figures(&containers);
	r = check_containers_search(&containers, report);
	if (r == 0)
		return report_checked(report, NAME, "%zu", containers.running);
	return r == -ENOMEM ? r : check_containers_report_unread(host, r, report);
}
