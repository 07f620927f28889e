// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unwind tables of files: the helper makes them, the source shares and evicts them, and the helper
 * makes them anew when a file changes. The file is this program, or a file in a temporary folder.
 */
#define HELPERS_OPEN
#define FAKE_CLOCK_RUNS_REALTIME
#include "tests/check.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "recorder/files/opener.h"
#include "recorder/files/unwind-tables.h"
#include "tests/elves.h"
#include "tests/fake-clock.h"
#include "tests/folders.h"
#include "tests/helpers.h"
#include "tests/wait.h"

struct host {
	struct modules modules;
	struct unwind_tables *tables;
};

static void host_done(struct host *host)
{
	unwind_tables_free(host->tables);
	modules_done(&host->modules);
}

static void host_init(struct host *host, struct unwind_tables_options options)
{
	memset(host, 0, sizeof(*host));
	CHECK_EQ(modules_init(&host->modules), 0);
	CHECK_EQ(unwind_tables_new(&options, &host->tables), 0);
}

static uint32_t add_module(struct host *host, const char *path)
{
	struct tape_module module = { .kind = TAPE_MODULE_ELF };
	struct stat about;
	uint32_t number;

	CHECK_EQ(stat(path, &about), 0);
	module.device = about.st_dev;
	module.inode = about.st_ino;
	CHECK_EQ(modules_add(&host->modules, &module, path, &number), 0);
	return number;
}

static uint32_t add_this_program(struct host *host)
{
	char path[4096] = "";

	CHECK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	return add_module(host, path);
}

static struct stack_code find_code_of(struct host *host, uint32_t module)
{
	struct stack_code code = { 0 };

	unwind_tables_find(host->tables, &host->modules, module, getpid(), &code);
	return code;
}

static struct unwind_tables_counts counts_of(const struct host *host)
{
	struct unwind_tables_counts counts;

	unwind_tables_counts(host->tables, &counts);
	return counts;
}

static bool is_there(struct host *host, uint32_t module)
{
	unwind_tables_turn(host->tables);
	return find_code_of(host, module).kind == STACK_CODE_TABLE;
}

static struct perf_record mapping_of(const struct host *host, uint32_t module, uint64_t generation)
{
	const struct tape_module *about = &host->modules.list.items[module];

	return (struct perf_record){
		.type = PERF_TYPE_MMAP2,
		.misc = PERF_MODE_USER,
		.mmap = { .pid = getpid(),
			  .device = about->device,
			  .inode = about->inode,
			  .generation = generation,
			  .path = strings_at(&host->modules.paths, about->path) },
	};
}

/* A file in a separate folder. */
struct one_file {
	char folder[32];
	char path[PATH_MAX];
};

static void one_file_init(struct one_file *file)
{
	snprintf(file->folder, sizeof(file->folder), "/tmp/unwind-tables-XXXXXX");
	CHECK(mkdtemp(file->folder));
	folders_join(file->folder, "library", file->path);
}

static void one_file_done(struct one_file *file)
{
	unlink(file->path);
	rmdir(file->folder);
}

/* A small ELF file without .eh_frame. */
static void write_elf(struct one_file *file)
{
	static const struct elves_section text = { .name = ".text",
						   .type = SHT_PROGBITS,
						   .flags = SHF_ALLOC | SHF_EXECINSTR,
						   .address = ELVES_CODE };
	_cleanup_(buffer_done) struct buffer bytes = { 0 };

	elves_make(&bytes, &text, 1);
	CHECK_EQ(file_replace(file->folder, "library", bytes.data, bytes.size), 0);
}

static void test_waits(void)
{
	_cleanup_(host_done) struct host host;
	struct unwind_rule rule;
	struct stack_code code;
	uint32_t module;

	host_init(&host, (struct unwind_tables_options){ .finder.live = true, .wait = true });
	module = add_this_program(&host);
	code = find_code_of(&host, module);
	CHECK_EQ(code.kind, STACK_CODE_TABLE);
	unwind_table_find(code.table, code.table->base + 0x2000, &rule);
	CHECK_EQ(code.table->machine, UNWIND_MACHINE_HERE);
	CHECK_EQ(counts_of(&host).made, 1);
	CHECK(code.table == find_code_of(&host, module).table);
	CHECK_EQ(counts_of(&host).made, 1);
}

static void test_thread(void)
{
	_cleanup_(host_done) struct host host;
	uint32_t module;

	host_init(&host, (struct unwind_tables_options){ .finder.live = true });
	module = add_this_program(&host);
	CHECK_EQ(find_code_of(&host, module).kind, STACK_CODE_WAITING);
	WAIT_UNTIL(is_there(&host, module));
	CHECK_EQ(counts_of(&host).made, 1);
	CHECK_EQ(counts_of(&host).tables, 1);
}

/*
 * With an opener, as in a recorder, the source asks for a file's table when a process maps the
 * file.
 */
static void test_mapping(void)
{
	_cleanup_(cleanup_opener) struct opener *opener = NULL;
	_cleanup_(host_done) struct host host;
	struct perf_record record;
	uint32_t module;

	CHECK_EQ(opener_new(60 * NSEC_PER_SEC, &opener, NULL), 0);
	host_init(&host,
		  (struct unwind_tables_options){
			  .finder = { .live = true, .delegate = opener_find, .context = opener } });
	module = add_this_program(&host);
	record = mapping_of(&host, module, 7);
	opener_see(opener, &record, 0);
	unwind_tables_see(host.tables, &record);
	WAIT_UNTIL((unwind_tables_turn(host.tables), counts_of(&host).made == 1));
	CHECK_EQ(find_code_of(&host, module).kind, STACK_CODE_TABLE);
}

/* Another generation of the same inode is another file. */
static void test_generation(void)
{
	_cleanup_(host_done) struct host host;
	struct perf_record record;
	uint32_t module;

	host_init(&host, (struct unwind_tables_options){ .finder.live = true });
	module = add_this_program(&host);
	record = mapping_of(&host, module, 7);
	unwind_tables_see(host.tables, &record);
	WAIT_UNTIL(is_there(&host, module));
	unwind_tables_see(host.tables, &record);
	CHECK_EQ(find_code_of(&host, module).kind, STACK_CODE_TABLE);
	record.mmap.generation = 8;
	unwind_tables_see(host.tables, &record);
	CHECK_EQ(find_code_of(&host, module).kind, STACK_CODE_WAITING);
	CHECK_EQ(counts_of(&host).bytes, 0);
	WAIT_UNTIL(is_there(&host, module));
	CHECK_EQ(counts_of(&host).made, 2);
}

static void copy_this_program(struct one_file *file)
{
	struct stat about;

	CHECK_EQ(stat("/proc/self/exe", &about), 0);
	folders_copy_file("/proc/self/exe", file->path, &about);
}

static void overwrite(const char *path)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(file_write_all(fd, "no ELF", 6), 0);
}

/* A file that is written anew in place keeps its inode and its generation. */
static void test_change(void)
{
	_cleanup_(one_file_done) struct one_file file;
	_cleanup_(host_done) struct host host;
	struct perf_record record;
	uint32_t module;

	one_file_init(&file);
	copy_this_program(&file);
	host_init(&host, (struct unwind_tables_options){ .finder.live = true });
	module = add_module(&host, file.path);
	record = mapping_of(&host, module, 7);
	unwind_tables_see(host.tables, &record);
	WAIT_UNTIL(is_there(&host, module));
	overwrite(file.path);
	fake_clock_pass(2 * NSEC_PER_SEC);
	unwind_tables_see(host.tables, &record);
	WAIT_UNTIL(!is_there(&host, module));
	CHECK_EQ(counts_of(&host).failed, 1);
	CHECK_EQ(counts_of(&host).tables, 0);
}

static void test_without(void)
{
	_cleanup_(one_file_done) struct one_file file;
	_cleanup_(host_done) struct host host;
	uint32_t module;

	one_file_init(&file);
	write_elf(&file);
	host_init(&host, (struct unwind_tables_options){ .finder.live = true, .wait = true });
	module = add_module(&host, file.path);
	CHECK_EQ(find_code_of(&host, module).kind, STACK_CODE_BARE);
	CHECK_EQ(find_code_of(&host, module).kind, STACK_CODE_BARE);
	CHECK_EQ(counts_of(&host).without, 1);
}

/* A file with a gigabyte of .eh_frame loses its own table, and other files keep theirs. */
static void test_gigabyte(void)
{
	static const struct elves_section sections[] = {
		{ .name = ".text",
		  .type = SHT_PROGBITS,
		  .flags = SHF_ALLOC | SHF_EXECINSTR,
		  .address = ELVES_CODE },
		{ .name = ".eh_frame",
		  .type = SHT_PROGBITS,
		  .flags = SHF_ALLOC,
		  .address = ELVES_DATA },
	};
	_cleanup_(one_file_done) struct one_file file;
	_cleanup_(host_done) struct host host;
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	const uint64_t gigabyte = 1ull << 30;
	uint32_t module;

	one_file_init(&file);
	elves_make(&bytes, sections, ARRAY_SIZE(sections));
	/* the size in the header of the second section */
	memcpy(bytes.data + ELVES_SIZE + 2 * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size),
	       &gigabyte, sizeof(gigabyte));
	CHECK_EQ(file_replace(file.folder, "library", bytes.data, bytes.size), 0);
	CHECK_EQ(truncate(file.path, 2 * gigabyte), 0);
	host_init(&host, (struct unwind_tables_options){ .finder.live = true, .wait = true });
	module = add_module(&host, file.path);
	CHECK_EQ(find_code_of(&host, module).kind, STACK_CODE_WAITING);
	CHECK_EQ(counts_of(&host).failed, 1);
	CHECK_EQ(find_code_of(&host, add_this_program(&host)).kind, STACK_CODE_TABLE);
	/* it is not tried again soon, as a file is that could not be opened */
	fake_clock_pass(100 * NSEC_PER_SEC);
	CHECK_EQ(find_code_of(&host, module).kind, STACK_CODE_WAITING);
	CHECK_EQ(counts_of(&host).failed, 1);
}

/* The source tries a file that it cannot read now again, each time after a longer pause. */
static void test_retries(void)
{
	_cleanup_(one_file_done) struct one_file file;
	_cleanup_(host_done) struct host host;
	uint32_t module;

	one_file_init(&file);
	CHECK_EQ(file_replace(file.folder, "library", "no ELF", 6), 0);
	host_init(&host, (struct unwind_tables_options){ .finder.live = true, .wait = true });
	module = add_module(&host, file.path);
	for (uint64_t i = 1; i <= 3; i++) {
		CHECK_EQ(find_code_of(&host, module).kind, STACK_CODE_WAITING);
		CHECK_EQ(find_code_of(&host, module).kind, STACK_CODE_WAITING);
		CHECK_EQ(counts_of(&host).failed, i);
		fake_clock_pass(NSEC_PER_SEC << i);
	}
}

/* A table stays valid until the next turn, and comes back when it is needed later. */
static void test_evicts(void)
{
	_cleanup_(host_done) struct host host;
	uint32_t module;

	host_init(&host, (struct unwind_tables_options){
				 .finder.live = true, .wait = true, .bytes_max = 1 });
	module = add_this_program(&host);
	CHECK_EQ(find_code_of(&host, module).kind, STACK_CODE_TABLE);
	CHECK_EQ(find_code_of(&host, module).kind, STACK_CODE_TABLE);
	CHECK(counts_of(&host).bytes > 1);
	unwind_tables_turn(host.tables);
	CHECK_EQ(counts_of(&host).bytes, 0);
	CHECK_EQ(counts_of(&host).evicted, 1);
	CHECK_EQ(find_code_of(&host, module).kind, STACK_CODE_WAITING);
	fake_clock_pass(2 * NSEC_PER_SEC);
	CHECK_EQ(find_code_of(&host, module).kind, STACK_CODE_TABLE);
	CHECK_EQ(counts_of(&host).made, 2);
}

/* The source evicts a table that walks do not use before a table that walks use. */
static void test_evicts_unused(void)
{
	struct unwind_tables_options options = { .finder.live = true, .wait = true };
	_cleanup_(one_file_done) struct one_file file;
	_cleanup_(host_done) struct host host;
	struct perf_record record;
	uint32_t used, mapped;

	one_file_init(&file);
	copy_this_program(&file);
	host_init(&host, options);
	find_code_of(&host, add_this_program(&host));
	options.bytes_max = counts_of(&host).bytes * 3 / 2;
	host_done(&host);
	host_init(&host, options);
	used = add_this_program(&host);
	mapped = add_module(&host, file.path);
	CHECK_EQ(find_code_of(&host, used).kind, STACK_CODE_TABLE);
	unwind_tables_turn(host.tables);
	record = mapping_of(&host, mapped, 7);
	unwind_tables_see(host.tables, &record);
	CHECK_EQ(counts_of(&host).tables, 2);
	unwind_tables_turn(host.tables);
	CHECK_EQ(counts_of(&host).tables, 1);
	CHECK_EQ(find_code_of(&host, used).kind, STACK_CODE_TABLE);
}

static void test_vdso(void)
{
	struct tape_module vdso = { .kind = TAPE_MODULE_VDSO };
	_cleanup_(host_done) struct host host;
	uint32_t module;

	host_init(&host, (struct unwind_tables_options){ .wait = true, .own_vdso = true });
	CHECK_EQ(modules_add(&host.modules, &vdso, "[vdso]", &module), 0);
	CHECK_EQ(find_code_of(&host, module).kind, STACK_CODE_TABLE);
}

/* Generated code, and other memory that no file describes. */
static void test_bare(void)
{
	struct tape_module jit = { .kind = TAPE_MODULE_JIT };
	_cleanup_(host_done) struct host host;
	uint32_t module;

	host_init(&host, (struct unwind_tables_options){ .wait = true });
	CHECK_EQ(modules_add(&host.modules, &jit, "/tmp/perf-1.map", &module), 0);
	CHECK_EQ(find_code_of(&host, module).kind, STACK_CODE_BARE);
}

CHECK_MAIN({ "an import makes the table at once", test_waits },
	   { "a recorder gets the table from a thread", test_thread },
	   { "a mapping asks for the table", test_mapping },
	   { "a file on the inode of another one gets its own table", test_generation },
	   { "a file that changed loses its table", test_change },
	   { "a file without entries is known as such", test_without },
	   { "a gigabyte of entries costs its own table", test_gigabyte },
	   { "what cannot be read is tried again, later each time", test_retries },
	   { "tables beyond the memory are evicted between turns", test_evicts },
	   { "a table that walks use stays longer than one that none used", test_evicts_unused },
	   { "the kernel's own code has a table", test_vdso },
	   { "generated code has none", test_bare })
