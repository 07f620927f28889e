/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A machine that a script plays for the whole program: its clocks, its perf events, its kernel log
 * and its files below /proc and /sys. tests/played/README.md describes scripts. The program is
 * linked with --wrap for each function that the other files of this folder wrap
 * (tests/meson.build). Without a script in the environment variable PERFTAPE_PLAY, everything is
 * real.
 *
 * The machine is deterministic: its time moves on only while the program's first thread waits, and
 * only after all other threads wait, too.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

/* Pids in scripts begin here, above those of any real process. Pid 1 also belongs to the script. */
#define PLAYED_PID_MIN 5000000
#define PLAYED_CPUS 16
#define PLAYED_BEGIN_NS (1000 * NSEC_PER_SEC)

/* ---- played-machine.c ---- */

/* Returns whether there is a script. */
bool played(void);
/* Returns the perf clock. The monotonic clock and the clock of the time since boot are the same. */
uint64_t played_now_ns(void);
/* Lets time pass, with all moves that happen meanwhile. Ends early if `woken` returns true. */
void played_pass(uint64_t until_ns, bool (*woken)(void *context), void *context);
/* Lets time pass while the program gets no CPU. */
void played_stall(uint64_t until_ns);
void played_step_wall(int64_t ns);
/* Ends the process, because the script is wrong. */
_Noreturn void played_fail(const char *format, ...);

/* The words of a script's line. */
char *played_word(char **rest);
char *played_need(char **rest);
uint64_t played_number(char **rest);
uint64_t played_seconds(const char *word);
uint32_t played_cpu(char **rest);
/* The text of /proc/kallsyms. */
extern const char *played_symbols;
/* Writes the list of online CPUs. */
void played_write_online(void);

/* ---- played-moves.c ---- */

void played_move(char *words);

/* ---- played-threads.c ---- */

bool played_is_first_thread(void);
/* Waits until all other threads wait for a time or for each other. */
void played_settle(void);
/* Wakes the threads whose time has come. */
void played_wake(void);

/* ---- played-paths.c ---- */

/* Returns the path at which a file of the machine really is. */
const char *played_path(const char *path, char copy[PATH_MAX]);
void played_make_root(void);
/* Replaces the contents of a file of the machine, in place. */
void played_write(const char *path, const char *text, size_t size);
/* Adds a record to the kernel's log. */
void played_log(const char *record);

/* ---- played-kernel.c ---- */

struct played_task {
	int32_t pid, tid;
	uint64_t cgroup;
	/* frames from the leaf on, with the kernel's marks */
	uint64_t chain[64];
	size_t depth;
};

struct played_cpu {
	bool online;
	struct played_task task;
	/* how long the CPU has idled since the begin */
	uint64_t idle_ns;
};

extern struct played_cpu played_cpus[PLAYED_CPUS];

/* Adds records to the side-band ring. `body` is the part between the header and the trailing ID. */
void played_record(uint32_t cpu, uint32_t type, uint16_t misc, int32_t pid, int32_t tid,
		   const void *body, size_t size);
void played_throttle(uint32_t cpu, bool begin);
void played_trace(uint32_t cpu, uint16_t id, int32_t pid, int32_t tid, const void *raw,
		  size_t size);
/* There will be no space for the next samples of a CPU. */
void played_lose(uint32_t cpu, uint64_t count);
/* The CPU's events give no samples from now on. */
void played_kill_events(uint32_t cpu);
/* Returns when the next sample is due; UINT64_MAX: never. */
uint64_t played_next_sample_ns(void);
void played_take_samples(void);

/* ---- played-starve.c ---- */

/* Sets whether allocations of this thread may fail from now on. Returns the previous setting. */
bool played_starve(bool on);
