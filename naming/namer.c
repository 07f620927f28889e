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
#include "naming/first-samples.h"
#include "naming/frame-uses.h"
#include "naming/kernel.h"
#include "naming/process.h"
#include "naming/unnamed.h"
#include "symbolizer/elf.h"
#include "symbolizer/jit.h"
#include "symbolizer/addresses.h"

/*
 * Invariants:
 *   1. A file is used only if the finder has verified it as the module's.
 *   2. A found file is stored under the module's identity in the tape. A module without a file is
 *      remembered for one tape, so that it is searched once per tape.
 *   3. Only sampled addresses are looked up. Their names are kept, because nearly all of them recur
 *      in the next tape.
 */

#define VDSO_LIMIT (64u << 10)
/*
 * The largest map that is read. Maps grow while their process lives, but after a day they have only
 * some MB.
 */
#define JIT_FILE_MAX (256u << 20)
/* This many addresses of a module are kept although the current tape lacks them. */
#define ANSWERS_SPARE 4096

struct known {
	char *path;
	/* The module as in the tape. */
	struct tape_module module;
	/* The module with the build-id of its file. */
	struct tape_module found;
	struct addresses answers;
	/* The file was searched for the current tape. */
	bool searched;
	/* enum unnamed_reason, for addresses without a name. */
	uint8_t reason;
	/* The current tape uses the module. */
	bool used;
};

struct namer {
	struct finder finder;
	/* Borrowed; may be NULL. */
	struct name_cache *cache;
	array_of(struct known) known;
	struct kernel kernel;
	/* The image of the vdso. */
	struct buffer vdso;
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
		 * a name before the start means that the address is a signal trampoline, before
		 * which no code runs
		 */
		if (address->state == ADDRESSES_NAMED && address->start <= frame->address)
			r = name_frame(tape, frame, addresses_name(answers, address),
				       frame->address - address->start);
	}
	return r;
}

int namer_new(const struct finder *finder, struct name_cache *cache, struct namer **ret_namer)
{
	struct namer *namer = calloc(1, sizeof(*namer));

	if (!namer)
		return -ENOMEM;
	namer->finder = *finder;
	namer->cache = cache;
	*ret_namer = namer;
	return 0;
}

static void known_done(struct known *known)
{
	free(known->path);
	addresses_done(&known->answers);
}

struct namer *namer_free(struct namer *namer)
{
	if (!namer)
		return NULL;
	for (size_t i = 0; i < namer->known.count; i++)
		known_done(&namer->known.items[i]);
	array_done(&namer->known);
	kernel_done(&namer->kernel);
	buffer_done(&namer->vdso);
	free(namer);
	return NULL;
}

static struct known *namer_find_known(struct namer *namer, const struct tape_module *module,
				      const char *path)
{
	for (size_t i = 0; i < namer->known.count; i++) {
		struct known *known = &namer->known.items[i];

		if (known->module.inode == module->inode &&
		    known->module.device == module->device &&
		    known->module.build_id_size == module->build_id_size &&
		    memcmp(known->module.build_id, module->build_id, TAPE_BUILD_ID_MAX) == 0 &&
		    strcmp(known->path, path) == 0)
			return known;
	}
	return NULL;
}

static int add_known(struct namer *namer, const struct tape_module *module, const char *path,
		     struct known **ret)
{
	struct known fresh = { .path = strdup(path), .module = *module, .found = *module };

	if (!fresh.path || array_push(&namer->known, fresh) < 0) {
		free(fresh.path);
		return -ENOMEM;
	}
	*ret = &namer->known.items[namer->known.count - 1];
	return 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * Returns whether nobody but the kernel chose the file's number and times, on which the cache
 * relies. A FUSE server, which any user may run, chooses its own; an overlay may show those of one.
 */
static bool has_true_identity(int fd, const struct tape_module *module)
{
	struct statfs system;

	if (fstatfs(fd, &system) < 0 || system.f_type == FUSE_SUPER_MAGIC)
		return false;
	return system.f_type != OVERLAYFS_SUPER_MAGIC || gnu_dev_major(module->device) != 0;
}

/* Names addresses from the cache first, then from the file and its debug file. */
static int look_up_names(struct namer *namer, struct known *known, const struct finder_files *files)
{
	struct name_key key;
	struct stat about;
	int r;

	if (!namer->cache || fstat(files->fd, &about) < 0 ||
	    !has_true_identity(files->fd, &known->module))
		return elf_names(files->fd, files->other_fd, &known->answers, NULL);
	name_key_make(&known->found, &about, files->other_fd >= 0, &key);
	r = name_cache_load(namer->cache, &key, &known->answers);
	if (r == 0 && known->answers.open) {
		r = elf_names(files->fd, files->other_fd, &known->answers, NULL);
		name_cache_save(namer->cache, &key, &known->answers);
	}
	return r;
}

/* Names the open addresses of a module. If its file is gone, they stay open. */
static int look_up_file(struct namer *namer, struct known *known, int32_t pid, uint64_t until_ns)
{
	struct finder_request request = {
		FINDER_FILE, pid, until_ns, known->found, known->path, 0
	};
	_cleanup_(finder_files_close) struct finder_files files;
	int r;

	known->searched = true;
	r = finder_find(&namer->finder, &request, &files);
	known->found = request.module;
	known->reason = unnamed_by_error(r);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = look_up_names(namer, known, &files);
	known->reason = r < 0 ? unnamed_by_error(r) : UNNAMED_NO_SYMBOLS;
	if (r != -ENOMEM && known->answers.open)
		r = elf_function_starts(files.fd, base_name(known->path), &known->answers);
	if (r == -ENOMEM)
		return r;
	if (r == -ETIME || r == -E2BIG)
		known->reason = unnamed_by_error(r);
	addresses_close(&known->answers);
	return 0;
}

/*
 * Returns the tape's end on the wall clock. A file that changed after this time is not the one that
 * was sampled.
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
	struct known *known = namer_find_known(namer, module, path);
	int r = known ? 0 : add_known(namer, module, path, &known);

	if (r == 0)
		r = add_frames(&known->answers, tape, frames);
	if (r == 0 && known->answers.open && (!known->searched || namer->again))
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

/* Copies our own vdso, which all 64-bit processes on this kernel share. */
static int read_vdso(struct namer *namer)
{
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = image;
	_cleanup_close_ int fd = -1;
	size_t size, id_size;

	namer->vdso_read = true;
	if (!image)
		return 0;
	/* the section table is the last part of the image */
	size = header->e_shoff + (size_t)header->e_shentsize * header->e_shnum;
	if (size > VDSO_LIMIT)
		return 0;
	buffer_bytes(&namer->vdso, image, size);
	if (buffer_failed(&namer->vdso))
		return -ENOMEM;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0 || file_write_all(fd, image, size) < 0)
		return 0;
	if (elf_build_id(fd, namer->vdso_module.build_id, &id_size) > 0)
		namer->vdso_module.build_id_size = id_size;
	return 0;
}

/*
 * The vdso is part of the kernel. If the tape's kernel runs now, the tape's vdso is the same as
 * ours.
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

static int name_vdso(struct namer *namer, struct tape *tape, const struct frame_table *frames,
		     int32_t pid)
{
	_cleanup_(addresses_done) struct addresses answers = { 0 };
	bool same = false;
	int r = prepare_vdso(namer, tape, &tape->modules.items[frames->module], &same);

	if (namer->finder.live && pid > 0)
		same = same && process_is_64bit(pid);
	if (r == 0 && same)
		r = add_frames(&answers, tape, frames);
	if (r == 0 && answers.open)
		r = elf_names_image(namer->vdso.data, namer->vdso.size, &answers, NULL);
	return r == -ENOMEM ? r : apply_answers(&answers, tape, frames);
}

/* Names open addresses from a file. Does nothing if the descriptor is -1. */
static int look_up_jit(int fd, int (*names)(const struct file_window *, struct addresses *),
		       struct addresses *addresses)
{
	struct file_window source;

	if (fd < 0 || !addresses->open)
		return 0;
	source = file_window_of_file(fd);
	if (source.size > JIT_FILE_MAX)
		return 0;
	return names(&source, addresses);
}

/* Returns when a module was first sampled, on the wall clock. Returns 0 or -ENOMEM. */
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
 * Names generated code. Keeps none of its names for the next tape, because programs generate, move
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
	if (r == 0)
		r = find_first_sample(namer, tape, frames->module, &request.since_ns);
	if (r < 0 || !here || finder_find(&namer->finder, &request, &files) < 0)
		return r;
	r = add_frames(&answers, tape, frames);
	if (r == 0)
		r = look_up_jit(files.fd, perf_map_names, &answers);
	if (r == 0)
		r = look_up_jit(files.other_fd, jitdump_names, &answers);
	if (r == -ETIME || r == -E2BIG)
		namer->reasons[frames->module] = unnamed_by_error(r);
	return r == -ENOMEM ? r : apply_answers(&answers, tape, frames);
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

/* Returns the reason to report if nothing more precise is known. */
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

/*
 * Drops addresses of a module that no tape uses any more, so that they do not accumulate over
 * months of recording.
 */
static int known_age(struct known *known, size_t used)
{
	known->used = known->searched = false;
	if (known->answers.list.count > 2 * used + ANSWERS_SPARE)
		return addresses_shrink(&known->answers);
	for (size_t i = 0; i < known->answers.list.count; i++)
		known->answers.list.items[i].used = false;
	return 0;
}

static int drop_unused(struct namer *namer)
{
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < namer->known.count; i++) {
		struct known *known = &namer->known.items[i];
		size_t used = 0, open = known->answers.open;

		for (size_t k = 0; k < known->answers.list.count; k++)
			used += known->answers.list.items[k].used;
		if (known->used && open < known->answers.list.count) {
			if (known_age(known, used) < 0)
				r = -ENOMEM;
			namer->known.items[kept++] = *known;
		} else {
			known_done(known);
		}
	}
	namer->known.count = kept;
	return r;
}

/* Names the frames of all modules, or only of the modules with frames that must be named again. */
static int name_modules(struct namer *namer, struct tape *tape, const struct frame_uses *uses)
{
	_cleanup_free_ uint32_t *items = NULL;
	_cleanup_free_ size_t *starts = NULL;
	int r = sort_by_module(tape, &items, &starts);

	for (uint32_t module = 1; r == 0 && module < tape->modules.count; module++) {
		struct frame_table frames = { module, items + starts[module],
					      starts[module + 1] - starts[module], uses->of.items };

		namer->again = uses->again.items && uses->again.items[module];
		if (uses->again.items && !namer->again)
			continue;
		namer->reasons[module] = default_reason(&tape->modules.items[module]);
		r = name_module(namer, tape, &frames,
				module < tape->pids.count ? tape->pids.items[module] : 0);
	}
	return r;
}

static int name_frames(struct namer *namer, struct tape *tape)
{
	struct frame_uses uses = { 0 };
	int r = frame_uses_find(&uses, tape);

	if (r == 0)
		r = name_modules(namer, tape, &uses);
	if (r == 0)
		r = frame_uses_find_again(&uses, tape);
	if (r > 0)
		r = name_modules(namer, tape, &uses);
	frame_uses_done(&uses);
	return r;
}

int namer_run(struct namer *namer, struct tape *tape)
{
	_cleanup_free_ uint8_t *reasons = calloc(tape->modules.count, 1);
	int r = reasons ? 0 : -ENOMEM, dropped;

	namer->reasons = reasons;
	/* new modules may have appeared since the last tape */
	namer->kernel.fresh = false;
	if (r == 0) {
		reasons[0] = UNNAMED_UNMAPPED;
		r = name_frames(namer, tape);
	}
	if (r == 0)
		r = unnamed_note(tape, reasons);
	namer->reasons = NULL;
	free(namer->first_samples);
	namer->first_samples = NULL;
	dropped = drop_unused(namer);
	return r < 0 ? r : dropped;
}
