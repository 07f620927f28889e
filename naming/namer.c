// SPDX-License-Identifier: GPL-2.0-only
#include "naming/namer.h"

#include <elf.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/file.h"
#include "naming/fair-order.h"
#include "naming/first-samples.h"
#include "naming/frame-uses.h"
#include "naming/kernel.h"
#include "naming/known-files.h"
#include "naming/process.h"
#include "naming/unnamed.h"
#include "symbolizer/addresses.h"

/* Headers of kernels before 5.17 lack FUSE_SUPER_MAGIC. */
#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

/*
 * Invariants:
 *   1. The namer uses a file only if the finder has verified that it is the module's file.
 *   2. The namer stores a found file under the module's identity in the tape. It remembers a module
 *      without a file for one tape, so that it searches only once per tape.
 *   3. The namer looks up only sampled addresses. It keeps their names, because nearly all of them
 *      recur in the next tape.
 */

#define VDSO_LIMIT (64u << 10)

struct namer {
	struct finder finder;
	/* Borrowed; may be NULL. */
	struct name_cache *cache;
	struct name_helper *helper;
	uint64_t budget_ns;
	void (*step)(void *context, const char *path, size_t number, size_t count);
	void *step_context;
	/* When the time for the current tape ends, CLOCK_MONOTONIC. */
	uint64_t until_ns;
	/* The rest of namer_set_work(). */
	uint64_t work_ns;
	struct known_files files;
	struct kernel kernel;
	/* A file with the image of the vdso; -1: none. */
	int vdso;
	struct tape_module vdso_module;
	bool vdso_read;
	/* The frames of the module are being named a second time for the current tape. */
	bool again;
	/* enum unnamed_reason, for each module of the current tape. */
	uint8_t *reasons;
	/* When each module of the current tape was first sampled; NULL: not asked yet. */
	uint64_t *first_samples;
};

/* Adds the addresses of frames without a name, unless the list already contains them. */
static int add_frames(struct addresses *addresses, const struct tape *tape,
		      const struct frame_table *frames)
{
	size_t before = addresses->list.count;
	struct addresses known = { .list = { addresses->list.items, before, 0 } };
	int r = 0;

	for (size_t i = 0; i < frames->count && r == 0; i++) {
		const struct tape_frame *frame = &tape->frames.items[frames->items[i]];

		known.list.items = addresses->list.items;
		if (!frame->symbol && !addresses_find(&known, frame_lookup(tape, frames, i)))
			r = addresses_add(addresses, frame_lookup(tape, frames, i));
	}
	if (addresses->list.count != before)
		addresses_sort(addresses);
	return r;
}

static int apply_answers(const struct addresses *answers, struct tape *tape,
			 const struct frame_table *frames)
{
	int r = 0;

	for (size_t i = 0; i < frames->count && r == 0; i++) {
		struct tape_frame *frame = &tape->frames.items[frames->items[i]];
		struct address *address = addresses_find(answers, frame_lookup(tape, frames, i));

		if (frame->symbol || !address)
			continue;
		address->used = true;
		/*
		 * an address before the function's start is the byte before a signal trampoline,
		 * which never runs
		 */
		if (address->state == ADDRESSES_NAMED && address->start <= frame->address)
			r = name_frame(tape, frame, addresses_name(answers, address),
				       frame->address - address->start);
	}
	return r;
}

int namer_new(const struct finder *finder, struct name_cache *cache, struct namer **ret_namer)
{
	static const struct name_helper_patience patience = NAME_HELPER_PATIENCE;
	struct namer *namer = calloc(1, sizeof(*namer));
	int r = namer ? name_helper_new(&patience, &namer->helper) : -ENOMEM;

	if (r < 0) {
		free(namer);
		return r;
	}
	namer->finder = *finder;
	namer->finder.helper = namer->helper;
	namer->cache = cache;
	namer->budget_ns = NAMER_BUDGET_NS;
	namer->work_ns = UINT64_MAX;
	namer->vdso = -1;
	*ret_namer = namer;
	return 0;
}

void namer_set_budget(struct namer *namer, uint64_t budget_ns)
{
	namer->budget_ns = budget_ns;
}

void namer_set_work(struct namer *namer, uint64_t work_ns)
{
	namer->work_ns = work_ns;
}

uint64_t namer_work_left(const struct namer *namer)
{
	return namer->work_ns;
}

void namer_observe(struct namer *namer,
		   void (*step)(void *context, const char *path, size_t number, size_t count),
		   void (*waits)(void *context), void *context)
{
	namer->step = step;
	namer->step_context = context;
	name_helper_observe(namer->helper, waits, context);
}

struct namer *namer_free(struct namer *namer)
{
	if (!namer)
		return NULL;
	known_files_done(&namer->files);
	kernel_done(&namer->kernel);
	if (namer->vdso >= 0)
		close(namer->vdso);
	name_helper_free(namer->helper);
	free(namer);
	return NULL;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * Returns whether only the kernel chose the file's inode number and times, on which the cache
 * relies. A FUSE server, which any user may run, chooses its own numbers, and an overlay may show
 * the numbers of a FUSE server.
 */
static bool has_true_identity(int fd, const struct tape_module *module)
{
	struct statfs system;

	if (fstatfs(fd, &system) < 0 || system.f_type == FUSE_SUPER_MAGIC)
		return false;
	return system.f_type != OVERLAYFS_SUPER_MAGIC || gnu_dev_major(module->device) != 0;
}

/* Returns -EAGAIN if the time of namer_set_work() is used up. */
static int name_from_files(struct namer *namer, struct known_file *known,
			   const struct finder_files *files)
{
	uint64_t begun_ns = name_helper_spent_ns(namer->helper);
	int r;

	if (!namer->work_ns)
		return -EAGAIN;
	r = name_helper_elf(namer->helper, files->fd, files->other_fd, base_name(known->path),
			    &known->answers);
	namer->work_ns -= MIN(namer->work_ns, name_helper_spent_ns(namer->helper) - begun_ns);
	return r;
}

/* Names addresses from the cache first, then from the file and its debug file. */
static int look_up_names(struct namer *namer, struct known_file *known,
			 const struct finder_files *files)
{
	struct name_key key;
	struct stat about;
	int r = fstat(files->fd, &about);

	if (r == 0)
		known_file_identify(known, &about);
	if (!namer->cache || r < 0 || !has_true_identity(files->fd, &known->module))
		return name_from_files(namer, known, files);
	name_key_make(&known->found, &about, files->other_fd >= 0, &key);
	r = name_cache_load(namer->cache, &key, &known->answers);
	if (r < 0)
		return r;
	if (known->answers.open) {
		r = name_from_files(namer, known, files);
		name_cache_save(namer->cache, &key, &known->answers);
	}
	return r;
}

static bool namer_is_late(const struct namer *namer)
{
	return clock_ns(CLOCK_MONOTONIC) >= namer->until_ns;
}

/*
 * Notes the result of naming a file. If the helper cannot cope with a file, the namer does not ask
 * for the file's addresses again. Returns 0 or -ENOMEM.
 */
static int namer_note_result(struct namer *namer, struct known_file *known, int r)
{
	if (r == -ENOMEM)
		return r;
	known->reason = r < 0 ? unnamed_by_error(r) : UNNAMED_NO_SYMBOLS;
	if (r == -EAGAIN || (r == -ETIME && namer_is_late(namer))) {
		known->reason = UNNAMED_LATE;
		return 0;
	}
	known->feared = r == -ETIME || r == -EPROTO || r == -EFBIG;
	if (r == 0 || r == -EBADMSG || r == -E2BIG || known->feared)
		addresses_close(&known->answers);
	return 0;
}

/* Names the unresolved addresses of a module. They stay unresolved if the module's file is gone. */
static int look_up_file(struct namer *namer, struct known_file *known, int32_t pid,
			uint64_t until_ns)
{
	struct finder_request request = { .kind = FINDER_FILE,
					  .pid = pid,
					  .until_ns = until_ns,
					  .module = known->found,
					  .path = known->path };
	_cleanup_(finder_files_close) struct finder_files files = { -1, -1 };
	int r;

	known->searched = true;
	if (known->feared) {
		addresses_close(&known->answers);
		return 0;
	}
	if (namer_is_late(namer))
		return namer_note_result(namer, known, -ETIME);
	r = finder_find(&namer->finder, &request, &files);
	known->found = request.module;
	if (r == 0)
		return namer_note_result(namer, known, look_up_names(namer, known, &files));
	if (r == -ETIME || r == -EPROTO || r == -EFBIG || r == -ENOMEM)
		return namer_note_result(namer, known, r);
	known->reason = unnamed_by_error(r);
	return 0;
}

/*
 * Returns the tape's end on the wall clock. A file that changed after this time is not the sampled
 * file.
 */
static uint64_t namer_end_of(const struct tape *tape)
{
	uint64_t error_ns = 0, end_ns = tape_to_realtime(tape, tape->end_ns, &error_ns);

	return end_ns - MIN(end_ns, error_ns);
}

static int name_elf(struct namer *namer, struct tape *tape, const struct frame_table *frames,
		    int32_t pid)
{
	struct tape_module *module = &tape->modules.items[frames->module];
	const char *path = tape_string(tape, module->path);
	struct known_file *known;
	int r = known_files_get(&namer->files, module, path, &known);

	if (r < 0)
		return r;
	r = add_frames(&known->answers, tape, frames);
	if (r < 0)
		return r;
	if (known->answers.open && (!known->searched || namer->again))
		r = look_up_file(namer, known, pid, namer_end_of(tape));
	if (r < 0)
		return r;
	known->used = true;
	namer->reasons[frames->module] = known->reason;
	/* other hosts identify the file by its build-id */
	module->build_id_size = known->found.build_id_size;
	memcpy(module->build_id, known->found.build_id, sizeof(module->build_id));
	return apply_answers(&known->answers, tape, frames);
}

static bool namer_same_id(const struct tape_module *a, const struct tape_module *b)
{
	return a->build_id_size == b->build_id_size &&
	       memcmp(a->build_id, b->build_id, sizeof(a->build_id)) == 0;
}

static int name_kernel(struct namer *namer, struct tape *tape, const struct frame_table *frames)
{
	int r = kernel_name(&namer->kernel, &namer->finder, tape, frames);

	if (r == 1)
		namer->reasons[frames->module] =
			namer->finder.live ? UNNAMED_NO_RIGHT : UNNAMED_GONE;
	return MIN(r, 0);
}

/* Copies perftape's own vdso, which all 64-bit processes on this kernel share. */
static int read_vdso(struct namer *namer)
{
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = image;
	_cleanup_close_ int fd = -1;
	struct name_identity identity;
	size_t size;

	namer->vdso_read = true;
	if (!image)
		return 0;
	/* the section table is the last part of the image */
	size = header->e_shoff + (size_t)header->e_shentsize * header->e_shnum;
	if (size > VDSO_LIMIT)
		return 0;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0 || file_write_all(fd, image, size) < 0)
		return 0;
	if (name_helper_identity(namer->helper, fd, &identity) == 0) {
		namer->vdso_module.build_id_size = identity.build_id_size;
		memcpy(namer->vdso_module.build_id, identity.build_id, identity.build_id_size);
	}
	namer->vdso = take_fd(fd);
	return 0;
}

/*
 * The vdso is part of the kernel. If the tape's kernel runs now, the tape's vdso is the same as
 * perftape's own.
 */
static int prepare_vdso(struct namer *namer, const struct tape *tape,
			const struct tape_module *module, bool *ret_same)
{
	bool runs = namer->finder.live;

	if (!namer->vdso_read && read_vdso(namer) < 0)
		return -ENOMEM;
	if (!module->build_id_size && !runs &&
	    kernel_runs(&namer->kernel, &namer->finder, tape, &runs) < 0)
		return -ENOMEM;
	*ret_same = module->build_id_size ? namer_same_id(module, &namer->vdso_module) : runs;
	return 0;
}

static int ask_vdso(struct namer *namer, struct tape *tape, const struct frame_table *frames,
		    int32_t pid, struct addresses *answers)
{
	bool same = false;
	int r = prepare_vdso(namer, tape, &tape->modules.items[frames->module], &same);

	if (namer->finder.live && pid > 0)
		same = same && process_is_64bit(pid);
	if (r < 0)
		return r;
	if (same)
		r = add_frames(answers, tape, frames);
	if (r < 0)
		return r;
	return answers->open ? name_helper_elf(namer->helper, namer->vdso, -1, NULL, answers) : 0;
}

static int name_vdso(struct namer *namer, struct tape *tape, const struct frame_table *frames,
		     int32_t pid)
{
	_cleanup_(addresses_done) struct addresses answers = { 0 };
	int r = ask_vdso(namer, tape, frames, pid, &answers);

	return r == -ENOMEM ? r : apply_answers(&answers, tape, frames);
}

/*
 * Sets *ret_ns to the time of a module's first sample on the wall clock, or 0 without a sample.
 * Returns 0 or -ENOMEM.
 */
static int find_first_sample(struct namer *namer, const struct tape *tape, uint32_t module,
			     uint64_t *ret_ns)
{
	uint64_t error_ns = 0, at_ns;
	int r = namer->first_samples ? 0 : first_samples_find(tape, &namer->first_samples);

	if (r < 0)
		return r;
	at_ns = namer->first_samples[module];
	/* the kernel counts the begin of a process in ticks of 10 ms, rounded down */
	*ret_ns = at_ns == UINT64_MAX ? 0 : tape_to_realtime(tape, at_ns, &error_ns) + error_ns;
	return 0;
}

/*
 * Names generated code. Does not keep the names for the next tape, because programs generate, move
 * and drop such code all the time.
 */
static int name_jit(struct namer *namer, struct tape *tape, const struct frame_table *frames)
{
	const char *path = tape_string(tape, tape->modules.items[frames->module].path);
	_cleanup_(finder_files_close) struct finder_files files = { -1, -1 };
	_cleanup_(addresses_done) struct addresses answers = { 0 };
	struct finder_request request = { .kind = FINDER_JIT, .path = path };
	bool here = namer->finder.live;
	int r = 0;

	if (sscanf(path, "/tmp/perf-%d.map", &request.pid) != 1 || request.pid <= 0)
		return 0;
	if (!here)
		r = kernel_is_of_boot(&namer->kernel, &namer->finder, tape, &here);
	request.until_ns = namer_end_of(tape);
	if (r < 0)
		return r;
	r = find_first_sample(namer, tape, frames->module, &request.since_ns);
	if (r < 0 || !here)
		return r;
	if (namer_is_late(namer)) {
		namer->reasons[frames->module] = UNNAMED_LATE;
		return 0;
	}
	if (finder_find(&namer->finder, &request, &files) < 0)
		return 0;
	r = add_frames(&answers, tape, frames);
	if (r == 0)
		r = name_helper_jit(namer->helper, files.fd, files.other_fd, &answers);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		namer->reasons[frames->module] = unnamed_by_error(r);
	return apply_answers(&answers, tape, frames);
}

static int name_module(struct namer *namer, struct tape *tape, const struct frame_table *frames,
		       int32_t pid)
{
	switch (tape->modules.items[frames->module].kind) {
	case TAPE_MODULE_KERNEL:
		return name_kernel(namer, tape, frames);
	case TAPE_MODULE_ELF:
		return name_elf(namer, tape, frames, pid);
	case TAPE_MODULE_VDSO:
		return name_vdso(namer, tape, frames, pid);
	case TAPE_MODULE_JIT:
		return name_jit(namer, tape, frames);
	default:
		return 0;
	}
}

/* Returns the reason to report if name_module() does not set a more precise reason. */
static enum unnamed_reason default_reason(const struct tape_module *module)
{
	switch (module->kind) {
	case TAPE_MODULE_ELF:
		return UNNAMED_GONE;
	case TAPE_MODULE_JIT:
		return UNNAMED_GENERATED;
	case TAPE_MODULE_UNKNOWN:
		return UNNAMED_UNMAPPED;
	default:
		return UNNAMED_NO_SYMBOLS;
	}
}

/* Sorts the numbers of all frames by module. */
static int sort_by_module(const struct tape *tape, uint32_t **ret_frames, size_t **ret_starts)
{
	_cleanup_free_ size_t *starts = calloc(tape->modules.count + 2, sizeof(*starts));
	_cleanup_free_ uint32_t *frames = calloc(tape->frames.count, sizeof(*frames));

	if (!starts || !frames)
		return -ENOMEM;
	for (size_t i = 0; i < tape->frames.count; i++)
		starts[tape->frames.items[i].module + 2]++;
	for (size_t i = 2; i < tape->modules.count + 2; i++)
		starts[i] += starts[i - 1];
	for (size_t i = 0; i < tape->frames.count; i++)
		frames[starts[tape->frames.items[i].module + 1]++] = i;
	*ret_frames = take_ptr(frames);
	*ret_starts = take_ptr(starts);
	return 0;
}

static void namer_report(const struct namer *namer, const struct tape *tape, uint32_t module,
			 size_t number)
{
	if (namer->step)
		namer->step(namer->step_context,
			    tape_string(tape, tape->modules.items[module].path), number,
			    tape->modules.count - 1);
}

/* Names the frames of all modules, or only of the modules with frames that must be named again. */
static int name_modules(struct namer *namer, struct tape *tape, const struct frame_uses *uses)
{
	_cleanup_(fair_order_done) struct fair_order order = { 0 };
	_cleanup_free_ uint32_t *items = NULL;
	_cleanup_free_ size_t *starts = NULL;
	int r = sort_by_module(tape, &items, &starts);
	uint32_t module;

	if (r < 0)
		return r;
	r = fair_order_init(&order, tape);
	for (size_t number = 1; r == 0 && fair_order_next(&order, &module); number++) {
		struct frame_table frames = { module, items + starts[module],
					      starts[module + 1] - starts[module], uses->of.items };
		uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC);

		namer->again = uses->again.items && uses->again.items[module];
		if (uses->again.items && !namer->again)
			continue;
		namer_report(namer, tape, module, number);
		namer->reasons[module] = default_reason(&tape->modules.items[module]);
		r = name_module(namer, tape, &frames, fair_order_pid(tape, module));
		fair_order_charge(&order, clock_ns(CLOCK_MONOTONIC) - begun_ns);
	}
	return r;
}

static int name_frames(struct namer *namer, struct tape *tape)
{
	_cleanup_(frame_uses_done) struct frame_uses uses = { 0 };
	int r = frame_uses_find(&uses, tape);

	if (r < 0)
		return r;
	r = name_modules(namer, tape, &uses);
	if (r < 0)
		return r;
	r = frame_uses_find_again(&uses, tape);
	return r <= 0 ? r : name_modules(namer, tape, &uses);
}

static int namer_name_all(struct namer *namer, struct tape *tape, uint8_t *reasons)
{
	int r;

	if (!reasons)
		return -ENOMEM;
	reasons[0] = UNNAMED_UNMAPPED;
	r = name_frames(namer, tape);
	return r != 0 ? r : unnamed_note(tape, reasons);
}

int namer_run(struct namer *namer, struct tape *tape)
{
	_cleanup_free_ uint8_t *reasons = calloc(tape->modules.count, 1);
	int r, dropped;

	namer->reasons = reasons;
	namer->until_ns = clock_ns(CLOCK_MONOTONIC) + namer->budget_ns;
	name_helper_until(namer->helper, namer->until_ns);
	/* new modules may have appeared since the last tape */
	namer->kernel.fresh = false;
	r = namer_name_all(namer, tape, reasons);
	namer->reasons = NULL;
	free(namer->first_samples);
	namer->first_samples = NULL;
	name_helper_rest(namer->helper);
	dropped = known_files_drop_unused(&namer->files);
	return r < 0 ? r : dropped;
}

int namer_skip(struct tape *tape)
{
	_cleanup_free_ uint8_t *reasons = malloc(tape->modules.count + 1);

	if (!reasons)
		return -ENOMEM;
	memset(reasons, UNNAMED_FEARED, tape->modules.count);
	reasons[0] = UNNAMED_UNMAPPED;
	return unnamed_note(tape, reasons);
}
