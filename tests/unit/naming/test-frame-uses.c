// SPDX-License-Identifier: GPL-2.0-only
/*
 * Callers are looked up one byte before their address; leaves, and code that was interrupted, at
 * their address. The program and the kernel are files of the test. Their functions follow each
 * other without a gap, so the first byte of each function shows where a name was looked up.
 */
#include "tests/helpers.h"
#include "tests/check.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/file.h"
#include "naming/namer.h"
#include "symbolizer/trampolines.h"
#include "tests/elves.h"
#include "tests/tapes.h"

#define KERNEL 0xffffffff81000000ull
/* Offsets in the file at which functions of 16 bytes begin. */
enum { MAIN = 0x1100, WORK = 0x1110, HANDLER = 0x1120, BEFORE = 0x1130, RESTORE = 0x1140 };

static const uint8_t build_id[] = { 0xab, 0xcd, 0xef };

static void put_symbol(struct buffer *symbols, struct buffer *strings, const char *name,
		       uint64_t offset)
{
	Elf64_Sym symbol = { .st_name = strings->size,
			     .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
			     .st_shndx = 1,
			     .st_value = ELVES_BASE + offset,
			     .st_size = 16 };

	buffer_bytes(symbols, &symbol, sizeof(symbol));
	buffer_bytes(strings, name, strlen(name) + 1);
}

static void put_program(const char *path)
{
	_cleanup_(buffer_done) struct buffer symbols = { 0 }, strings = { 0 }, file = { 0 };
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	put_symbol(&symbols, &strings, "", 0);
	put_symbol(&symbols, &strings, "main", MAIN);
	put_symbol(&symbols, &strings, "work", WORK);
	put_symbol(&symbols, &strings, "handler", HANDLER);
	put_symbol(&symbols, &strings, "before", BEFORE);
	put_symbol(&symbols, &strings, "__restore_rt", RESTORE);
	elves_make(
		&file,
		(struct elves_section[]){
			{ ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, ELVES_CODE, 0, NULL },
			{ ".symtab", SHT_SYMTAB, 0, ELVES_DATA, 3, &symbols },
			{ ".strtab", SHT_STRTAB, 0, ELVES_DATA + 0x1000, 0, &strings } },
		3);
	CHECK_EQ(file_write_all(fd, file.data, file.size), 0);
}

/* Kernel functions of 16 bytes from KERNEL on. */
static void put_kernel(const char *dir)
{
	static const char text[] = "ffffffff81000000 T _text\n"
				   "ffffffff81000010 T do_syscall_64\n"
				   "ffffffff81000020 T asm_sysvec_apic_timer_interrupt\n"
				   "ffffffff81000030 T handle_softirqs\n"
				   "ffffffff81000040 T make_task_dead\n"
				   "ffffffff81000050 T __pfx_clear_bss\n"
				   "ffffffff81000060 T clear_bss\n";
	char path[160];

	snprintf(path, sizeof(path), "%s/[kernel.kallsyms]/abcdef", dir);
	CHECK_EQ(file_make_dirs(path, 0700), 0);
	CHECK_EQ(file_replace(path, "kallsyms", text, strlen(text)), 0);
}

/* A tape with the program and the kernel as modules, and a namer that finds both. */
struct fixture {
	struct tapes_store dir;
	char program[128];
	struct namer *namer;
	struct tape *tape;
	uint32_t elf, kernel;
};

static void fixture_start_tape(struct fixture *fixture)
{
	struct tape *tape = tapes_bare(TAPES_PERF, TAPES_PERF + NSEC_PER_SEC);
	struct tape_module elf = { .kind = TAPE_MODULE_ELF };
	struct tape_module kernel = { .kind = TAPE_MODULE_KERNEL,
				      .build_id_size = sizeof(build_id) };
	struct stat about;

	tapes_anchor(tape, TAPES_PERF, clock_ns(CLOCK_REALTIME));
	CHECK_EQ(stat(fixture->program, &about), 0);
	elf.path = tapes_string(tape, fixture->program);
	elf.device = about.st_dev;
	elf.inode = about.st_ino;
	kernel.path = tapes_string(tape, "[kernel.kallsyms]");
	memcpy(kernel.build_id, build_id, sizeof(build_id));
	CHECK_EQ(tape_add_module(tape, &elf, &fixture->elf), 0);
	CHECK_EQ(tape_add_module(tape, &kernel, &fixture->kernel), 0);
	fixture->tape = tape;
}

static void fixture_start(struct fixture *fixture)
{
	struct finder finder = { .debug_dir = fixture->dir.path };

	tapes_store_init(&fixture->dir);
	snprintf(fixture->program, sizeof(fixture->program), "%s/program", fixture->dir.path);
	put_program(fixture->program);
	put_kernel(fixture->dir.path);
	CHECK_EQ(namer_new(&finder, NULL, &fixture->namer), 0);
	fixture_start_tape(fixture);
}

static void fixture_done(struct fixture *fixture)
{
	namer_free(fixture->namer);
	tape_free(fixture->tape);
	tapes_store_done(&fixture->dir);
}

static uint32_t user(struct fixture *fixture, uint32_t parent, uint64_t address)
{
	return tapes_call(fixture->tape, parent, fixture->elf, address, "");
}

static uint32_t kernel(struct fixture *fixture, uint32_t parent, uint64_t offset)
{
	return tapes_call(fixture->tape, parent, fixture->kernel, KERNEL + offset, "");
}

static void put_sample(struct fixture *fixture, uint32_t stack)
{
	tapes_sample(fixture->tape, TAPES_PERF, 0, 0, stack);
}

static void put_frame(const struct tape *tape, uint32_t frame, char *text, size_t size)
{
	const struct tape_frame *row = &tape->frames.items[frame];
	size_t used = strlen(text);

	snprintf(text + used, size - used, "%s%s+%lx", used ? ";" : "",
		 tape_string(tape, row->symbol), (unsigned long)row->offset);
}

/*
 * Names the tape and compares the frames of a sample, from the leaf on: "name+offset;name+offset".
 */
static void check_sample(const struct tape *tape, size_t i, const char *frames)
{
	char text[512] = "";

	put_frame(tape, tape->samples.items[i].frame, text, sizeof(text));
	for (uint32_t stack = tape->samples.items[i].stack; stack;
	     stack = tape->stacks.items[stack].parent)
		put_frame(tape, tape->stacks.items[stack].frame, text, sizeof(text));
	CHECK_STR(text, frames);
}

/* Both tables are sorted, so a search finds each name in them. */
static void test_trampolines(void)
{
	static const char *const signals[] = { "__restore_rt",
					       "__restore",
					       "__kernel_rt_sigreturn",
					       "__kernel_sigreturn",
					       "__kernel_sigreturn_v2",
					       "__kernel_sigtramp_rt64",
					       "__vdso_rt_sigreturn",
					       "__default_rt_sa_restorer",
					       "__default_sa_restorer",
					       "runtime.sigreturn__sigaction.abi0",
					       "__kernel_rt_sigreturn_v2" };
	static const char *const interrupts[] = {
		"asm_exc_page_fault",	   "asm_sysvec_call_function",
		"asm_common_interrupt",	   "alignment_check",
		"xen_hvm_callback_vector", "el1h_64_irq",
		"apic_timer_interrupt",	   "page_fault",
		"ret_from_intr",	   "nmi"
	};
	static const char *const others[] = {
		"",	  "main",	    "restore",	     "sigreturn", "asm_load_gs_index",
		"do_IRQ", "[a.out+0x1000]", "exc_page_fault"
	};

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		CHECK(trampoline_is_signal(signals[i]) && !trampoline_is_interrupt(signals[i]));
	for (size_t i = 0; i < ARRAY_SIZE(interrupts); i++)
		CHECK(trampoline_is_interrupt(interrupts[i]) &&
		      !trampoline_is_signal(interrupts[i]));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		CHECK(!trampoline_is_interrupt(others[i]) && !trampoline_is_signal(others[i]));
}

/* If a call is the last instruction of its function, it returns to the next function. */
static void test_last_call(void)
{
	_cleanup_(fixture_done) struct fixture fixture = { 0 };
	uint32_t caller;

	fixture_start(&fixture);
	caller = kernel(&fixture, user(&fixture, user(&fixture, 0, MAIN + 4), WORK), 0x50);
	put_sample(&fixture, kernel(&fixture, caller, 0x60));
	put_sample(&fixture, user(&fixture, user(&fixture, 0, WORK), HANDLER));
	CHECK_EQ(namer_run(fixture.namer, fixture.tape), 0);
	/* the innermost frame in user space is where the kernel was entered */
	check_sample(fixture.tape, 0, "clear_bss+0;make_task_dead+10;work+0;main+4");
	check_sample(fixture.tape, 1, "handler+0;main+10");
	/* the addresses in the tape stay those of the callchain */
	CHECK_EQ(fixture.tape->frames.items[fixture.tape->samples.items[1].frame].address, HANDLER);
}

/* A leaf and a caller may have the same address; each has its own name. */
static void test_same_address(void)
{
	_cleanup_(fixture_done) struct fixture fixture = { 0 };
	size_t frames;

	fixture_start(&fixture);
	put_sample(&fixture, user(&fixture, 0, WORK));
	put_sample(&fixture, user(&fixture, user(&fixture, 0, WORK), HANDLER + 4));
	put_sample(&fixture, user(&fixture, user(&fixture, 0, WORK + 4), HANDLER + 4));
	frames = fixture.tape->frames.count;
	for (int round = 0; round < 2; round++) {
		CHECK_EQ(namer_run(fixture.namer, fixture.tape), 0);
		check_sample(fixture.tape, 0, "work+0");
		check_sample(fixture.tape, 1, "handler+4;main+10");
		check_sample(fixture.tape, 2, "handler+4;work+4");
		CHECK_EQ(fixture.tape->frames.count, frames + 1);
	}
}

/*
 * A handler returns to the first byte of the trampoline. Where a signal or an interrupt stopped
 * code, the address is the next instruction, not the return address of a call.
 */
static void test_interrupted(void)
{
	_cleanup_(fixture_done) struct fixture fixture = { 0 };
	uint32_t stack;

	fixture_start(&fixture);
	stack = user(&fixture, user(&fixture, 0, MAIN + 8), HANDLER);
	put_sample(&fixture, user(&fixture, user(&fixture, stack, RESTORE), HANDLER + 1));
	put_sample(&fixture, user(&fixture, stack, RESTORE + 2));
	stack = kernel(&fixture, kernel(&fixture, 0, 0x18), 0x40);
	put_sample(&fixture, kernel(&fixture, kernel(&fixture, stack, 0x28), 0x30));
	/* the same address, after a call instead of an interrupt */
	put_sample(&fixture, kernel(&fixture, stack, 0x60));
	put_sample(&fixture, user(&fixture, user(&fixture, 0, HANDLER), WORK));
	CHECK_EQ(namer_run(fixture.namer, fixture.tape), 0);
	check_sample(fixture.tape, 0, "handler+1;__restore_rt+0;handler+0;main+8");
	check_sample(fixture.tape, 1, "__restore_rt+2;handler+0;main+8");
	/* with the same callers, the address stays that of a caller */
	check_sample(fixture.tape, 3, "clear_bss+0;handle_softirqs+10;do_syscall_64+8");
	check_sample(fixture.tape, 4, "work+0;work+10");
}

static void test_interrupted_kernel(void)
{
	_cleanup_(fixture_done) struct fixture fixture = { 0 };
	uint32_t stack;

	fixture_start(&fixture);
	stack = kernel(&fixture, kernel(&fixture, 0, 0x18), 0x40);
	put_sample(&fixture, kernel(&fixture, kernel(&fixture, stack, 0x28), 0x30));
	put_sample(&fixture, kernel(&fixture, kernel(&fixture, 0, 0x40), 0x60));
	CHECK_EQ(namer_run(fixture.namer, fixture.tape), 0);
	check_sample(fixture.tape, 0,
		     "handle_softirqs+0;asm_sysvec_apic_timer_interrupt+8;make_task_dead+0;"
		     "do_syscall_64+8");
	check_sample(fixture.tape, 1, "clear_bss+0;handle_softirqs+10");
}

/* Names of an earlier version stay as they are, also for callers. */
static void test_names_stay(void)
{
	_cleanup_(fixture_done) struct fixture fixture = { 0 };
	uint32_t caller;

	fixture_start(&fixture);
	caller = user(&fixture, 0, WORK);
	put_sample(&fixture, user(&fixture, caller, HANDLER));
	put_sample(&fixture, caller);
	fixture.tape->frames.items[fixture.tape->stacks.items[caller].frame].symbol =
		tapes_string(fixture.tape, "earlier");
	CHECK_EQ(namer_run(fixture.namer, fixture.tape), 0);
	check_sample(fixture.tape, 0, "handler+0;earlier+0");
	check_sample(fixture.tape, 1, "earlier+0");
}

CHECK_MAIN({ "trampolines are known by their names", test_trampolines },
	   { "a caller is looked up before its address, a leaf at it", test_last_call },
	   { "a leaf and a caller of one address get two names", test_same_address },
	   { "frames under a signal's handler are looked up at their address", test_interrupted },
	   { "frames under an interrupt are looked up at their address", test_interrupted_kernel },
	   { "frames keep names of an earlier version", test_names_stay })
