// SPDX-License-Identifier: GPL-2.0-only
#include "cli/answer/recorder-text.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/number.h"
#include "base/size.h"
#include "draw/text.h"
#include "query/coverage/stacks-text.h"

/* A recorder reports once a second. */
#define STALLED_NS (5 * NSEC_PER_SEC)

/*
 * Kernel features and rights that may be absent, and the effect of their absence. A newer recorder
 * may report others.
 */
static const struct {
	const char *name;
	const char *costs;
} lacks_known[] = {
	{ "ksymbol", "BPF programs that are loaded during the recording have no name" },
	{ "lost", "samples that were lost just before a CPU fell idle are reported late" },
	{ "cgroup",
	  "cgroups come from /proc, which misses processes that end at once; kernel 5.7 has all" },
	{ "kallsyms", "the kernel's functions have no names; CAP_SYSLOG would give them" },
	{ "ptrace",
	  "other users' mappings before the recording are unknown; CAP_SYS_PTRACE would help" },
	{ "private-files",
	  "functions of private programs have no names; CAP_DAC_READ_SEARCH would open them" },
	{ "ring-size",
	  "rings are small and overflow sooner; CAP_IPC_LOCK or a higher ulimit -l would help" },
	{ "stack-dumps",
	  "user stacks follow frame pointers: most are short or wrong; try --event cpu-clock" },
	{ "stack-dumps-together", "a second interrupt for each sample reads the stack" },
	{ "stack-bytes", "less of each stack is read, because its rings take too much memory" },
	{ "cycles",
	  "cycles cannot be counted here; a timer samples, and fires late if interrupts are off" },
	{ "map-files",
	  "deleted files may have no names; CAP_CHECKPOINT_RESTORE would help, or CAP_SYS_ADMIN" },
	{ "tracefs",
	  "no trace events of cgroups and OOM kills; CAP_DAC_READ_SEARCH would show them" },
	{ "trace-rings", "perf refuses some trace events, or RLIMIT_MEMLOCK has no room for them" },
	{ "cgroup:cgroup_mkdir", "the process that makes a cgroup is not known" },
	{ "cgroup:cgroup_rmdir", "cgroups that were removed and still live are not counted" },
	{ "cgroup:cgroup_release", "cgroups that were removed and still live are not counted" },
	{ "oom:mark_victim", "OOM kills are known from the log alone" },
	{ "net:net_dev_xmit_timeout",
	  "network queues that do not send are known from the log alone" },
	{ "sched:sched_process_exec", "programs that start are not counted" },
};
static const char tracefs_unmounted[] =
	"no trace events of cgroups and OOM kills; mount -t tracefs tracefs /sys/kernel/tracing";

int recorder_text_read(const struct store_reader *reader, int pid, struct recorder_text *ret_status)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	struct recorder_text status = { 0 };
	int r = store_reader_status(reader, &text, &status.pid, &status.reported_ns);

	if (r == 1)
		r = progress_read((const char *)text.data, text.size, &status.progress);
	status.there = r == 0 && status.reported_ns;
	status.running = status.there && status.pid == pid;
	/*
	 * the process that holds the lock is not the one that reported: it has not reported yet, or
	 * it is not a recorder
	 */
	if (pid && !status.running)
		status.there = false;
	*ret_status = status;
	return r == -ENOMEM ? r : 0;
}

static double recorder_text_part(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / whole : 0;
}

/* Formats a share of the time of one CPU. */
static const char *recorder_text_cost(uint64_t part, uint64_t whole, char text[SHARE_TEXT_SIZE])
{
	return cost_format(recorder_text_part(part, whole), text);
}

/* Returns the state of the main thread as in ps(1), or 0 if it is unknown. */
static char state_of(int pid)
{
	_cleanup_free_ char *text = NULL;
	char path[32], *name_end;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read(path, 4096, &text, NULL) < 0)
		return 0;
	name_end = strrchr(text, ')');
	return name_end && name_end[1] == ' ' ? name_end[2] : 0;
}

bool recorder_text_is_stalled(const struct recorder_text *status, uint64_t now_ns)
{
	return status->running && now_ns - MIN(now_ns, status->reported_ns) > STALLED_NS;
}

/* Guesses the cause of the stall from the present state of the process. */
static const char *stall_cause(char state)
{
	if (state == 'T')
		return "a signal stopped it";
	if (state == 't')
		return "a debugger holds it";
	return "it gets no CPU, it is frozen, or the store's disk hangs";
}

static void print_stalled(struct field_lines *fields, int pid, const char *since, const char *age)
{
	char state = state_of(pid);

	field_begin(fields, "stalled");
	field_add(fields, "since %s, %s: %s", since, age, stall_cause(state));
	if (state == 'T')
		field_add(fields, "; kill -CONT %d lets it go on", pid);
	field_end(fields);
}

static void print_state(struct field_lines *fields, const struct recorder_text *status,
			bool stop_known, uint64_t now_ns, bool utc)
{
	uint64_t age_ns = now_ns - MIN(now_ns, status->reported_ns);
	char shown[TIME_TEXT_SIZE], age[32];

	time_format(status->reported_ns, utc, 0, shown);
	age_format(age_ns, age, sizeof(age));
	if (!status->running && !stop_known)
		field_line(fields, "ended", "process %d %s; its last report was at %s, %s",
			   status->pid,
			   age_ns < clock_ns(CLOCK_BOOTTIME)
				   ? "was killed"
				   : "ended when the machine was restarted",
			   shown, age);
	else if (recorder_text_is_stalled(status, now_ns))
		print_stalled(fields, status->pid, shown, age);
	else if (status->running && status->progress.stopping)
		field_line(fields, "stopping", "seals the last samples");
}

/* Cleans the text, because users choose the names of processes and cgroups. */
static void print_foreign(struct field_lines *fields, const char *label, const char *before,
			  const char *text)
{
	_cleanup_(buffer_done) struct buffer line = { 0 };
	struct terminal terminal;

	terminal_read(&terminal, STDOUT_FILENO, TERMINAL_COLOR_NEVER);
	text_put_short(&terminal, text, UINT32_MAX, &line);
	field_line(fields, label, "%s%s", before, buffer_shown(&line));
}

static void print_flaws(struct field_lines *fields, const struct recorder_progress *progress)
{
	if (!progress->lost_sideband && !progress->damaged && !progress->truncated &&
	    !progress->unsaved)
		return;
	field_line(fields, "", "%llu side-band lost, %llu unreadable, %llu truncated, %llu unsaved",
		   (unsigned long long)progress->lost_sideband,
		   (unsigned long long)progress->damaged, (unsigned long long)progress->truncated,
		   (unsigned long long)progress->unsaved);
}

/*
 * Prints how many side-band records perftape refused and how many callchains it cut, with the
 * cgroup that has the most of them.
 */
static void print_refused(struct field_lines *fields, const struct recorder_progress *progress)
{
	char before[64];

	if (progress->refused) {
		snprintf(before, sizeof(before), "%llu side-band refused, mostly of cgroup ",
			 (unsigned long long)progress->refused);
		print_foreign(fields, "", before, progress->refused_most);
	}
	if (progress->cut) {
		snprintf(before, sizeof(before), "%llu callchains cut, mostly of cgroup ",
			 (unsigned long long)progress->cut);
		print_foreign(fields, "", before, progress->cut_most);
	}
}

static void print_taken(struct field_lines *fields, const struct recorder_progress *progress,
			bool lately)
{
	char length[32];

	field_line(fields, "event", "%s at %llu Hz on %llu CPU%s, segments of %s", progress->event,
		   (unsigned long long)progress->frequency, (unsigned long long)progress->cpus,
		   plural(progress->cpus),
		   duration_format(progress->segment_ns, length, sizeof(length)));
	field_begin(fields, "taken");
	field_add(fields, "%llu sample%s", (unsigned long long)progress->samples,
		  plural(progress->samples));
	if (lately && progress->now_ns)
		field_add(fields, ", %.0f a second now",
			  progress->now_samples * 1e9 / progress->now_ns);
	field_add(fields, "; %llu lost, %llu skipped, throttled %llu time%s",
		  (unsigned long long)progress->lost, (unsigned long long)progress->skipped,
		  (unsigned long long)progress->throttled, plural(progress->throttled));
	field_end(fields);
	print_flaws(fields, progress);
	print_refused(fields, progress);
	if (progress->lost_events)
		field_line(fields, "", "%llu trace events lost, too many at once",
			   (unsigned long long)progress->lost_events);
}

static void put_by(const char *what, const char *comm, uint64_t pid, struct buffer *text)
{
	if (*comm)
		buffer_printf(text, ", %s by %s (process %llu)", what, comm,
			      (unsigned long long)pid);
}

/*
 * Prints a kind of dying cgroups. Adds process numbers, because several processes may share a name.
 */
static void print_dying_prefix(struct field_lines *fields, const struct progress_dying *dying,
			       bool utc)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	char shown[TIME_TEXT_SIZE], age[32];

	buffer_printf(&text, "%llu under %s", (unsigned long long)dying->count, dying->prefix);
	put_by("made", dying->made_by, dying->made_by_pid, &text);
	put_by("removed", dying->removed_by, dying->removed_by_pid, &text);
	if (dying->since_ns)
		buffer_printf(&text, ", the oldest for %s, since %s",
			      duration_format(dying->oldest_ns / NSEC_PER_SEC * NSEC_PER_SEC, age,
					      sizeof(age)),
			      time_format(dying->since_ns, utc, 0, shown));
	buffer_u8(&text, 0);
	if (!buffer_failed(&text))
		print_foreign(fields, "", "", (const char *)text.data);
}

/* Prints which removed cgroups the count does not include. */
static void print_dying_limits(struct field_lines *fields, const struct recorder_progress *progress,
			       bool utc)
{
	char shown[TIME_TEXT_SIZE];

	field_begin(fields, "");
	field_add(fields, "counted since %s; earlier removals are not known",
		  time_format(progress->dying_since_ns, utc, 0, shown));
	if (progress->dying_lost)
		field_add(fields, "; the count restarted then, because %llu trace events were lost",
			  (unsigned long long)progress->dying_lost);
	if (progress->dying_unsure)
		field_add(fields, "; within %llu, because trace events were lost",
			  (unsigned long long)progress->dying_unsure);
	field_end(fields);
}

/*
 * Prints the dying cgroups. An older recorder, or a recorder that has just restarted its count,
 * reports a text instead of counts.
 */
static void print_dying(struct field_lines *fields, const struct recorder_progress *progress,
			uint64_t now_ns, bool utc)
{
	uint64_t age_ns = now_ns - MIN(progress->dying_ns, now_ns), shown = 0;
	char age[32];

	if (!progress->cgroup_count && *progress->dying)
		print_foreign(fields, "dying", "cgroups removed and not gone: ", progress->dying);
	if (!progress->cgroup_count)
		return;
	field_line(fields, "dying", "%llu cgroup%s removed and not gone, as of %s:",
		   (unsigned long long)progress->dying_count, plural(progress->dying_count),
		   age_format(age_ns / NSEC_PER_SEC * NSEC_PER_SEC, age, sizeof(age)));
	for (size_t i = 0; i < progress->cgroup_count; i++) {
		print_dying_prefix(fields, &progress->cgroups[i], utc);
		shown += progress->cgroups[i].count;
	}
	if (progress->dying_prefixes > progress->cgroup_count)
		field_line(fields, "", "%llu under %llu others",
			   (unsigned long long)(progress->dying_count - shown),
			   (unsigned long long)(progress->dying_prefixes - progress->cgroup_count));
	print_dying_limits(fields, progress, utc);
}

/*
 * Prints how long the recorder was stalled. During a stall the kernel kept writing into the ring
 * buffers.
 */
static void print_stall(struct field_lines *fields, uint64_t length_ns, const char *why)
{
	char length[32];

	if (length_ns)
		field_line(fields, "stalled",
			   "%s for at least %s in all; samples beyond the rings are lost", why,
			   duration_format(length_ns, length, sizeof(length)));
}

static void print_lacking(struct field_lines *fields, const struct recorder_progress *progress)
{
	print_stall(fields, progress->stalled_signal_ns, "a signal stopped it");
	print_stall(fields, progress->stalled_cpu_ns, "it got no CPU, or was frozen,");
	if (progress->limit)
		field_line(fields, "lowered", "the kernel allows %llu samples a second; see %s",
			   (unsigned long long)progress->limit,
			   "kernel.perf_event_max_sample_rate");
	if (progress->offline)
		field_line(fields, "offline", "a CPU went offline %llu time%s; %llu now",
			   (unsigned long long)progress->offline, plural(progress->offline),
			   (unsigned long long)progress->offline_now);
}

static void print_costs(struct field_lines *fields, const struct recorder_progress *progress)
{
	/* in its first seconds, a recorder does not have recent figures */
	uint64_t span_ns = progress->recent_ns ? progress->recent_ns : progress->elapsed_ns;
	uint64_t samples = progress->recent_ns ? progress->recent_samples : progress->samples;
	char memory[32], resident[32], rings[32], lately[SHARE_TEXT_SIZE], all[SHARE_TEXT_SIZE];

	if (progress->recent_ns)
		field_line(fields, "own CPU", "%s of one CPU lately, %s since its start",
			   recorder_text_cost(progress->recent_cpu_ns, progress->recent_ns, lately),
			   recorder_text_cost(progress->cpu_ns, progress->elapsed_ns, all));
	else if (progress->cpu_ns)
		field_line(fields, "own CPU", "%s of one CPU since its start",
			   recorder_text_cost(progress->cpu_ns, progress->elapsed_ns, all));
	if (progress->sampling_ns)
		field_line(fields, "sampling",
			   "about %s of one CPU in the kernel, %.1f us a sample",
			   recorder_text_cost(samples * progress->sampling_ns, span_ns, lately),
			   progress->sampling_ns / 1e3);
	if (progress->files_held)
		field_line(fields, "files", "holds %llu files of others, each for at most 90 s",
			   (unsigned long long)progress->files_held);
	if (progress->memory_bytes)
		field_line(fields, "memory", "%s, %s with files, and %s of rings",
			   size_format(progress->memory_bytes, memory, sizeof(memory)),
			   size_format(progress->resident_bytes, resident, sizeof(resident)),
			   size_format(progress->rings_bytes, rings, sizeof(rings)));
}

/* Prints the cost of each source of gauges, and names the sources that always fail. */
static void print_sources(struct field_lines *fields, const struct recorder_progress *progress)
{
	char longest[32], cost[SHARE_TEXT_SIZE];
	uint64_t cpu_ns = 0;

	if (!progress->source_count)
		return;
	for (size_t i = 0; i < progress->source_count; i++)
		cpu_ns += progress->sources[i].cpu_ns;
	field_line(fields, "figures", "reading them takes %s of one CPU, including kernel time",
		   recorder_text_cost(cpu_ns, progress->elapsed_ns, cost));
	for (size_t i = 0; i < progress->source_count; i++) {
		const struct progress_source *source = &progress->sources[i];

		if (source->reads && source->failures == source->reads)
			field_line(fields, "", "%-15s not available here", source->name);
		else if (source->reads)
			field_line(fields, "", "%-15s %s, %llu read%s, at most %s%s", source->name,
				   recorder_text_cost(source->cpu_ns, progress->elapsed_ns, cost),
				   (unsigned long long)source->reads, plural(source->reads),
				   duration_format(source->longest_ns, longest, sizeof(longest)),
				   source->failures ? ", some failed" : "");
	}
}

static void print_rings(struct field_lines *fields, const struct recorder_progress *progress)
{
	char peak[SHARE_TEXT_SIZE], names[SHARE_TEXT_SIZE];
	char bytes[32], rides[32], least[32], late[32], late_peak[32], took[32], took_peak[32];

	field_begin(fields, "rings");
	field_add(fields, "2 x %s a CPU, peak %s, names %s",
		  size_format(progress->ring_bytes, bytes, sizeof(bytes)),
		  share_format(recorder_text_part(progress->ring_peak_bytes, progress->ring_bytes),
			       peak),
		  share_format(
			  recorder_text_part(progress->sideband_peak_bytes, progress->ring_bytes),
			  names));
	if (progress->rides_out_ns)
		field_add(fields, "; hold %s of a busy CPU (%s of the deepest stacks)",
			  duration_format(progress->rides_out_ns, rides, sizeof(rides)),
			  duration_format(progress->rides_out_least_ns, least, sizeof(least)));
	field_end(fields);
	field_line(fields, "drain", "%s late, at most %s; took %s, at most %s",
		   duration_format(progress->late_ns, late, sizeof(late)),
		   duration_format(progress->late_peak_ns, late_peak, sizeof(late_peak)),
		   duration_format(progress->drain_ns, took, sizeof(took)),
		   duration_format(progress->drain_peak_ns, took_peak, sizeof(took_peak)));
}

static void print_stacks(struct field_lines *fields, const struct recorder_progress *progress)
{
	const struct stack_shares shares = {
		.whole = progress->stacks_whole,
		.cut = progress->stacks_cut,
		.frame_pointers = progress->stacks_frame_pointers,
	};
	char text[STACKS_TEXT_SIZE], bytes[32], ring[32], tables[32];

	if (!progress->stack_bytes)
		return;
	stacks_text(&shares, text);
	field_line(fields, "stacks", "of users: %s", *text ? text : "none yet");
	field_line(fields, "", "%s of each in a ring of %s a CPU, %llu lost; %llu table%s, %s",
		   size_format(progress->stack_bytes, bytes, sizeof(bytes)),
		   size_format(progress->stack_ring_bytes, ring, sizeof(ring)),
		   (unsigned long long)progress->stacks_lost,
		   (unsigned long long)progress->unwind_tables, plural(progress->unwind_tables),
		   size_format(progress->unwind_tables_bytes, tables, sizeof(tables)));
}

static void print_behind(struct field_lines *fields, const struct recorder_progress *progress)
{
	char lag[32], bytes[32];

	field_line(fields, "sealed", "%llu segment%s, %s; %llu waiting; the disk is %s behind",
		   (unsigned long long)progress->segments, plural(progress->segments),
		   size_format(progress->bytes, bytes, sizeof(bytes)),
		   (unsigned long long)progress->waiting,
		   duration_format(progress->spool_lag_ns, lag, sizeof(lag)));
	if (progress->naming_ns >= PROGRESS_NAMING_NS)
		field_line(fields, "naming", "%s for %s", progress->naming,
			   duration_format(progress->naming_ns, lag, sizeof(lag)));
	if (progress->store_blocked)
		field_line(fields, "stalled", "%s; samples wait in memory", progress->error.text);
	if (*progress->warning.text)
		field_line(fields, "warning", "%s", progress->warning.text);
	if (*progress->log_trouble.text)
		field_line(fields, "warning", "%s", progress->log_trouble.text);
}

/*
 * Returns whether tracefs is mounted. Without the right to look into tracefs, access() fails with
 * another error than ENOENT.
 */
static bool has_tracefs(void)
{
	static const char *const places[] = { "/sys/kernel/tracing/events",
					      "/sys/kernel/debug/tracing/events" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (access(places[i], F_OK) == 0 || errno != ENOENT)
			return true;
	return false;
}

static const char *lack_costs(const char *name, size_t size)
{
	if (size == strlen("tracefs") && strncmp(name, "tracefs", size) == 0 && !has_tracefs())
		return tracefs_unmounted;
	for (size_t i = 0; i < ARRAY_SIZE(lacks_known); i++)
		if (strlen(lacks_known[i].name) == size &&
		    strncmp(lacks_known[i].name, name, size) == 0)
			return lacks_known[i].costs;
	return NULL;
}

void recorder_text_lacks(struct field_lines *fields, const char *lacks)
{
	while (*lacks) {
		size_t size = strcspn(lacks, ",");
		const char *costs = lack_costs(lacks, size);

		field_line(fields, "without", "%.*s%s%s", (int)size, lacks, costs ? ": " : "",
			   costs ? costs : "");
		lacks += size + (lacks[size] == ',');
	}
}

void recorder_text_print(struct field_lines *fields, const struct recorder_text *status,
			 bool stop_known, uint64_t now_ns, bool utc)
{
	const struct recorder_progress *progress = &status->progress;

	if (!status->there)
		return;
	print_state(fields, status, stop_known, now_ns, utc);
	print_taken(fields, progress, status->running && !recorder_text_is_stalled(status, now_ns));
	print_dying(fields, progress, now_ns, utc);
	if (!status->running)
		return;
	print_lacking(fields, progress);
	print_costs(fields, progress);
	print_sources(fields, progress);
	print_rings(fields, progress);
	print_stacks(fields, progress);
	print_behind(fields, progress);
	recorder_text_lacks(fields, progress->lacks);
}

void recorder_text_json(const struct recorder_text *status, uint64_t now_ns, struct buffer *json)
{
	bool stalled = recorder_text_is_stalled(status, now_ns);
	char shown[TIME_TEXT_SIZE];

	if (!status->there) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_key(json, "pid");
	json_u64(json, status->pid);
	json_key(json, "running");
	json_bool(json, status->running);
	json_key(json, "told");
	json_string(json, time_format(status->reported_ns, true, 6, shown));
	json_key(json, "stalled");
	json_bool(json, stalled);
	json_key(json, "stalled_cause");
	if (stalled)
		json_string(json, stall_cause(state_of(status->pid)));
	else
		json_null(json);
	json_key(json, "progress");
	progress_write(&status->progress, json);
	json_close(json, '}');
}
