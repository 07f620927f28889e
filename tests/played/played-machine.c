// SPDX-License-Identifier: GPL-2.0-only
/* The clocks of the played machine, and its script. */
#include "tests/played/played.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/cpu-list.h"
#include "base/file.h"

int __real_clock_gettime(clockid_t clock, struct timespec *ret_time);
int __real_nanosleep(const struct timespec *length, struct timespec *ret_left);
int __real_usleep(useconds_t us);
int __real_uname(struct utsname *ret_names);
int __real_gethostname(char *name, size_t size);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_time);
int __wrap_nanosleep(const struct timespec *length, struct timespec *ret_left);
int __wrap_usleep(useconds_t us);
int __wrap_uname(struct utsname *ret_names);
int __wrap_gethostname(char *name, size_t size);

/* The unit of idle times in /proc/stat. */
#define TICK_NS (10 * NSEC_PER_MSEC)
/* The program seems to use this part of the elapsed time as CPU time. */
#define PART_OWN 100

struct machine_action {
	uint64_t time_ns;
	/* number of the line in the script */
	unsigned int line;
	char *words;
};

static struct {
	bool played;
	_Atomic uint64_t now_ns;
	/* the wall clock at the begin; a step of the clock changes it */
	uint64_t realtime_ns;
	array_of(struct machine_action) actions;
	size_t next;
	unsigned int line;
	array_of(char *) texts;
	bool stalled;
} machine;

const char *played_symbols;

void played_fail(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "played: line %u of the script: ", machine.line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	_exit(99);
}

bool played(void)
{
	return machine.played;
}

uint64_t played_now_ns(void)
{
	return machine.now_ns;
}

/* ---- the script's words ---- */

char *played_word(char **rest)
{
	char *word;

	do
		word = strsep(rest, " \t");
	while (word && !*word);
	return word;
}

char *played_need(char **rest)
{
	char *word = played_word(rest);

	if (!word)
		played_fail("it has too few words");
	return word;
}

uint64_t played_number(char **rest)
{
	char *word = played_need(rest), *end;
	uint64_t number = strtoull(word, &end, 0);

	if (*end)
		played_fail("'%s' is not a number", word);
	return number;
}

uint64_t played_seconds(const char *word)
{
	char *end;
	double seconds = strtod(word, &end);

	if (*end)
		played_fail("'%s' is not a number of seconds", word);
	return seconds * 1e9 + 0.5;
}

uint32_t played_cpu(char **rest)
{
	uint64_t cpu = played_number(rest);

	if (cpu >= PLAYED_CPUS)
		played_fail("there is no CPU %llu", (unsigned long long)cpu);
	return cpu;
}

/* ---- files that change ---- */

void played_write_online(void)
{
	char text[128] = "", *at = text;

	for (unsigned int i = 0; i < PLAYED_CPUS; i++)
		if (played_cpus[i].online)
			at += sprintf(at, "%s%u", at > text ? "," : "", i);
	strcpy(at, "\n");
	played_write("/sys/devices/system/cpu/online", text, strlen(text));
}

static void machine_write_stat(void)
{
	uint64_t ticks = (machine.now_ns - PLAYED_BEGIN_NS) / TICK_NS, idle = 0, all = 0;
	char text[4096], *at = text;
	size_t first;

	for (unsigned int i = 0; i < PLAYED_CPUS; i++)
		if (played_cpus[i].online) {
			idle += played_cpus[i].idle_ns / TICK_NS;
			all += ticks;
		}
	first = sprintf(text, "cpu  0 0 %llu %llu 0 0 0 0 0 0\n", (unsigned long long)(all - idle),
			(unsigned long long)idle);
	at += first;
	for (unsigned int i = 0; i < PLAYED_CPUS; i++) {
		uint64_t own = played_cpus[i].idle_ns / TICK_NS;

		if (played_cpus[i].online)
			at += sprintf(at, "cpu%u 0 0 %llu %llu 0 0 0 0 0 0\n", i,
				      (unsigned long long)(ticks - own), (unsigned long long)own);
	}
	at += sprintf(at, "ctxt %llu\nprocesses %llu\nprocs_running 1\nprocs_blocked 0\n",
		      (unsigned long long)ticks * 7, (unsigned long long)ticks / 50);
	played_write("/proc/stat", text, at - text);
}

static void machine_do(const struct machine_action *action)
{
	machine.line = action->line;
	played_move(action->words);
}

/* ---- time ---- */

static void machine_move_on(uint64_t time_ns)
{
	uint64_t length_ns = time_ns - machine.now_ns;

	for (unsigned int i = 0; i < PLAYED_CPUS; i++)
		if (played_cpus[i].online && !played_cpus[i].task.tid)
			played_cpus[i].idle_ns += length_ns;
	machine.now_ns = time_ns;
}

static uint64_t machine_next_ns(void)
{
	uint64_t action_ns = machine.next < machine.actions.count
				     ? machine.actions.items[machine.next].time_ns
				     : UINT64_MAX;

	return MIN(action_ns, played_next_sample_ns());
}

/* If the program starts another one, the played time continues in that program. */
static void machine_tell_children(void)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)machine.now_ns);
	setenv("PERFTAPE_PLAY_NOW", text, 1);
}

void played_pass(uint64_t until_ns, bool (*woken)(void *context), void *context)
{
	bool starved = played_starve(false);

	played_settle();
	while (machine.now_ns < until_ns && !(woken && woken(context))) {
		machine_move_on(MIN(MAX(machine_next_ns(), machine.now_ns), until_ns));
		played_take_samples();
		while (machine.next < machine.actions.count &&
		       machine.actions.items[machine.next].time_ns <= machine.now_ns)
			machine_do(&machine.actions.items[machine.next++]);
		if (machine.now_ns >= until_ns)
			break;
	}
	machine_write_stat();
	machine_tell_children();
	played_wake();
	if (!machine.stalled)
		played_settle();
	played_starve(starved);
}

void played_stall(uint64_t until_ns)
{
	bool before = machine.stalled;

	machine.stalled = true;
	played_pass(until_ns, NULL, NULL);
	machine.stalled = before;
}

void played_step_wall(int64_t ns)
{
	machine.realtime_ns += ns;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	uint64_t ns = machine.now_ns;

	if (!machine.played)
		return __real_clock_gettime(clock, ret_time);
	if (clock == CLOCK_REALTIME)
		ns = ns - PLAYED_BEGIN_NS + machine.realtime_ns;
	else if (clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID)
		ns = (ns - PLAYED_BEGIN_NS) / PART_OWN;
	*ret_time = (struct timespec){ ns / NSEC_PER_SEC, ns % NSEC_PER_SEC };
	return 0;
}

int __wrap_nanosleep(const struct timespec *length, struct timespec *ret_left)
{
	uint64_t length_ns = length->tv_sec * NSEC_PER_SEC + length->tv_nsec;

	if (!machine.played || !played_is_first_thread())
		return __real_nanosleep(length, ret_left);
	played_pass(machine.now_ns + length_ns, NULL, NULL);
	if (ret_left)
		*ret_left = (struct timespec){ 0 };
	return 0;
}

int __wrap_usleep(useconds_t us)
{
	if (!machine.played || !played_is_first_thread())
		return __real_usleep(us);
	played_pass(machine.now_ns + us * NSEC_PER_USEC, NULL, NULL);
	return 0;
}

int __wrap_uname(struct utsname *ret_names)
{
	int r = __real_uname(ret_names);

	if (!machine.played)
		return r;
	strcpy(ret_names->nodename, "played");
	strcpy(ret_names->release, "6.18.0-played");
	return r;
}

int __wrap_gethostname(char *name, size_t size)
{
	if (!machine.played)
		return __real_gethostname(name, size);
	snprintf(name, size, "played");
	return 0;
}

/* ---- reading a script ---- */

/* Joins the lines that begin with a tab, without the tab. */
static char *machine_take_text(char **rest)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };

	while (*rest && **rest == '\t') {
		char *line = strsep(rest, "\n");

		machine.line++;
		buffer_printf(&text, "%s\n", line + 1);
	}
	buffer_u8(&text, 0);
	if (buffer_failed(&text))
		played_fail("memory is out");
	return (char *)take_ptr(text.data);
}

static void machine_file(char *words, char **rest)
{
	const char *path = played_need(&words);
	char *text = machine_take_text(rest);

	played_write(path, text, strlen(text));
	if (strcmp(path, "/proc/kallsyms") == 0)
		played_symbols = text;
	else
		free(text);
}

static void machine_put(const char *text, const char *format, ...)
{
	char path[256];
	va_list args;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	played_write(path, text, strlen(text));
}

/* process PID COMM CGROUP */
static void machine_process(char *words)
{
	int pid = played_number(&words);
	const char *comm = played_need(&words);
	char text[512];

	snprintf(text, sizeof(text), "0::%s\n", played_need(&words));
	machine_put(text, "/proc/%d/cgroup", pid);
	snprintf(text, sizeof(text), "%s\n", comm);
	machine_put(text, "/proc/%d/task/%d/comm", pid, pid);
	machine_put("", "/proc/%d/maps", pid);
	snprintf(text, sizeof(text), "%d (%s) S 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 50\n",
		 pid, comm);
	machine_put(text, "/proc/%d/stat", pid);
}

/* cpus LIST: the CPUs that are online at the begin */
static void machine_cpus(char *words)
{
	struct cpu_list list = { 0 };

	if (cpu_list_parse(played_need(&words), &list) < 0)
		played_fail("this is no list of CPUs");
	for (size_t i = 0; i < list.cpus.count; i++)
		if (list.cpus.items[i] < PLAYED_CPUS)
			played_cpus[list.cpus.items[i]].online = true;
	cpu_list_done(&list);
	played_write_online();
}

static void machine_add(const char *name, char *rest)
{
	struct machine_action action = { .line = machine.line,
					 .time_ns = PLAYED_BEGIN_NS + played_seconds(name),
					 .words = rest };

	if (machine.actions.count &&
	    machine.actions.items[machine.actions.count - 1].time_ns > action.time_ns)
		played_fail("it comes before the line above it");
	if (array_push(&machine.actions, action) < 0)
		played_fail("memory is out");
}

static void machine_read(const char *path);

/* Reads another script from the same folder, at this place. */
static void machine_include(char *words)
{
	const char *own = getenv("PERFTAPE_PLAY"), *slash = strrchr(own, '/');
	unsigned int line = machine.line;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash + 1 - own) : 0, own,
		 played_need(&words));
	machine_read(path);
	machine.line = line;
}

static void machine_read_line(char *line, char **rest)
{
	char *words = line, *name = played_word(&words);

	if (!name || *name == '#')
		return;
	if (*name >= '0' && *name <= '9')
		machine_add(name, words);
	else if (strcmp(name, "include") == 0)
		machine_include(words);
	else if (strcmp(name, "file") == 0)
		machine_file(words, rest);
	else if (strcmp(name, "process") == 0)
		machine_process(words);
	else if (strcmp(name, "cpus") == 0)
		machine_cpus(words);
	else if (strcmp(name, "realtime") == 0)
		machine.realtime_ns = played_number(&words) * NSEC_PER_SEC;
	else
		played_fail("the machine does not know '%s'", name);
}

/* Reads a script. Its text stays in memory, because actions point into it. */
static void machine_read(const char *path)
{
	char *text, *rest;

	if (file_read(path, 1 << 20, &text, NULL) < 0 || array_push(&machine.texts, text) < 0)
		played_fail("%s cannot be read", path);
	machine.line = 0;
	rest = text;
	while (rest) {
		char *line = strsep(&rest, "\n");

		machine.line++;
		machine_read_line(line, &rest);
	}
}

/* Runs before the program's main(). */
__attribute__((constructor(2000))) static void machine_init(void)
{
	const char *path = getenv("PERFTAPE_PLAY");

	if (!path) {
		played_starve(true);
		return;
	}
	machine.played = true;
	machine.now_ns = PLAYED_BEGIN_NS;
	played_make_root();
	machine_read(path);
	if (getenv("PERFTAPE_PLAY_NOW"))
		machine.now_ns = strtoull(getenv("PERFTAPE_PLAY_NOW"), NULL, 10);
	machine_write_stat();
	played_starve(true);
}
