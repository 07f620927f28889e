// SPDX-License-Identifier: GPL-2.0-only
/*
 * Walks the stacks of a perf.data file (perf record --call-graph dwarf), for recordings.py, and
 * prints them:
 *
 *   S PID TID TIME END COMM      a sample with a user stack
 *   ADDRESS OFFSET PATH          its frames, innermost first; OFFSET is in the file
 *
 * With -r N, it walks everything N times and prints only how long a walk took. Tables are made
 * before, so this is the walk alone. With -d, libdw walks the same copies instead; -b walks as if
 * no file had a table, by frame pointers alone.
 *
 *   walk-recording [-r N | -d | -b] FILE
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/sort.h"
#include "import/perf-data.h"
#include "recorder/files/unwind-tables.h"
#include "recorder/procs/tracker.h"
#define HELPERS_UNPACK
#include "tests/helpers.h"
#include "tests/unwind/libdw-walk.h"
#include "unwind/stack-walk.h"

struct kept_record {
	uint64_t time_ns;
	uint8_t *bytes;
	size_t size;
	const struct perf_layout *layout;
};

struct recording {
	struct perf_data file;
	array_of(struct kept_record) records;
	struct tracker tracker;
	struct unwind_tables *tables;
	/* NULL: unwind/ walks. */
	struct libdw_walk *libdw;
	bool bare;
	uint64_t repeats;
	uint64_t walks, frames, walk_ns;
};

static void recording_done(struct recording *recording)
{
	for (size_t i = 0; i < recording->records.count; i++)
		free(recording->records.items[i].bytes);
	array_done(&recording->records);
	tracker_done(&recording->tracker);
	unwind_tables_free(recording->tables);
	libdw_walk_free(recording->libdw);
	perf_data_done(&recording->file);
}

static int keep_record(void *context, const uint8_t *bytes, size_t size, uint64_t offset)
{
	struct recording *recording = context;
	struct perf_record_place place;
	const struct perf_data_event *event;
	struct kept_record kept = { .size = size };
	uint32_t type;

	memcpy(&type, bytes, sizeof(type));
	if (type >= PERF_DATA_ATTR)
		return 0;
	place = perf_data_place(&recording->file, bytes, size);
	event = perf_data_event(&recording->file, place.id);
	kept.layout = event ? &event->layout : &recording->file.events.items[0].layout;
	kept.time_ns = place.time_ns;
	kept.bytes = malloc(size);
	if (!kept.bytes)
		return -ENOMEM;
	memcpy(kept.bytes, bytes, size);
	return array_push(&recording->records, kept);
}

static int sort_records(struct recording *recording)
{
	_cleanup_free_ void *scratch =
		malloc(recording->records.count * sizeof(*recording->records.items) + 1);

	if (!scratch)
		return -ENOMEM;
	sort_array(&recording->records, scratch, time_ns);
	return 0;
}

static void print_frames(struct recording *recording, const struct perf_record *record,
			 const struct stack_walk *walk)
{
	struct tracker *tracker = &recording->tracker;

	printf("S %d %d %" PRIu64 " %s %s\n", record->pid, record->tid, record->time_ns,
	       stack_end_text(walk->end), tracker_comm(tracker, record->pid, record->tid));
	for (size_t i = 0; i < walk->count; i++) {
		uint64_t address = walk->addresses[i];
		/* a call may be the last instruction of its mapping */
		const struct mapping *mapping =
			tracker_find(tracker, record->pid, false, address - !!i);
		const struct tape_module *module =
			mapping ? &tracker->modules.list.items[mapping->module] : NULL;

		printf("%" PRIx64 " %" PRIx64 " %s\n", address,
		       mapping ? address - mapping->start + mapping->offset : 0,
		       module ? strings_at(&tracker->modules.paths, module->path) : "-");
	}
}

/* Finds code as unwind_tables_code() does, but hides the tables. */
static bool find_bare_code(void *context, uint64_t address, struct stack_code *ret_code)
{
	bool found = unwind_tables_code(context, address, ret_code);

	ret_code->kind = STACK_CODE_BARE;
	ret_code->table = NULL;
	return found;
}

static void walk_and_print(struct recording *recording, const struct perf_record *record,
			   struct stack_walk *walk)
{
	if (recording->libdw)
		libdw_walk_run(recording->libdw, &recording->tracker, record->pid, record->tid,
			       walk);
	else
		stack_walk_run(walk);
	print_frames(recording, record, walk);
}

static void walk_sample(struct recording *recording, const struct perf_record *record)
{
	const struct perf_user *user = &record->sample.user;
	struct unwind_tables_view view = { recording->tables, &recording->tracker, record->pid };
	uint64_t addresses[STACK_WALK_FRAMES];
	struct stack_walk walk = { .machine = UNWIND_MACHINE_HERE,
				   .copy = user->stack,
				   .copy_size = user->stack_size,
				   .find = recording->bare ? find_bare_code : unwind_tables_code,
				   .context = &view,
				   .addresses = addresses,
				   .max = STACK_WALK_FRAMES };
	struct user_registers registers;
	uint64_t begin_ns;

	if (user->abi != 2 || !user->stack ||
	    !user_registers_from_perf(walk.machine, user->regs_mask, user->regs,
				      8 * __builtin_popcountll(user->regs_mask), &registers))
		return;
	walk.copy_address = registers.values[user_register_sp(walk.machine)];
	walk.registers = registers;
	if (!recording->repeats) {
		walk_and_print(recording, record, &walk);
		return;
	}
	stack_walk_run(&walk);
	begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (uint64_t i = 0; i < recording->repeats; i++) {
		walk.registers = registers;
		stack_walk_run(&walk);
		recording->walks++;
		recording->frames += walk.count;
	}
	recording->walk_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
}

static int apply_records(struct recording *recording)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < recording->records.count; i++) {
		const struct kept_record *kept = &recording->records.items[i];
		struct perf_record record;

		if (perf_record_decode(kept->layout, kept->bytes, kept->size, &record) != 0)
			continue;
		if (record.type == PERF_TYPE_SAMPLE)
			walk_sample(recording, &record);
		else
			r = tracker_apply(&recording->tracker, &record);
	}
	return r;
}

static int walk_file(struct recording *recording, int fd)
{
	const struct unwind_tables_options options = { .wait = true, .own_vdso = true };
	struct error error = { 0 };
	int r = perf_data_open(fd, &recording->file, &error);

	if (r == 0)
		r = tracker_init(&recording->tracker);
	if (r == 0)
		r = unwind_tables_new(&options, &recording->tables);
	if (r == 0)
		r = perf_data_read(&recording->file, &(struct unpack_helper *){ NULL }, keep_record,
				   recording, &error);
	if (r == 0)
		r = sort_records(recording);
	if (r == 0)
		r = apply_records(recording);
	if (error.text[0])
		fprintf(stderr, "walk-recording: %s\n", error.text);
	return r;
}

static void print_times(const struct recording *recording)
{
	struct unwind_tables_counts counts;

	unwind_tables_counts(recording->tables, &counts);
	printf("%" PRIu64 " walks, %" PRIu64
	       " frames: %.0f ns a walk, %.1f ns a frame; %zu tables, "
	       "%zu KB\n",
	       recording->walks, recording->frames, (double)recording->walk_ns / recording->walks,
	       (double)recording->walk_ns / recording->frames, counts.tables, counts.bytes >> 10);
}

int main(int argc, char **argv)
{
	_cleanup_(recording_done) struct recording recording = { 0 };
	_cleanup_close_ int fd = -1;
	int r;

	if (argc == 4 && strcmp(argv[1], "-r") == 0)
		recording.repeats = strtoull(argv[2], NULL, 10);
	recording.bare = argc == 3 && strcmp(argv[1], "-b") == 0;
	if (argc == 3 && strcmp(argv[1], "-d") == 0) {
		recording.libdw = libdw_walk_new();
		if (!recording.libdw) {
			fputs("walk-recording: built without libdw-dev; install it\n", stderr);
			return 3;
		}
	}
	if (argc < 2)
		return 2;
	fd = open(argv[argc - 1], O_RDONLY | O_CLOEXEC);
	r = fd < 0 ? -errno : walk_file(&recording, fd);
	if (r == 0 && recording.repeats && recording.walks)
		print_times(&recording);
	return r < 0;
}
