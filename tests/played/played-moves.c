// SPDX-License-Identifier: GPL-2.0-only
/* The moves of a script: the effect of each word of a line. */
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "tests/played/played.h"

static uint64_t moves_log_sequence;

/* Parses "outermost;...;leaf" of kernel functions, with user addresses before them. */
static uint64_t moves_address(const char *name)
{
	char word[128];
	const char *at = played_symbols ? played_symbols : "";

	if (strncmp(name, "0x", 2) == 0)
		return strtoull(name, NULL, 16);
	snprintf(word, sizeof(word), " %s", name);
	/* the line ends after this, or the module follows */
	while ((at = strstr(at, word)) && !strchr("\t\n", at[strlen(word)]))
		at++;
	if (!at)
		played_fail("/proc/kallsyms has no function '%s'", name);
	while (at > played_symbols && at[-1] != '\n')
		at--;
	return strtoull(at, NULL, 16) + 16;
}

static void moves_chain(char *functions, struct played_task *task)
{
	uint64_t addresses[60];
	size_t count = 0;
	char *name;
	bool user = false;

	while ((name = strsep(&functions, ";")) && count < ARRAY_SIZE(addresses))
		addresses[count++] = moves_address(name);
	task->depth = 0;
	for (size_t i = count; i-- > 0;) {
		bool now = addresses[i] >> 63 == 0;

		if (!task->depth || now != user)
			task->chain[task->depth++] = now ? PERF_CONTEXT_USER : PERF_CONTEXT_KERNEL;
		user = now;
		task->chain[task->depth++] = addresses[i];
	}
}

static void moves_run(char *rest)
{
	struct played_cpu *cpu = &played_cpus[played_cpu(&rest)];
	char *word;

	cpu->task = (struct played_task){ .cgroup = 1 };
	cpu->task.pid = played_number(&rest);
	cpu->task.tid = played_number(&rest);
	moves_chain(played_need(&rest), &cpu->task);
	if ((word = played_word(&rest)))
		cpu->task.cgroup = strtoull(word, NULL, 10);
}

static void moves_offline(char *rest)
{
	uint32_t cpu = played_cpu(&rest);

	played_kill_events(cpu);
	played_cpus[cpu].online = false;
	played_write_online();
}

static void moves_online(char *rest)
{
	played_cpus[played_cpu(&rest)].online = true;
	played_write_online();
}

static void moves_blink(char *rest)
{
	played_kill_events(played_cpu(&rest));
}

static void moves_lose(char *rest)
{
	uint32_t cpu = played_cpu(&rest);

	played_lose(cpu, played_number(&rest));
}

static void moves_throttle(char *rest)
{
	played_throttle(played_cpu(&rest), true);
}

static void moves_unthrottle(char *rest)
{
	played_throttle(played_cpu(&rest), false);
}

/* The program gets no CPU for a while. */
static void moves_stall(char *rest)
{
	played_stall(played_now_ns() + played_seconds(played_need(&rest)));
}

/* The program gets no CPU for a while, because of a signal. */
static void moves_stop(char *rest)
{
	moves_stall(rest);
	raise(SIGCONT);
}

static void moves_signal(char *rest)
{
	static const struct {
		const char *name;
		int number;
	} signals[] = {
		{ "HUP", SIGHUP }, { "INT", SIGINT }, { "TERM", SIGTERM }, { "USR2", SIGUSR2 }
	};
	const char *name = played_need(&rest);

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (strcmp(signals[i].name, name) == 0) {
			raise(signals[i].number);
			return;
		}
	played_fail("the machine does not know the signal %s", name);
}

static void moves_kmsg(char *rest)
{
	uint64_t priority = played_number(&rest);
	char record[1024];

	if (!rest)
		played_fail("it has no text");
	snprintf(record, sizeof(record), "%llu,%llu,%llu,-;%s\n", (unsigned long long)priority,
		 (unsigned long long)moves_log_sequence++,
		 (unsigned long long)(played_now_ns() / NSEC_PER_USEC), rest);
	played_log(record);
}

struct moves_ids {
	int32_t pid, tid;
};

static struct moves_ids moves_thread(char **rest)
{
	struct moves_ids ids = { played_number(rest), 0 };

	ids.tid = played_number(rest);
	return ids;
}

static void moves_comm(char *rest)
{
	uint32_t cpu = played_cpu(&rest);
	struct {
		struct moves_ids ids;
		char comm[16];
	} body = { moves_thread(&rest), "" };
	char *word;

	snprintf(body.comm, sizeof(body.comm), "%s", played_need(&rest));
	word = played_word(&rest);
	played_record(cpu, PERF_RECORD_COMM, word ? PERF_RECORD_MISC_COMM_EXEC : 0, body.ids.pid,
		      body.ids.tid, &body, sizeof(body.ids) + (strlen(body.comm) + 8) / 8 * 8);
}

static void moves_task(char *rest, uint32_t type)
{
	uint32_t cpu = played_cpu(&rest);
	struct moves_ids own = moves_thread(&rest), parent = moves_thread(&rest);
	struct {
		int32_t pid, parent_pid, tid, parent_tid;
		uint64_t time_ns;
	} body = { own.pid, parent.pid, own.tid, parent.tid, played_now_ns() };

	played_record(cpu, type, 0, own.pid, own.tid, &body, sizeof(body));
}

static void moves_fork(char *rest)
{
	moves_task(rest, PERF_RECORD_FORK);
}

static void moves_exit(char *rest)
{
	moves_task(rest, PERF_RECORD_EXIT);
}

static void moves_mmap(char *rest)
{
	uint32_t cpu = played_cpu(&rest);
	struct {
		struct moves_ids ids;
		uint64_t start, size, offset;
		uint32_t major, minor;
		uint64_t inode, generation;
		uint32_t protection, flags;
		char path[256];
	} body = { .ids = moves_thread(&rest), .major = 8, .minor = 1, .inode = 4711 };

	body.start = played_number(&rest);
	body.size = played_number(&rest);
	snprintf(body.path, sizeof(body.path), "%s", played_need(&rest));
	played_record(cpu, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, body.ids.pid, body.ids.tid,
		      &body, sizeof(body) - sizeof(body.path) + (strlen(body.path) + 8) / 8 * 8);
}

static void moves_cgroup(char *rest)
{
	uint32_t cpu = played_cpu(&rest);
	struct {
		uint64_t id;
		char path[256];
	} body = { .id = played_number(&rest) };

	snprintf(body.path, sizeof(body.path), "%s", played_need(&rest));
	played_record(cpu, PERF_RECORD_CGROUP, 0, 0, 0, &body,
		      sizeof(body.id) + (strlen(body.path) + 8) / 8 * 8);
}

/*
 * Makes raw bytes of numbers such as "u16:17" and texts such as "16:name", which is padded to that
 * size.
 */
static void moves_trace(char *rest)
{
	_cleanup_(buffer_done) struct buffer raw = { 0 };
	uint32_t cpu = played_cpu(&rest);
	uint16_t id = played_number(&rest);
	struct moves_ids ids = moves_thread(&rest);
	char *word;

	buffer_u16(&raw, id);
	buffer_u16(&raw, 0);
	buffer_u32(&raw, ids.tid);
	while ((word = played_word(&rest))) {
		char *value = strchr(word, ':');
		uint64_t number;
		char text[256] = "";

		if (!value)
			played_fail("'%s' has no value", word);
		*value++ = 0;
		number = strtoull(value, NULL, 0);
		snprintf(text, sizeof(text), "%s", value);
		if (*word == 'u')
			buffer_bytes(&raw, &number, strtoul(word + 1, NULL, 10) / 8);
		else
			buffer_bytes(&raw, text, MIN(strtoul(word, NULL, 10), sizeof(text)));
	}
	played_trace(cpu, id, ids.pid, ids.tid, raw.data, raw.size);
}

static void moves_wall(char *rest)
{
	played_step_wall(strtod(played_need(&rest), NULL) * 1e9);
}

static void moves_write(char *rest)
{
	const char *path = played_need(&rest);
	char text[512];

	snprintf(text, sizeof(text), "%s\n", rest ? rest : "");
	played_write(path, text, strlen(text));
}

void played_move(char *words)
{
	static const struct {
		const char *name;
		void (*move)(char *rest);
	} moves[] = {
		{ "run", moves_run },
		{ "offline", moves_offline },
		{ "online", moves_online },
		{ "blink", moves_blink },
		{ "lose", moves_lose },
		{ "throttle", moves_throttle },
		{ "unthrottle", moves_unthrottle },
		{ "stall", moves_stall },
		{ "stop", moves_stop },
		{ "signal", moves_signal },
		{ "kmsg", moves_kmsg },
		{ "comm", moves_comm },
		{ "fork", moves_fork },
		{ "exit", moves_exit },
		{ "mmap", moves_mmap },
		{ "cgroup", moves_cgroup },
		{ "trace", moves_trace },
		{ "wall", moves_wall },
		{ "write", moves_write },
	};
	char *rest = words, *name = played_need(&rest);

	for (size_t i = 0; i < ARRAY_SIZE(moves); i++)
		if (strcmp(moves[i].name, name) == 0) {
			moves[i].move(rest);
			return;
		}
	played_fail("the machine does not know '%s'", name);
}
