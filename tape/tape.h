/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A tape: the content of one segment, in memory. The recorder fills it, the store seals it into a
 * file, and the reader gets it back from a file. Everything is interned and refers to other rows by
 * number:
 *
 *   sample -> thread -> comm, cgroup  (string)
 *          -> frame (the leaf)          -> module -> path (string)
 *          -> stack -> parent, frame    -> symbol (string)
 *             (its callers)
 *
 * Invariants, which the decoder checks and all other code relies on:
 *
 * (1) String 0 is "", stack 0 is the empty stack, module 0 is the unknown module, and frame 0 is
 *     [unknown] in it.
 * (2) A stack's parent has a smaller number than the stack.
 * (3) Every number refers to a row that exists.
 * (4) In a decoded tape, the samples are in time order and in [begin, end).
 * (5) Times of samples, and the tape's begin and end, are whole microseconds.
 *
 * Times are of the perf clock unless their name says otherwise. The anchors tie it to the other
 * clocks (tape/clocks.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/intern.h"
#include "base/table.h"

#define TAPE_BUILD_ID_MAX 20

/*
 * The unit of sample times. Smaller parts are timer noise and would be a third of a segment's
 * bytes.
 */
#define TAPE_TIME_UNIT_NS 1000ull

enum tape_module_kind {
	/* The address was in no mapping. Frames in this module do not have an address. */
	TAPE_MODULE_UNKNOWN = 0,
	/* Addresses are absolute: [kernel.kallsyms], [nf_tables], BPF programs. */
	TAPE_MODULE_KERNEL = 1,
	/* Addresses are offsets in the file. */
	TAPE_MODULE_ELF = 2,
	/* Addresses are offsets in the image. */
	TAPE_MODULE_VDSO = 3,
	/* Addresses are absolute in the process that perf-PID.map names. */
	TAPE_MODULE_JIT = 4,
};
#define TAPE_MODULE_KINDS 5

#define TAPE_NO_STACK "[no stack]"

/* The identity of a module: a path, and what proves that the file behind it is the mapped one. */
struct tape_module {
	uint32_t path;
	uint8_t kind;
	/* 0 if the kernel did not give a build-id. */
	uint8_t build_id_size;
	uint8_t build_id[TAPE_BUILD_ID_MAX];
	/* makedev(major, minor), or 0 with a build-id. */
	uint64_t device;
	uint64_t inode;
};

/*
 * `address` is 0 in module 0. `symbol` is 0 until the frame has a name. Then `offset` is the number
 * after the "+".
 */
struct tape_frame {
	uint32_t module;
	uint32_t symbol;
	uint64_t address;
	uint64_t offset;
};

/* One node of the trie: the called frame, and the stack that called it. */
struct tape_stack {
	uint32_t parent;
	uint32_t frame;
};

/*
 * A thread while its name and its cgroup stay the same. After a change, the thread has another row.
 */
struct tape_thread {
	int32_t pid;
	int32_t tid;
	uint32_t comm;
	/* The path of the cgroup; 0 if unknown. */
	uint32_t cgroup;
};

struct tape_sample {
	uint64_t time_ns;
	uint64_t period;
	uint32_t cpu;
	uint32_t thread;
	/* The callers of the leaf. */
	uint32_t stack;
	/* The leaf, or tape_add_no_stack() if the kernel did not even give the leaf. */
	uint32_t frame;
};

/* One moment on all clocks. `error_ns` is half the time that reading them took. */
struct tape_anchor {
	uint64_t perf_ns;
	uint64_t realtime_ns;
	uint64_t monotonic_ns;
	uint64_t boottime_ns;
	uint64_t error_ns;
};

enum tape_loss_kind {
	/* The kernel dropped samples because a CPU's ring was full. */
	TAPE_LOSS_SAMPLES = 1,
	/*
	 * The kernel dropped comm, mmap or fork records because a ring was full, so names may be
	 * wrong.
	 */
	TAPE_LOSS_SIDEBAND = 2,
	/* The kernel stopped sampling a CPU for a while. */
	TAPE_LOSS_THROTTLED = 3,
	/* Records, or bytes on the disk, that could not be decoded. */
	TAPE_LOSS_DAMAGED = 4,
	/* Samples that the recorder took and could not store. */
	TAPE_LOSS_UNSAVED = 5,
	/* The CPU was offline. `count` is the number of times. */
	TAPE_LOSS_OFFLINE = 6,
	/* The recorder did not run or was suspended. `count` is the number of times. */
	TAPE_LOSS_GAP = 7,
	/* Timer slots of a busy or throttled CPU without a sample. */
	TAPE_LOSS_SKIPPED = 8,
	/* Truncated callchains. Their samples are on the tape. */
	TAPE_LOSS_TRUNCATED = 9,
	/* The kernel allowed only `count` samples per second and CPU, fewer than requested. */
	TAPE_LOSS_LOWERED = 10,
	/* Trace events that were lost because too many came at once. */
	TAPE_LOSS_EVENTS = 11,
	/*
	 * The recorder stalled: it did not read the rings. Other losses count the records that full
	 * rings dropped, so `count` is 0 here.
	 */
	/* A signal stopped the recorder. */
	TAPE_LOSS_STALLED_SIGNAL = 12,
	/* The recorder got no CPU or was frozen. */
	TAPE_LOSS_STALLED_CPU = 13,
	/*
	 * The recorder refused comm, mmap or fork records of a process that made too many. Only the
	 * names of this process may be wrong.
	 */
	TAPE_LOSS_REFUSED = 14,
};

#define TAPE_ALL_CPUS UINT32_MAX
/* Higher CPU numbers are invalid. A number from a file must not decide how much memory we use. */
#define TAPE_CPUS_MAX 65536

/*
 * Facts. TAPE_BEGUN is the begin of the recording on the perf clock, in decimal. TAPE_ENDED is how
 * the recording ended, such as "SIGTERM"; only the last tape of a recording has it.
 */
#define TAPE_BEGUN "begun"
#define TAPE_ENDED "ended"
/*
 * The window of a snapshot, in ns of the wall clock, in decimal: its begin, its end, and the moment
 * that the snapshot is about, if any.
 */
#define TAPE_WINDOW_FROM "window_from"
#define TAPE_WINDOW_TO "window_to"
#define TAPE_WINDOW_AT "window_at"
/*
 * Beginnings of the names of facts. A cgroup follows. The value is the number of the cgroup's
 * side-band records that the recorder refused, or of its callchains that the recorder truncated.
 */
#define TAPE_REFUSED "refused"
#define TAPE_TRUNCATED "truncated"
/* The outermost caller of a stack whose outer callers are not known. */
#define TAPE_CUT "[cut]"
/*
 * The outermost caller of a user stack that only frame pointers show, on a tape whose other stacks
 * come from unwind tables. Its callers may be missing or wrong.
 */
#define TAPE_FRAME_POINTERS "[frame pointers]"
/* A caller outside of all known mappings. The recorder may not know all mappings. */
#define TAPE_UNMAPPED "[unmapped]"
/*
 * The number of bytes that the kernel copied of each sample's user stack. With this fact, the
 * callers come from unwind tables of the files; without it, from frame pointers.
 */
#define TAPE_STACK_BYTES "stack_bytes"
/* Numbers of frames without a name, over all samples (docs/FORMAT.md). */
#define TAPE_UNNAMED "unnamed"
/* The recorder vanished without ending the recording. A later recorder recovered the spool. */
#define TAPE_ENDED_KILLED "killed"

struct tape_loss {
	/* An unknown kind is kept and counts as a loss. */
	uint32_t kind;
	uint32_t cpu;
	uint64_t from_ns;
	uint64_t to_ns;
	uint64_t count;
};

/*
 * A name and a text. Facts of the host are "boot_id", "host", "kernel", "event", "frequency",
 * "cpus" and "version". Fields of events and incidents have the same form.
 */
struct tape_fact {
	uint32_t key;
	uint32_t value;
};

/* A range of rows in the tape's `fields`. */
struct tape_fields {
	uint32_t first;
	uint32_t count;
};

/* A trace event that the recorder took with the samples, such as "cgroup:cgroup_mkdir". */
struct tape_event {
	uint64_t time_ns;
	uint32_t cpu;
	uint32_t thread;
	uint32_t name;
	struct tape_fields fields;
};

/* A line of the kernel's log. */
struct tape_line {
	/* The line's own stamp, which is of the perf clock. */
	uint64_t time_ns;
	/* The sequence number in the log. */
	uint64_t sequence;
	uint32_t priority;
	uint32_t text;
};

/* The field that holds the incident's number in its store, in decimal. */
#define TAPE_INCIDENT_ID ".id"

/* A line of the kernel's log that reports a problem, with the details that the line states. */
struct tape_incident {
	uint64_t time_ns;
	/* The begin of the stall that the line reports, or time_ns if it reports none. */
	uint64_t stall_ns;
	/* The name of the kind, a string. */
	uint32_t kind;
	uint32_t severity;
	/* The whole line. */
	uint32_t text;
	/* "kmsg", or the other log that has the line. */
	uint32_t source;
	struct tape_fields fields;
};

/*
 * A gauge: a value of the host over time, in rows `first` to `first + count` of `points`. Values
 * are whole numbers in the unit that ends the name, such as "cpu3/user_ms".
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
 * The samples of a whole tape, added up by comm, callers and leaf function. `frame` is one frame of
 * that function. Only a decoded tape has sums. A reader can decode the sums without the samples.
 */
struct tape_sum {
	uint32_t comm;
	uint32_t stack;
	uint32_t frame;
	uint64_t count;
};

/*
 * The usual CPU time on the host around the window of a snapshot, added up. The values of a row are
 * those of `usual_values` from `first` on; docs/FORMAT.md defines them for each kind. A reader
 * ignores kinds that it does not know.
 */
enum tape_usual_kind {
	/* The recorded time that the other rows are about. Always the first row. */
	TAPE_USUAL_SPAN = 0,
	TAPE_USUAL_ALL = 1,
	TAPE_USUAL_CPU = 2,
	TAPE_USUAL_THREADS = 3,
	TAPE_USUAL_FUNCTION = 4,
};

struct tape_usual {
	uint32_t kind;
	/* The name of threads or of a function. */
	uint32_t name;
	uint32_t first;
	uint32_t count;
};

struct digest;

struct tape {
	/* With the boot id, the identity of the segment. */
	uint64_t sequence;
	/* The time that the segment covers. All samples are in [begin, end). */
	uint64_t begin_ns;
	uint64_t end_ns;
	struct strings strings;
	array_of(struct tape_fact) facts;
	/* In time order. A sealed segment has at least one. */
	array_of(struct tape_anchor) anchors;
	array_of(struct tape_module) modules;
	array_of(struct tape_frame) frames;
	array_of(struct tape_stack) stacks;
	array_of(struct tape_thread) threads;
	array_of(struct tape_sample) samples;
	array_of(struct tape_loss) losses;
	/* Fields of events and incidents. */
	array_of(struct tape_fact) fields;
	/* Events, lines and incidents are in time order. */
	array_of(struct tape_event) events;
	array_of(struct tape_line) lines;
	array_of(struct tape_incident) incidents;
	array_of(struct tape_gauge) gauges;
	/* The points of one gauge are in time order. */
	array_of(struct tape_point) points;
	array_of(struct tape_sum) sums;
	/* The sums of the samples, if the reader wanted them and the segment has them; owned. */
	struct digest *digest;
	/* Only snapshots have them. */
	array_of(struct tape_usual) usual;
	array_of(uint64_t) usual_values;

	/*
	 * Indexed by module, and may be shorter than the list of modules: a process that maps the
	 * module, to open the module's file through it; 0 if unknown. Segments do not store this
	 * array.
	 */
	array_of(int32_t) pids;
	/* The tape comes from the spool. Its frames do not have names yet. */
	bool unsealed;

	/* For interning; empty in a decoded tape. */
	struct table module_table, frame_table, stack_table, thread_table;
};

/* Creates a tape with the rows of invariant (1). Returns 0 or -ENOMEM. */
int tape_new(struct tape **ret_tape);
struct tape *tape_free(struct tape *tape);
/* Frees the tables for interning. The caller adds no more stacks, frames, threads or modules. */
void tape_freeze(struct tape *tape);
/* Returns about how much memory the tape uses. */
uint64_t tape_memory(const struct tape *tape);
/* Returns about how much of that memory depends on processes: on their calls and their names. */
uint64_t tape_detail(const struct tape *tape);
DEFINE_CLEANUP(tape, struct tape *, tape_free)

/*
 * Each of these functions finds or adds a row and sets *ret_id to its number. Returns 0 or -ENOMEM.
 */
int tape_add_module(struct tape *tape, const struct tape_module *module, uint32_t *ret_id);
int tape_add_frame(struct tape *tape, uint32_t module, uint64_t address, uint32_t *ret_id);
/*
 * Adds the frame for samples without a stack, in the module TAPE_NO_STACK of unknown kind. Output
 * shows it as an absent frame, not as an unknown one.
 */
int tape_add_no_stack(struct tape *tape, uint32_t *ret_id);
int tape_add_stack(struct tape *tape, uint32_t parent, uint32_t frame, uint32_t *ret_id);
/* Returns whether a name is TAPE_CUT, TAPE_FRAME_POINTERS or TAPE_UNMAPPED. */
bool tape_is_mark_name(const char *name);
/* Adds a frame that output shows as one of these names. */
int tape_add_mark(struct tape *tape, const char *name, uint32_t *ret_frame);
/* Adds the stack for omitted callers: the single frame TAPE_CUT. */
int tape_add_cut_stack(struct tape *tape, uint32_t *ret_id);
int tape_add_thread(struct tape *tape, const struct tape_thread *thread, uint32_t *ret_id);
int tape_add_fact(struct tape *tape, const char *key, const char *value);
/* Replaces the value of a fact, or adds the fact. Does not add an empty value. */
int tape_set_fact(struct tape *tape, const char *key, const char *value);
/* Adds a row of `usual`. */
int tape_add_usual(struct tape *tape, enum tape_usual_kind kind, const char *name,
		   const uint64_t *values, size_t count);
/* Adds a gauge without points. The caller adds each name only once. */
int tape_add_gauge(struct tape *tape, const char *name, uint32_t *ret_row);
/*
 * Appends a point, which must not be before the gauge's last one. The points of a gauge grow in
 * place up to its capacity, and then move behind all others. Works only for gauges from
 * tape_add_gauge(), in a tape that was not decoded.
 */
int tape_add_point(struct tape *tape, uint32_t gauge, uint64_t time_ns, int64_t value);

/* Returns the value of a fact, or "" if the tape does not have it. Valid as long as the tape. */
const char *tape_fact(const struct tape *tape, const char *key);
/*
 * Returns whether a SKIPPED loss counts the samples that throttling skipped. Such a loss follows
 * the THROTTLED one and has the same CPU and time.
 */
static inline bool tape_is_throttled(const struct tape *tape, size_t loss)
{
	const struct tape_loss *skipped = &tape->losses.items[loss], *before = skipped - 1;

	return loss && skipped->kind == TAPE_LOSS_SKIPPED && before->kind == TAPE_LOSS_THROTTLED &&
	       before->cpu == skipped->cpu && before->from_ns == skipped->from_ns &&
	       before->to_ns == skipped->to_ns;
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

/* Returns whether a frame is a mark of tape_add_mark() instead of code. */
bool tape_is_mark(const struct tape *tape, uint32_t frame);

#define TAPE_LABEL_SIZE 256
/*
 * Returns the label for functions of a module without names: "[libc.so.6]". A path in brackets
 * stays as it is.
 */
const char *tape_module_label(const struct tape *tape, uint32_t module,
			      char label[TAPE_LABEL_SIZE]);
/* Returns the label for the path of a module. */
const char *tape_path_label(const char *path, char label[TAPE_LABEL_SIZE]);

/*
 * Returns the number of a frame's function: the string of its symbol. A number behind the strings
 * stands for a module, and for all frames of the module without a symbol.
 */
static inline uint32_t tape_function_of(const struct tape *tape, uint32_t frame)
{
	const struct tape_frame *row = &tape->frames.items[frame];

	return row->symbol ? row->symbol : strings_count(&tape->strings) + row->module;
}

static inline uint32_t tape_function_count(const struct tape *tape)
{
	return strings_count(&tape->strings) + tape->modules.count;
}

/*
 * Merges consecutive losses of a CPU that stays offline. The recorder spools them piece by piece.
 */
void tape_join_losses(struct tape *tape);
/*
 * Widens begin and end to whole microseconds that contain all samples. The samples must be in time
 * order.
 */
void tape_span_samples(struct tape *tape);
/*
 * Sorts the samples by time; the sort is stable. Does nothing if they are sorted. Returns 0 or
 * -ENOMEM.
 */
int tape_sort_samples(struct tape *tape);

/* Calls clocks_from_perf() for the wall clock (tape/clocks.h). */
uint64_t tape_to_realtime(const struct tape *tape, uint64_t perf_ns, uint64_t *ret_error_ns);
