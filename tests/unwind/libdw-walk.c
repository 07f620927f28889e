// SPDX-License-Identifier: GPL-2.0-only
#include "tests/unwind/libdw-walk.h"

#ifdef HAVE_LIBDW

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Processes whose files stay open. */
#define PROCESSES 64
/* DWARF numbers 0 to 16 of x86-64; 16 is the program counter. */
#define REGISTERS 17

/* The files of one process, for one state of its mappings. */
struct libdw_process {
	int32_t pid;
	uint64_t version;
	Dwfl *dwfl;
};

struct libdw_walk {
	struct libdw_process processes[PROCESSES];
	/* The present walk. */
	int32_t tid;
	struct stack_walk *walk;
};

static char *no_debug_files = NULL;
static const Dwfl_Callbacks file_callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.debuginfo_path = &no_debug_files,
};

struct libdw_walk *libdw_walk_new(void)
{
	elf_version(EV_CURRENT);
	return calloc(1, sizeof(struct libdw_walk));
}

struct libdw_walk *libdw_walk_free(struct libdw_walk *libdw)
{
	for (size_t i = 0; libdw && i < PROCESSES; i++)
		if (libdw->processes[i].dwfl)
			dwfl_end(libdw->processes[i].dwfl);
	free(libdw);
	return NULL;
}

/* ---- a thread, as libdw asks about it ---- */

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread)
{
	struct libdw_walk *libdw = context;

	(void)dwfl;
	if (*thread)
		return 0;
	*thread = libdw;
	return libdw->tid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *context, void **thread)
{
	(void)dwfl;
	(void)tid;
	*thread = context;
	return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret_word, void *context)
{
	const struct stack_walk *walk = ((struct libdw_walk *)context)->walk;
	uint64_t at = address - walk->copy_address;

	(void)dwfl;
	if (at >= walk->copy_size || walk->copy_size - at < sizeof(*ret_word))
		return false;
	memcpy(ret_word, walk->copy + at, sizeof(*ret_word));
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *context)
{
	const struct stack_walk *walk = ((struct libdw_walk *)context)->walk;
	Dwarf_Word words[REGISTERS];

	memcpy(words, walk->registers.values, sizeof(words));
	return dwfl_thread_state_registers(thread, 0, REGISTERS, words);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

/* ---- the files of a process ---- */

/* Finds the address in the file's own numbers of the byte at an offset. */
static bool find_address(int fd, uint64_t offset, uint64_t *ret_address)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	bool found = false;
	size_t count = 0;

	if (elf)
		elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr head;

		if (!gelf_getphdr(elf, i, &head) || head.p_type != PT_LOAD)
			continue;
		/* a mapping begins with the page in which the segment begins */
		if (offset < (head.p_offset & ~4095ull) || offset >= head.p_offset + head.p_filesz)
			continue;
		found = true;
		*ret_address = offset - head.p_offset + head.p_vaddr;
		if (head.p_flags & PF_X)
			break;
	}
	elf_end(elf);
	return found;
}

static void report_mapping(Dwfl *dwfl, const char *path, const struct mapping *mapping)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t address;

	if (fd < 0 || dwfl_addrmodule(dwfl, mapping->start) ||
	    !find_address(fd, mapping->offset, &address))
		return;
	dwfl_report_elf(dwfl, path, path, -1, mapping->start - address, true);
}

static Dwfl *open_process(struct libdw_walk *libdw, const struct tracker *tracker,
			  const struct tracker_process *process)
{
	Dwfl *dwfl = dwfl_begin(&file_callbacks);
	const struct mapping *mapping;
	size_t at = 0;

	if (!dwfl)
		return NULL;
	dwfl_report_begin(dwfl);
	while ((mapping = maps_next(process->maps, &at))) {
		const struct tape_module *module = &tracker->modules.list.items[mapping->module];
		const char *path = strings_at(&tracker->modules.paths, module->path);

		if (module->kind == TAPE_MODULE_ELF && path[0] == '/')
			report_mapping(dwfl, path, mapping);
	}
	dwfl_report_end(dwfl, NULL, NULL);
	dwfl_attach_state(dwfl, NULL, process->pid, &thread_callbacks, libdw);
	return dwfl;
}

static Dwfl *find_process(struct libdw_walk *libdw, struct tracker *tracker, int32_t pid)
{
	struct libdw_process *kept = &libdw->processes[(uint32_t)pid % PROCESSES];
	const struct tracker_process *process = tracker_process(tracker, pid);

	if (!process)
		return NULL;
	if (kept->dwfl && kept->pid == pid && kept->version == process->maps->version)
		return kept->dwfl;
	if (kept->dwfl)
		dwfl_end(kept->dwfl);
	*kept = (struct libdw_process){ pid, process->maps->version,
					open_process(libdw, tracker, process) };
	return kept->dwfl;
}

/* ---- the walk ---- */

static int add_frame(Dwfl_Frame *frame, void *context)
{
	struct stack_walk *walk = context;
	Dwarf_Addr address;

	if (!dwfl_frame_pc(frame, &address, NULL) || walk->count >= walk->max)
		return DWARF_CB_ABORT;
	walk->addresses[walk->count++] = address;
	return DWARF_CB_OK;
}

void libdw_walk_run(struct libdw_walk *libdw, struct tracker *tracker, int32_t pid, int32_t tid,
		    struct stack_walk *walk)
{
	Dwfl *dwfl = find_process(libdw, tracker, pid);

	walk->count = 0;
	libdw->walk = walk;
	libdw->tid = tid;
	if (dwfl)
		dwfl_getthread_frames(dwfl, tid, add_frame, walk);
}

#else

struct libdw_walk *libdw_walk_new(void)
{
	return NULL;
}

struct libdw_walk *libdw_walk_free(struct libdw_walk *libdw)
{
	return libdw;
}

void libdw_walk_run(struct libdw_walk *libdw, struct tracker *tracker, int32_t pid, int32_t tid,
		    struct stack_walk *walk)
{
	(void)libdw;
	(void)tracker;
	(void)pid;
	(void)tid;
	walk->count = 0;
}

#endif
