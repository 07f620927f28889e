// SPDX-License-Identifier: GPL-2.0-only
#include "audit/host-figures.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/foreign.h"
#include "tape/tape-events.h"

#define MOUNTS_MAX (4 << 20)
#define STEP_NS NSEC_PER_SEC
/* A larger number is damage, because no host runs for a hundred years. */
#define UPTIME_MAX_S 3e9

void host_done(struct host *host)
{
	strings_done(&host->names);
	strings_done(&host->hung);
	array_done(&host->figures);
	array_done(&host->dying_points);
	array_done(&host->dying);
}

static int name_id(struct host *host, const char *name, uint32_t *ret_id)
{
	int r = strings_add(&host->names, name, strlen(name), ret_id);

	while (r == 0 && host->figures.count <= *ret_id)
		r = array_push(&host->figures, (struct host_figure){ .read = false });
	return r;
}

int host_name(struct host *host, const char *name, struct host_figure **ret_figure)
{
	uint32_t id;
	int r = name_id(host, name, &id);

	if (r < 0)
		return r;
	*ret_figure = &host->figures.items[id];
	return 0;
}

const struct host_figure *host_find(const struct host *host, const char *format, ...)
{
	char name[PATH_MAX];
	va_list list;
	uint32_t id;

	va_start(list, format);
	vsnprintf(name, sizeof(name), format, list);
	va_end(list);
	id = strings_find(&host->names, name, strlen(name));
	return id ? &host->figures.items[id] : NULL;
}

int64_t host_growth(const struct host *host, const char *name)
{
	const struct host_figure *figure = host_find(host, "%s", name);

	return figure && figure->read ? figure->last - figure->first : 0;
}

double host_rate(const struct host *host, const char *name)
{
	return host->watched_ns ? host_growth(host, name) * 1e9 / host->watched_ns : 0;
}

bool host_name_part(const char *name, const char *begin, const char *end, char part[HOST_PART_SIZE])
{
	size_t size = strlen(name), around = strlen(begin) + strlen(end);

	if (size <= around || strncmp(name, begin, strlen(begin)) != 0 ||
	    strcmp(name + size - strlen(end), end) != 0)
		return false;
	return snprintf(part, HOST_PART_SIZE, "%.*s", (int)(size - around), name + strlen(begin)) <
	       HOST_PART_SIZE;
}

bool host_started(const char *name, const char *begin, char part[HOST_PART_SIZE])
{
	return host_name_part(name, begin, "/starts", part) ||
	       host_name_part(name, begin, TAPE_GAUGE_MADE, part);
}

#define HOUR_NS (3600 * NSEC_PER_SEC)
/* Two consecutive readings of the recorder are at most this far apart. */
#define READINGS_NS (150 * NSEC_PER_SEC)

void host_add_starts(const struct host *host, const struct host_figure *figure,
		     struct host_starts *starts)
{
	if (figure->read)
		starts->now = figure->last - figure->first;
	starts->last_ns = MAX(starts->last_ns, figure->grew_ns);
	if (!figure->from_ns || figure->grown_hour < starts->hour)
		return;
	starts->hour = figure->grown_hour;
	starts->hour_ns = MIN(host->now_ns - MIN(figure->from_ns, host->now_ns), HOUR_NS);
}

uint64_t host_quiet_ns(const struct host *host, const struct host_starts *starts)
{
	if (starts->now)
		return 0;
	return starts->last_ns ? host->now_ns - MIN(starts->last_ns, host->now_ns) : UINT64_MAX;
}

void host_put_quiet(const struct host *host, const struct host_starts *starts, struct buffer *text)
{
	uint64_t quiet_ns = host_quiet_ns(host, starts);
	char ago[32];

	if (quiet_ns > READINGS_NS && quiet_ns != UINT64_MAX)
		buffer_printf(
			text, ", the last of them %s ago",
			duration_format(quiet_ns / NSEC_PER_SEC * NSEC_PER_SEC, ago, sizeof(ago)));
}

void host_put_search(const struct host *host, const char *name, struct buffer *confirm)
{
	char pattern[2 * HOST_PART_SIZE + 8] = "*/", word[FOREIGN_WORD_SIZE],
					  from[FOREIGN_WORD_SIZE];
	size_t used = strlen(pattern);

	if (!host->has_cgroups)
		return;
	/* escape the pattern characters of find; names of systemd units contain backslashes */
	for (; *name && used + 3 < sizeof(pattern); name++) {
		if (strchr("[?\\", *name))
			pattern[used++] = '\\';
		pattern[used++] = *name;
	}
	pattern[used] = 0;
	report_line(confirm,
		    "for i in $(seq 10); do find %s -path %s -printf '%%i %%p\\n'; sleep 1; done",
		    foreign_shell_word(host->cgroups.path + strlen(host->root), from),
		    foreign_shell_word(pattern, word));
}

/*
 * Returns 0 if we may read the file, or a negative errno. Does not open the file, because that may
 * hang.
 */
static int host_check_readable(const struct host *host, const char *path)
{
	char below[PATH_MAX];

	if (snprintf(below, sizeof(below), "%s%s", host->root, path) >= (int)sizeof(below))
		return -ENAMETOOLONG;
	return access(below, R_OK) < 0 ? -errno : 0;
}

bool host_has(const struct host *host, const char *path)
{
	return host_check_readable(host, path) == 0;
}

const char *host_lack(const struct host *host, const char *path, char text[HOST_LACK_SIZE])
{
	int r = host_check_readable(host, path);

	if (r == 0)
		snprintf(text, HOST_LACK_SIZE, "%s has no such figures", path);
	else if (r != -ENOENT && r != -ENOTDIR)
		snprintf(text, HOST_LACK_SIZE, "%s: %s", path, strerror(-r));
	else if (*host->root)
		snprintf(text, HOST_LACK_SIZE, "%s is not in the copy", path);
	else
		snprintf(text, HOST_LACK_SIZE, "%s does not exist", path);
	return text;
}

bool host_number(const struct host *host, const char *path, int64_t *ret_value)
{
	char full[PATH_MAX];

	return snprintf(full, sizeof(full), "%s%s", host->root, path) < (int)sizeof(full) &&
	       source_number(full, ret_value) == 0;
}

static int host_figures_take_name(void *context, const char *name, uint32_t *ret_id)
{
	return name_id(context, name, ret_id);
}

static int host_figures_take_value(void *context, uint32_t id, int64_t value)
{
	struct host *host = context;
	struct host_figure *figure = &host->figures.items[id];

	if (!figure->read)
		figure->first = value;
	figure->read = true;
	figure->last = value;
	return 0;
}

bool host_enter(struct host *host, const char *what)
{
	const struct audit_options *options = host->options;
	uint32_t id;

	if (!options->enter || options->enter(options->context, what))
		return true;
	/* add each part once, even if the audit enters it again */
	host->failed |= strings_add(&host->hung, what, strlen(what), &id) < 0;
	return false;
}

void host_leave(struct host *host)
{
	if (host->options->enter)
		host->options->enter(host->options->context, NULL);
}

static bool guard_source(void *context, const char *source)
{
	char what[64];

	if (!source) {
		host_leave(context);
		return true;
	}
	snprintf(what, sizeof(what), "figures of %s", source);
	return host_enter(context, what);
}

static void host_figures_show_progress(const struct audit_options *options, uint64_t done_ns)
{
	if (options->progress)
		options->progress(options->progress_context, MIN(done_ns, options->watch_ns),
				  options->watch_ns);
}

/*
 * Reads all sources each second: every source is due at second 0. Reads often, because a read does
 * not see a unit that starts and ends between two reads.
 */
static int host_figures_watch(struct host *host, struct gauges *gauges)
{
	const struct audit_options *options = host->options;
	uint64_t begin_ns = options->now_ns(options->context);
	int r = gauges_read(gauges, 0);

	host->now_ns = begin_ns;
	while (r == 0 && host->watched_ns < options->watch_ns) {
		options->wait(options->context, MIN(STEP_NS, options->watch_ns - host->watched_ns));
		host->now_ns = MAX(options->now_ns(options->context), begin_ns + 1);
		host->watched_ns = host->now_ns - begin_ns;
		r = gauges_read(gauges, 0);
		host_figures_show_progress(options, host->watched_ns);
	}
	return r;
}

static void find_memory(struct host *host)
{
	struct source_file mounts;

	source_file_init(&mounts, host->root, "/proc/self/mountinfo");
	if (source_file_read(&mounts, MOUNTS_MAX) == 0) {
		const struct words text = { mounts.text, mounts.text + mounts.size };

		host->has_memory = cgroups_find(host->root, "memory", text, &host->cgroups) == 0;
		host->has_cgroups = host->has_memory ||
				    cgroups_find(host->root, NULL, text, &host->cgroups) == 0;
	}
	source_file_done(&mounts);
}

/* Reads "12345.67 1234.56". */
static void read_uptime(struct host *host)
{
	struct source_file file;
	double uptime_s = 0;

	source_file_init(&file, host->root, "/proc/uptime");
	if (source_file_read(&file, 4096) == 0)
		uptime_s = strtod(file.text, NULL);
	if (uptime_s > 0 && uptime_s < UPTIME_MAX_S)
		host->uptime_ns = uptime_s * 1e9;
	source_file_done(&file);
}

int host_watch(const struct audit_options *options, struct host *host)
{
	const struct gauges_sink sink = { host_figures_take_name, host_figures_take_value, host };
	struct gauges *gauges;
	int r;

	host->options = options;
	host->root = options->root;
	r = gauges_new(host->root, &sink, &gauges);
	if (r < 0)
		return r;
	gauges_guard(gauges, guard_source, host);
	r = host_figures_watch(host, gauges);
	gauges_free(gauges);
	if (host_enter(host, "mounts and uptime")) {
		find_memory(host);
		read_uptime(host);
		host_leave(host);
	}
	return r < 0 ? r : host->failed ? -ENOMEM : 0;
}
