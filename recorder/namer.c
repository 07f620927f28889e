// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/namer.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "base/file.h"
#include "symbolizer/elf.h"
#include "symbolizer/kallsyms.h"

/*
 * Invariants:
 * (1) a file is believed only when its build-id is the module's, or, where the module has none, device and inode are;
 * (2) a module that could not be found is remembered as such for one tape, so that each is looked for once.
 */

#define KALLSYMS_LIMIT (256u << 20)
#define VDSO_LIMIT (64u << 10)

struct known {
	char *path;
	struct tape_module module;
	struct symbols *symbols; /* NULL: not found */
	bool used; /* by the tape at hand */
};

struct namer {
	array_of(struct known) known;
	struct symbols *kernel;
	struct symbols *vdso;
	bool kernel_fresh; /* read for the tape at hand */
};

int namer_new(struct namer **ret_namer)
{
	struct namer *namer = calloc(1, sizeof(*namer));

	if (!namer)
		return -ENOMEM;
	*ret_namer = namer;
	return 0;
}

static void known_done(struct known *known)
{
	free(known->path);
	symbols_free(known->symbols);
}

struct namer *namer_free(struct namer *namer)
{
	if (!namer)
		return NULL;
	for (size_t i = 0; i < namer->known.count; i++)
		known_done(&namer->known.items[i]);
	array_done(&namer->known);
	symbols_free(namer->kernel);
	symbols_free(namer->vdso);
	free(namer);
	return NULL;
}

static bool same_file(int fd, const struct tape_module *module)
{
	uint8_t build_id[ELF_BUILD_ID_MAX];
	struct stat about;
	size_t size;

	if (fstat(fd, &about) < 0 || !S_ISREG(about.st_mode))
		return false;
	if (!module->build_id_size)
		return about.st_ino == module->inode && about.st_dev == module->device;
	return elf_build_id(fd, build_id, &size) > 0 && size == module->build_id_size &&
	       memcmp(build_id, module->build_id, size) == 0;
}

/* O_NONBLOCK: a FIFO in the place of a library must not hold us. */
static int open_same(const char *path, const struct tape_module *module)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0 && !same_file(fd, module)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int open_module(const struct tape_module *module, const char *path, int32_t pid)
{
	char inside[PATH_MAX];
	int fd = -1;

	if (pid > 0 && snprintf(inside, sizeof(inside), "/proc/%d/root%s", pid, path) <
			       (int)sizeof(inside))
		fd = open_same(inside, module);
	return fd >= 0 ? fd : open_same(path, module);
}

static struct known *find_known(
	struct namer *namer, const struct tape_module *module, const char *path)
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

/* The names that a distribution keeps in a package of their own, or -1. */
static int open_debug_file(const struct tape_module *module)
{
	char path[128] = "/usr/lib/debug/.build-id/", *at = path + strlen(path);

	if (module->build_id_size < 2)
		return -1;
	for (size_t i = 0; i < module->build_id_size; i++)
		at += sprintf(at, i == 1 ? "/%02x" : "%02x", module->build_id[i]);
	strcpy(at, ".debug");
	return open_same(path, module);
}

static int load_symbols(const struct tape_module *module, const char *path, int32_t pid,
	struct symbols **ret_symbols)
{
	_cleanup_close_ int fd = open_module(module, path, pid), debug_fd = -1;

	if (fd < 0)
		return 0;
	debug_fd = open_debug_file(module);
	if (debug_fd >= 0)
		return elf_symbols_debug(fd, debug_fd, ret_symbols, NULL);
	return elf_symbols(fd, ret_symbols, NULL);
}

static int elf_module(struct namer *namer, const struct tape_module *module, const char *path,
	int32_t pid, const struct symbols **ret_symbols)
{
	struct known *known = find_known(namer, module, path);

	if (!known) {
		struct known fresh = { .path = strdup(path), .module = *module };

		if (!fresh.path || array_push(&namer->known, fresh) < 0) {
			free(fresh.path);
			return -ENOMEM;
		}
		known = &namer->known.items[namer->known.count - 1];
		if (load_symbols(module, path, pid, &known->symbols) == -ENOMEM)
			return -ENOMEM;
	}
	known->used = true;
	*ret_symbols = known->symbols;
	return 0;
}

static int vdso_module(struct namer *namer, const struct symbols **ret_symbols)
{
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = image;
	size_t size;

	if (!namer->vdso && image) {
		/* the section table comes last */
		size = header->e_shoff + (size_t)header->e_shentsize * header->e_shnum;
		if (size <= VDSO_LIMIT &&
			elf_symbols_image(image, size, &namer->vdso, NULL) == -ENOMEM)
			return -ENOMEM;
	}
	*ret_symbols = namer->vdso;
	return 0;
}

static int read_kernel(struct namer *namer)
{
	_cleanup_free_ char *text = NULL;
	struct symbols *symbols;
	size_t size;
	int r;

	namer->kernel_fresh = true;
	r = file_read("/proc/kallsyms", KALLSYMS_LIMIT, &text, &size);
	if (r == 0)
		r = kallsyms_parse(text, size, &symbols);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	symbols_free(namer->kernel);
	namer->kernel = symbols;
	return 0;
}

static int module_symbols(struct namer *namer, const struct tape *tape, uint32_t module,
	int32_t pid, const struct symbols **ret_symbols)
{
	const struct tape_module *row = &tape->modules.items[module];

	*ret_symbols = NULL;
	switch (row->kind) {
	case TAPE_MODULE_KERNEL:
		if (!namer->kernel && !namer->kernel_fresh && read_kernel(namer) < 0)
			return -ENOMEM;
		*ret_symbols = namer->kernel;
		return 0;
	case TAPE_MODULE_ELF:
		return elf_module(namer, row, tape_string(tape, row->path), pid, ret_symbols);
	case TAPE_MODULE_VDSO:
		return vdso_module(namer, ret_symbols);
	default:
		return 0;
	}
}

/* 1 when the address has a name now, 0 when it has none. */
static int name_frame(struct tape *tape, struct tape_frame *frame, const struct symbols *symbols)
{
	struct symbol symbol;
	int r;

	if (!symbols || symbols_find(symbols, frame->address, &symbol) == 0)
		return 0;
	r = strings_add(&tape->strings, symbol.name, strlen(symbol.name), &frame->symbol);
	if (r < 0)
		return r;
	frame->offset = frame->address - symbol.start;
	return 1;
}

/* A kernel address without a name may be of code that came after kallsyms was read: once a tape, it is read again. */
static int name_kernel_frame(struct namer *namer, struct tape *tape, struct tape_frame *frame)
{
	int r = name_frame(tape, frame, namer->kernel);

	if (r != 0 || namer->kernel_fresh)
		return r;
	r = read_kernel(namer);
	return r < 0 ? r : name_frame(tape, frame, namer->kernel);
}

/* The numbers of the frames, those of one module behind those of the one before it. */
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

static int name_module(struct namer *namer, struct tape *tape, uint32_t module, int32_t pid,
	const uint32_t *frames, size_t count)
{
	const struct symbols *symbols;
	int r = module_symbols(namer, tape, module, pid, &symbols);

	for (size_t i = 0; r >= 0 && i < count; i++) {
		struct tape_frame *frame = &tape->frames.items[frames[i]];

		if (frame->symbol)
			continue;
		r = tape->modules.items[module].kind == TAPE_MODULE_KERNEL
			    ? name_kernel_frame(namer, tape, frame)
			    : name_frame(tape, frame, symbols);
	}
	return r < 0 ? r : 0;
}

static void drop_unused(struct namer *namer)
{
	size_t kept = 0;

	for (size_t i = 0; i < namer->known.count; i++) {
		struct known *known = &namer->known.items[i];

		if (known->used && known->symbols) {
			known->used = false;
			namer->known.items[kept++] = *known;
		} else {
			known_done(known);
		}
	}
	namer->known.count = kept;
}

int namer_run(struct namer *namer, struct tape *tape, const int32_t *pids, size_t pid_count)
{
	_cleanup_free_ uint32_t *frames = NULL;
	_cleanup_free_ size_t *starts = NULL;
	int r = sort_by_module(tape, &frames, &starts);

	namer->kernel_fresh = false;
	for (uint32_t module = 1; r == 0 && module < tape->modules.count; module++)
		r = name_module(namer, tape, module, module < pid_count ? pids[module] : 0,
			frames + starts[module], starts[module + 1] - starts[module]);
	drop_unused(namer);
	return r;
}
