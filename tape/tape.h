/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A tape: what one segment holds, in memory. The recorder fills one, the store seals it into a
 * file; the reader gets one back from a file. Everything is interned and refers to other rows by
 * number:
 *
 *   sample -> thread -> comm, cgroup  (string)
 *          -> frame (the leaf)          -> module -> path (string)
 *          -> stack -> parent, frame    -> symbol (string)
 *             (its callers)
 *
 * Invariants, which the decoder checks and everyone else relies on:
 * (1) string 0 is "", stack 0 is the empty stack, module 0 is the unknown one, frame 0 is [unknown]
 * in it; (2) a stack's parent has a smaller number than the stack; (3) every number refers to a row
 * that is there; (4) in a decoded tape the samples are in time order, and in [begin, end); (5)
 * times of samples, and where a tape begins and ends, are whole microseconds.
 *
 * Times are of the perf clock unless their name says otherwise. The anchors tie it to the others
 * (tape/clocks.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/intern.h"
#include "base/table.h"

#define TAPE_BUILD_ID_MAX 20

/* Times of samples are kept to the microsecond: what is below is timer noise, and a third of a
 * segment's bytes. */
#define TAPE_TIME_UNIT_NS 1000ull

enum tape_module_kind {
	/* the address lay in no mapping: frames in it have no address */
	TAPE_MODULE_UNKNOWN = 0,
	/* addresses are absolute: [kernel.kallsyms], [nf_tables], BPF programs */
	TAPE_MODULE_KERNEL = 1,
	/* addresses are offsets in the file */
	TAPE_MODULE_ELF = 2,
	/* addresses are offsets in the image */
	TAPE_MODULE_VDSO = 3,
	/* addresses are absolute in the process that perf-PID.map names */
	TAPE_MODULE_JIT = 4,
};
#define TAPE_MODULE_KINDS 5

#define TAPE_NO_STACK "[no stack]"

/* An identity: a path, and what says that the file behind it is the one that was mapped. */
struct tape_module {
	uint32_t path;
	uint8_t kind;
	/* 0 when the kernel had none */
	uint8_t build_id_size;
	uint8_t build_id[TAPE_BUILD_ID_MAX];
	/* makedev(major, minor), 0 with a build-id */
	uint64_t device;
	uint64_t inode;
};

/* address is 0 in module 0. symbol is 0 as long as there is no name; then offset is what follows
 * the "+". */
struct tape_frame {
	uint32_t module;
	uint32_t symbol;
	uint64_t address;
	uint64_t offset;
};

/* One node of the trie: the frame that was called, and the stack that called it. */
struct tape_stack {
	uint32_t parent;
	uint32_t frame;
};

/* A thread as long as its name and its cgroup stayed the same; one that was renamed or moved is
 * another row. */
struct tape_thread {
	int32_t pid;
	int32_t tid;
	uint32_t comm;
	/* its path; 0: not known */
	uint32_t cgroup;
};

struct tape_sample {
	uint64_t time_ns;
	uint64_t period;
	uint32_t cpu;
	uint32_t thread;
	/* the callers of the leaf */
	uint32_t stack;
	/* the leaf; tape_add_no_stack() where the kernel gave not even that */
	uint32_t frame;
};

/* One moment on all clocks; error_ns is half the time that reading them took. */
struct tape_anchor {
	uint64_t perf_ns;
	uint64_t realtime_ns;
	uint64_t monotonic_ns;
	uint64_t boottime_ns;
	uint64_t error_ns;
};

enum tape_loss_kind {
	/* the kernel had no room in a CPU's ring */
	TAPE_LOSS_SAMPLES = 1,
	/* it had none for comm, mmap, fork records: names may be wrong */
	TAPE_LOSS_SIDEBAND = 2,
	/* it stopped sampling a CPU for a while */
	TAPE_LOSS_THROTTLED = 3,
	/* records that could not be decoded, or bytes on the disk */
	TAPE_LOSS_DAMAGED = 4,
	/* samples that were taken and given up, for want of room */
	TAPE_LOSS_UNSAVED = 5,
	/* the CPU was not there; counts times */
	TAPE_LOSS_OFFLINE = 6,
	/* the recorder did not run, or was suspended; counts times */
	TAPE_LOSS_GAP = 7,
	/* timer slots of a busy or throttled CPU in which no sample came */
	TAPE_LOSS_SKIPPED = 8,
	/* callchains that were cut; the samples are there */
	TAPE_LOSS_TRUNCATED = 9,
	/* the kernel allowed fewer samples a second and CPU than were asked for; counts how
		   many */
	TAPE_LOSS_LOWERED = 10,
	/* trace events: too many at once */
	TAPE_LOSS_EVENTS = 11,
	/* the recorder took nothing out of the rings; what they had no room for is told as lost,
	   and these count nothing */
	/* stopped by a signal */
	TAPE_LOSS_STALLED_SIGNAL = 12,
	/* no CPU for it, or frozen */
	TAPE_LOSS_STALLED_CPU = 13,
};

#define TAPE_ALL_CPUS UINT32_MAX
/* A CPU of such a number is none, whatever a tape says: memory must not follow it. */
#define TAPE_CPUS_MAX 65536

/* Facts: when the recording began of which it is a part, decimal, on the perf clock; and of its
 * last tape, how the recording ended: "SIGTERM" … */
#define TAPE_BEGUN "begun"
#define TAPE_ENDED "ended"
/* Nobody ended it: what was in the spool of a recorder that is gone. */
#define TAPE_ENDED_KILLED "killed"

struct tape_loss {
	/* one that is not known is kept and counted as a loss */
	uint32_t kind;
	uint32_t cpu;
	uint64_t from_ns;
	uint64_t to_ns;
	uint64_t count;
};

/* A text under a name: of the host ("boot_id", "host", "kernel", "event", "frequency", "cpus",
 * "version"), or a field of what follows. */
struct tape_fact {
	uint32_t key;
	uint32_t value;
};

/* A run of rows of the tape's `fields`. */
struct tape_fields {
	uint32_t first;
	uint32_t count;
};

/* A trace event that was recorded with the samples: "cgroup:cgroup_mkdir". */
struct tape_event {
	uint64_t time_ns;
	uint32_t cpu;
	uint32_t thread;
	uint32_t name;
	struct tape_fields fields;
};

/* A line of the kernel's log. */
struct tape_line {
	/* the line's own stamp, which is of this clock */
	uint64_t time_ns;
	/* in the log */
	uint64_t sequence;
	uint32_t priority;
	uint32_t text;
};

/* The field that is the incident's number in its store, in decimal. */
#define TAPE_INCIDENT_ID ".id"

/* What the kernel complained about, as far as a line says so. */
struct tape_incident {
	uint64_t time_ns;
	/* when the stall began that the line tells of; time_ns where it tells of none */
	uint64_t stall_ns;
	/* its name, a string */
	uint32_t kind;
	uint32_t severity;
	/* the line */
	uint32_t text;
	/* "kmsg", or where else the line came from */
	uint32_t source;
	struct tape_fields fields;
};

/*
 * A figure of the host over time: rows `first` to `first + count` of `points`. Values are whole
 * numbers in the unit that the name ends in, as "cpu3/user_ms".
 */
struct tape_gauge {
	uint32_t name;
	uint32_t first;
	uint32_t count;
};

struct tape_point {
	uint64_t time_ns;
	int64_t value;
};

/*
 * A whole tape's samples added up by comm, callers and the function that the leaf is in, of which
 * `frame` is one. Only a decoded tape has them, and they are there without its samples being
 * decoded.
 */
struct tape_sum {
	uint32_t comm;
	uint32_t stack;
	uint32_t frame;
	uint64_t count;
};

struct tape {
	/* with the boot id: the segment's identity */
	uint64_t sequence;
	/* what the segment covers, its samples all in [begin, end) */
	uint64_t begin_ns;
	uint64_t end_ns;
	struct strings strings;
	array_of(struct tape_fact) facts;
	/* in time order, at least one in a sealed segment */
	array_of(struct tape_anchor) anchors;
	array_of(struct tape_module) modules;
	array_of(struct tape_frame) frames;
	array_of(struct tape_stack) stacks;
	array_of(struct tape_thread) threads;
	array_of(struct tape_sample) samples;
	array_of(struct tape_loss) losses;
	/* of events and incidents */
	array_of(struct tape_fact) fields;
	/* these in time order */
	array_of(struct tape_event) events;
	array_of(struct tape_line) lines;
	array_of(struct tape_incident) incidents;
	array_of(struct tape_gauge) gauges;
	/* of one gauge, in time order */
	array_of(struct tape_point) points;
	array_of(struct tape_sum) sums;

	/* A process that has the module mapped, for each of the first ones: where its file is
	 * looked for. Not kept in segments; 0: none. */
	array_of(int32_t) pids;
	/* it comes from the spool: its frames have no names yet */
	bool unsealed;

	/* for interning; empty in a decoded tape */
	struct table module_table, frame_table, stack_table, thread_table;
};

/* A tape with the rows of invariant (1). 0 or -ENOMEM. */
int tape_new(struct tape **ret_tape);
struct tape *tape_free(struct tape *tape);
/* No stacks, frames, threads and modules come any more: what tells which are there is forgotten. */
void tape_filled(struct tape *tape);
/* What it takes in memory, but for a little. */
uint64_t tape_memory(const struct tape *tape);
DEFINE_CLEANUP(tape, struct tape *, tape_free)

/* Each gives the number of the row that equals, made where there was none. 0 or -ENOMEM. */
int tape_add_module(struct tape *tape, const struct tape_module *module, uint32_t *ret_id);
int tape_add_frame(struct tape *tape, uint32_t module, uint64_t address, uint32_t *ret_id);
/* The frame of samples without any: the one in the module TAPE_NO_STACK, which is of no kind. Shown
 * as no frame, not as an unknown one. */
int tape_add_no_stack(struct tape *tape, uint32_t *ret_id);
int tape_add_stack(struct tape *tape, uint32_t parent, uint32_t frame, uint32_t *ret_id);
int tape_add_thread(struct tape *tape, const struct tape_thread *thread, uint32_t *ret_id);
int tape_add_fact(struct tape *tape, const char *key, const char *value);
/* A gauge without points; its name is the caller's to give once. */
int tape_add_gauge(struct tape *tape, const char *name, uint32_t *ret_row);
/*
 * One point more, not before the gauge's last one. Runs grow where they are as long as there is
 * room, and move behind all others then: only for gauges that tape_add_gauge() made, in a tape that
 * was not decoded.
 */
int tape_add_point(struct tape *tape, uint32_t gauge, uint64_t time_ns, int64_t value);

/* "" where the tape does not have that fact. Borrowed from the tape. */
const char *tape_fact(const struct tape *tape, const char *key);
/* Does a loss of kind missing tell how many samples did not come while the CPU was throttled? It
 * follows the one that says so, and is of its time. */
static inline bool tape_is_throttled(const struct tape *tape, size_t loss)
{
	const struct tape_loss *missing = &tape->losses.items[loss], *before = missing - 1;

	return loss && missing->kind == TAPE_LOSS_SKIPPED && before->kind == TAPE_LOSS_THROTTLED &&
	       before->cpu == missing->cpu && before->from_ns == missing->from_ns &&
	       before->to_ns == missing->to_ns;
}

static inline bool tape_is_no_stack(const struct tape *tape, uint32_t frame)
{
	uint32_t module = tape->frames.items[frame].module;

	return module && tape->modules.items[module].kind == TAPE_MODULE_UNKNOWN;
}

static inline const char *tape_string(const struct tape *tape, uint32_t id)
{
	return strings_at(&tape->strings, id);
}

#define TAPE_LABEL_SIZE 256
/* "[libc.so.6]", what functions of it that have no name are shown as; what has brackets already
 * keeps them. */
const char *tape_module_label(const struct tape *tape, uint32_t module,
			      char label[TAPE_LABEL_SIZE]);

/* A CPU that stays offline is told of piece by piece, as the tape is spooled: makes one row of
 * pieces that follow one another. */
void tape_join_losses(struct tape *tape);
/* Makes begin and end whole microseconds that hold all of the samples, which are in time order. */
void tape_span_samples(struct tape *tape);
/* Puts the samples into time order, stable; nothing when they are. 0 or -ENOMEM. */
int tape_sort_samples(struct tape *tape);

/* clocks_from_perf() of the wall clock (tape/clocks.h). */
uint64_t tape_to_realtime(const struct tape *tape, uint64_t perf_ns, uint64_t *ret_error_ns);
