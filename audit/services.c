// SPDX-License-Identifier: GPL-2.0-only
#include "audit/services.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "audit/systemd.h"
#include "base/clock.h"

#define SERVICES_MAX 4096
#define ASKED_MAX 64
/* A service that runs longer is not restarting now. */
#define YOUNG_NS (600 * NSEC_PER_SEC)

void services_done(struct services *services)
{
	array_done(&services->list);
}

/* Returns NULL when the services are too many, the name is too long, or memory ran out. */
static struct service *find_service(struct services *services, const char *name)
{
	struct service service = { .age_ns = AGE_UNKNOWN, .restarts = -1 };

	for (size_t i = 0; i < services->list.count; i++)
		if (strcmp(services->list.items[i].name, name) == 0)
			return &services->list.items[i];
	if (services->list.count == SERVICES_MAX || strlen(name) >= sizeof(service.name) ||
	    array_push(&services->list, service) < 0)
		return NULL;
	strcpy(services->list.items[services->list.count - 1].name, name);
	return &services->list.items[services->list.count - 1];
}

static void services_add_figures(const struct host *host, struct services *services)
{
	for (uint32_t id = 1; id < strings_count(&host->names); id++) {
		const struct host_figure *figure = &host->figures.items[id];
		struct service *service;
		char unit[HOST_PART_SIZE];

		if (!host_started(strings_at(&host->names, id), "unit/", unit))
			continue;
		service = find_service(services, unit);
		if (!service)
			continue;
		services->any = service->there = true;
		host_add_starts(host, figure, &service->starts);
	}
}

static bool services_ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), end_size = strlen(end);

	return size > end_size && strcmp(text + size - end_size, end) == 0;
}

/* systemd makes the link "invocation:ecs.service" again at each start. */
static void see_start(const struct host *host, struct services *services, struct service *service,
		      int dir_fd, const char *link)
{
	struct stat about;
	uint64_t begin_ns;

	if (fstatat(dir_fd, link, &about, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	services->any = service->there = true;
	begin_ns = about.st_mtim.tv_sec * NSEC_PER_SEC + about.st_mtim.tv_nsec;
	service->age_ns = host->now_ns - MIN(host->now_ns, begin_ns);
}

/*
 * A timer or a path unit shows that its service starts repeatedly on purpose. Ignores other kinds
 * of units.
 */
static void services_see_link(const struct host *host, struct services *services, int dir_fd,
			      const char *link)
{
	static const char begin[] = "invocation:";
	const char *name = link + strlen(begin);
	bool starts;
	struct service *service;
	char unit[300];

	if (strncmp(link, begin, strlen(begin)) != 0)
		return;
	starts = services_ends_with(name, ".timer") || services_ends_with(name, ".path");
	if (!starts && !services_ends_with(name, ".service"))
		return;
	snprintf(unit, sizeof(unit), "%.*s.service", (int)(strrchr(name, '.') - name), name);
	service = find_service(services, unit);
	if (service && starts)
		service->timed = true;
	else if (service)
		see_start(host, services, service, dir_fd, link);
}

static void add_links(const struct host *host, struct services *services)
{
	const struct dirent *entry;
	char path[PATH_MAX];
	DIR *dir;

	if (snprintf(path, sizeof(path), "%s/run/systemd/units", host->root) >= (int)sizeof(path))
		return;
	dir = opendir(path);
	for (int i = 0; dir && i < 16 * SERVICES_MAX && (entry = readdir(dir)); i++)
		services_see_link(host, services, dirfd(dir), entry->d_name);
	if (dir)
		closedir(dir);
}

static int see_troubled(void *context, const char *name, const char *active, const char *sub)
{
	struct services *services = context;
	struct service *service = find_service(services, name);

	if (!service)
		return 0;
	service->there = true;
	service->failed = strcmp(active, "failed") == 0;
	service->restarting = strncmp(sub, "auto-restart", strlen("auto-restart")) == 0;
	return 0;
}

static void ask_systemd(const struct host *host, struct services *services)
{
	_cleanup_(cleanup_systemd) struct systemd *systemd = NULL;
	int asked = 0;

	if (systemd_open(host->root, &systemd) < 0 ||
	    systemd_each_troubled(systemd, see_troubled, services) < 0)
		return;
	services->asked = services->any = true;
	for (size_t i = 0; i < services->list.count && asked < ASKED_MAX; i++) {
		struct service *service = &services->list.items[i];
		uint32_t count;
		int r;

		if (!services_ends_with(service->name, ".service") || strchr(service->name, '/') ||
		    (!service->restarting && !service->starts.now && !service->starts.hour &&
		     service->age_ns >= YOUNG_NS))
			continue;
		asked++;
		r = systemd_restarts(systemd, service->name, &count);
		if (r == 0)
			service->restarts = count;
		/*
		 * after a timeout, we would take a late answer for the answer to the next question
		 */
		else if (r != -EOPNOTSUPP)
			break;
	}
}

int services_read(const struct host *host, struct services *services)
{
	services_add_figures(host, services);
	add_links(host, services);
	ask_systemd(host, services);
	return 0;
}
