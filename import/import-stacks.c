// SPDX-License-Identifier: GPL-2.0-only
#include "import/import-stacks.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/utsname.h>

void import_stacks_done(struct import_stacks *stacks)
{
	dumps_free(stacks->dumps);
	unwind_tables_free(stacks->tables);
	*stacks = (struct import_stacks){ NULL };
}

/*
 * The kernel maps its own code (the vDSO) into each process. Our vDSO is the recorded one only if
 * the kernel is the same.
 */
static bool is_same_kernel(const struct import_file *file)
{
	struct utsname here;

	return uname(&here) == 0 && strcmp(file->perf.release, here.release) == 0;
}

static enum unwind_machine machine_of(const struct import_file *file)
{
	if (strcmp(file->perf.machine, "aarch64") == 0)
		return UNWIND_ARM64;
	return strcmp(file->perf.machine, "x86_64") == 0 ? UNWIND_X86_64 : UNWIND_MACHINE_HERE;
}

/* The recording's last moment, on the wall clock; 0: unknown. */
static uint64_t end_of(const struct import_file *file)
{
	return file->last_ns ? file->last_ns + (uint64_t)file->clock.offset_ns : 0;
}

int import_stacks_init(struct import_stacks *stacks, const struct import_file *file,
		       const struct import_options *options, struct tracker *tracker)
{
	const struct unwind_tables_options wanted = {
		.finder = { .debug_dir = options->debug_dir },
		.wait = true,
		.own_vdso = is_same_kernel(file),
		.until_ns = end_of(file),
	};
	struct dumps_options dumps = { .tracker = tracker, .machine = machine_of(file) };
	int r;

	*stacks = (struct import_stacks){ NULL };
	if (!(file->event->layout.sample_type & PERF_SAMPLE_STACK_USER) ||
	    !file->event->layout.regs_user)
		return 0;
	r = unwind_tables_new(&wanted, &stacks->tables);
	dumps.tables = stacks->tables;
	return r < 0 ? r : dumps_new(&dumps, &stacks->dumps);
}
