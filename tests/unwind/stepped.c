// SPDX-License-Identifier: GPL-2.0-only
/*
 * Steps through a program, from its first instruction in the dynamic linker on, and walks its stack
 * at each instruction. The judge is not an unwinder, but a shadow stack that notes each call. All
 * frames of a walk must be on the shadow stack, and nearly all walks must be whole.
 *
 *   stepped PROGRAM [PRINT]
 */
#include "tests/check.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "base/array.h"
#include "symbolizer/elf-unwind.h"
#include "unwind/stack-walk.h"

#ifdef __x86_64__
#define COPY_SIZE (48u << 10)
#define SHOWN_MAX 10
/*
 * The least share of whole walks. Others are cut: the first instructions of the dynamic linker lack
 * an entry, longjmp() lacks a caller for a moment, and a handler on its own stack hides the
 * interrupted stack.
 */
#define WHOLE_SHARE_MIN 0.995

struct file_table {
	char path[PATH_MAX];
	struct buffer bytes;
	struct unwind_table table;
	bool there;
};

struct code_range {
	uint64_t start, end, offset;
	struct file_table *file;
};

/*
 * A return address and its place on the stack, or an interrupted address, whose place is
 * UINT64_MAX.
 */
struct shadow_entry {
	uint64_t place;
	uint64_t address;
};

struct stepper {
	pid_t pid;
	struct user_regs_struct before;
	array_of(struct file_table *) files;
	array_of(struct code_range) ranges;
	array_of(struct shadow_entry) shadow;
	uint8_t copy[COPY_SIZE];
	uint64_t steps, whole, skips, wrong, ends[STACK_ENDS];
};

static void stepper_done(struct stepper *stepper)
{
	for (size_t i = 0; i < stepper->files.count; i++) {
		buffer_done(&stepper->files.items[i]->bytes);
		free(stepper->files.items[i]);
	}
	array_done(&stepper->files);
	array_done(&stepper->ranges);
	array_done(&stepper->shadow);
}

/* ---- the program's code ---- */

static int make_table(const char *path, struct buffer *bytes)
{
	const Elf64_Ehdr *vdso = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	_cleanup_close_ int fd = -1;

	if (strcmp(path, "[vdso]") == 0)
		return elf_unwind_table_image(
			vdso, vdso->e_shoff + (size_t)vdso->e_shentsize * vdso->e_shnum, bytes);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : elf_unwind_table(fd, bytes);
}

static struct file_table *file_of(struct stepper *stepper, const char *path)
{
	struct file_table *file;

	for (size_t i = 0; i < stepper->files.count; i++)
		if (strcmp(stepper->files.items[i]->path, path) == 0)
			return stepper->files.items[i];
	file = calloc(1, sizeof(*file));
	CHECK(file);
	snprintf(file->path, sizeof(file->path), "%s", path);
	file->there = make_table(path, &file->bytes) == 0 &&
		      unwind_table_open(file->bytes.data, file->bytes.size, &file->table) == 0;
	CHECK_EQ(array_push(&stepper->files, file), 0);
	return file;
}

static void read_ranges(struct stepper *stepper)
{
	char line[PATH_MAX + 100], path[PATH_MAX], rights[8];
	_cleanup_fclose_ FILE *file = NULL;

	snprintf(line, sizeof(line), "/proc/%d/maps", stepper->pid);
	file = fopen(line, "re");
	CHECK(file);
	stepper->ranges.count = 0;
	while (fgets(line, sizeof(line), file)) {
		struct code_range range = { 0 };

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %4095s",
			   &range.start, &range.end, rights, &range.offset, path) != 5 ||
		    !strchr(rights, 'x'))
			continue;
		range.file = file_of(stepper, path);
		CHECK_EQ(array_push(&stepper->ranges, range), 0);
	}
}

static bool find_range(struct stepper *stepper, uint64_t address, struct stack_code *ret_code)
{
	for (size_t i = 0; i < stepper->ranges.count; i++) {
		const struct code_range *range = &stepper->ranges.items[i];

		if (address < range->start || address >= range->end)
			continue;
		*ret_code = (struct stack_code){
			range->file->there ? STACK_CODE_TABLE : STACK_CODE_BARE,
			range->start,
			range->end,
			range->offset,
			&range->file->table,
		};
		return true;
	}
	return false;
}

static bool find_code(void *context, uint64_t address, struct stack_code *ret_code)
{
	struct stepper *stepper = context;

	if (find_range(stepper, address, ret_code))
		return true;
	read_ranges(stepper);
	return find_range(stepper, address, ret_code);
}

/* ---- the shadow stack ---- */

static size_t read_memory(const struct stepper *stepper, uint64_t address, void *to, size_t size)
{
	struct iovec local = { to, size };
	size_t done = 0;

	/* the last pages of a stack end somewhere within the copy */
	while (done < size) {
		size_t part = MIN(size - done, 4096 - (address + done) % 4096);
		struct iovec remote = { (void *)(address + done), part };

		local.iov_base = (uint8_t *)to + done;
		local.iov_len = part;
		if (process_vm_readv(stepper->pid, &local, 1, &remote, 1, 0) != (ssize_t)part)
			break;
		done += part;
	}
	return done;
}

static bool is_prefix(uint8_t byte)
{
	return (byte >= 0x40 && byte <= 0x4f) || byte == 0x2e || byte == 0x3e || byte == 0xf2 ||
	       byte == 0x66 || byte == 0x67;
}

static bool is_call(const uint8_t code[16])
{
	size_t at = 0;

	while (at < 8 && is_prefix(code[at]))
		at++;
	return code[at] == 0xe8 || (code[at] == 0xff && (code[at + 1] >> 3 & 7) == 2);
}

static uint64_t word_at(const struct stepper *stepper, uint64_t address)
{
	uint64_t word = 0;

	read_memory(stepper, address, &word, sizeof(word));
	return word;
}

static void shadow_push(struct stepper *stepper, uint64_t place, uint64_t address)
{
	CHECK_EQ(array_push(&stepper->shadow, (struct shadow_entry){ place, address }), 0);
}

/* Notes the last instruction's changes of the stack. With `signalled`, a signal handler begins. */
static void shadow_update(struct stepper *stepper, const struct user_regs_struct *now,
			  bool signalled)
{
	const struct user_regs_struct *before = &stepper->before;
	uint8_t code[16] = { 0 };

	if (signalled) {
		shadow_push(stepper, UINT64_MAX, before->rip);
		shadow_push(stepper, now->rsp, word_at(stepper, now->rsp));
		return;
	}
	/*
	 * sigreturn() removes an interrupted address when it restores the registers; the loop
	 * recognises this
	 */
	while (stepper->shadow.count) {
		const struct shadow_entry *top = &stepper->shadow.items[stepper->shadow.count - 1];

		if (top->place == UINT64_MAX ? now->rip != top->address : top->place >= now->rsp)
			break;
		stepper->shadow.count--;
	}
	if (now->rsp != before->rsp - 8)
		return;
	read_memory(stepper, before->rip, code, sizeof(code));
	if (is_call(code))
		shadow_push(stepper, now->rsp, word_at(stepper, now->rsp));
}

/* ---- walks ---- */

static void set_registers(const struct user_regs_struct *from, struct user_registers *to)
{
	const uint64_t values[] = {
		from->rax, from->rdx, from->rcx, from->rbx, from->rsi, from->rdi,
		from->rbp, from->rsp, from->r8,	 from->r9,  from->r10, from->r11,
		from->r12, from->r13, from->r14, from->r15, from->rip,
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(values); i++)
		user_registers_set(to, i, values[i]);
}

/*
 * Returns whether all callers of the walk are on the shadow stack without its last `skipped`
 * entries, and whether a whole walk has all these entries.
 */
static bool is_right(const struct stepper *stepper, const struct stack_walk *walk, size_t skipped)
{
	size_t callers = walk->count - 1, count = stepper->shadow.count - skipped;

	if (callers > count || (walk->end == STACK_WHOLE && callers != count))
		return false;
	for (size_t i = 0; i < callers; i++)
		if (walk->addresses[i + 1] != stepper->shadow.items[count - 1 - i].address)
			return false;
	return true;
}

/*
 * Returns whether the walk lacks a caller. Code without entries, such as _fini(), may run before it
 * has a frame; the walk then skips its caller.
 */
static bool is_short(const struct stepper *stepper, const struct stack_walk *walk)
{
	return walk->frame_steps && stepper->shadow.count && is_right(stepper, walk, 1);
}

static void show(const struct stepper *stepper, const struct stack_walk *walk, const char *what)
{
	struct stack_code code = { 0 };
	uint64_t pc = walk->addresses[0];

	if (!find_range((struct stepper *)stepper, pc, &code))
		return;
	printf("# %s at %#" PRIx64 " of its file, after step %" PRIu64 ", end %s\n", what,
	       pc - code.start + code.offset, stepper->steps, stack_end_text(walk->end));
	for (size_t i = 0; i < MAX(walk->count, stepper->shadow.count + 1) && i < 12; i++)
		printf("#   %#14" PRIx64 " %#14" PRIx64 "\n",
		       i < walk->count ? walk->addresses[i] : 0,
		       i && i <= stepper->shadow.count
			       ? stepper->shadow.items[stepper->shadow.count - i].address
			       : 0);
}

static void walk_here(struct stepper *stepper, const struct user_regs_struct *now)
{
	uint64_t addresses[STACK_WALK_FRAMES];
	struct stack_walk walk = {
		.machine = UNWIND_X86_64,
		.copy = stepper->copy,
		.copy_size = read_memory(stepper, now->rsp, stepper->copy, COPY_SIZE),
		.copy_address = now->rsp,
		.find = find_code,
		.context = stepper,
		.addresses = addresses,
		.max = STACK_WALK_FRAMES,
	};

	set_registers(now, &walk.registers);
	stack_walk_run(&walk);
	stepper->steps++;
	stepper->ends[walk.end]++;
	if (is_short(stepper, &walk)) {
		stepper->skips++;
		return;
	}
	stepper->whole += walk.end == STACK_WHOLE;
	if (!is_right(stepper, &walk, 0)) {
		if (stepper->wrong++ < SHOWN_MAX)
			show(stepper, &walk, "a wrong stack");
	} else if (walk.end != STACK_WHOLE && stepper->steps - stepper->whole <= SHOWN_MAX) {
		show(stepper, &walk, "a cut stack");
	}
}

/* Returns the number of the signal that stopped the program, or 0 when it has ended. */
static int wait_for_step(pid_t pid)
{
	int status;

	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

static void step_through(struct stepper *stepper)
{
	int number = wait_for_step(stepper->pid), deliver = 0;

	while (number) {
		struct user_regs_struct now;

		CHECK_EQ(ptrace(PTRACE_GETREGS, stepper->pid, NULL, &now), 0);
		/* a stop for a signal comes before its handler */
		if (number == SIGTRAP) {
			if (stepper->before.rip)
				shadow_update(stepper, &now, deliver);
			walk_here(stepper, &now);
			stepper->before = now;
			deliver = 0;
		} else {
			deliver = number;
		}
		CHECK_EQ(ptrace(PTRACE_SINGLESTEP, stepper->pid, NULL, (long)deliver), 0);
		number = wait_for_step(stepper->pid);
	}
}

static const char *program;

static pid_t start_program(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid)
		return pid;
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	execle(program, program, NULL, (char *const[]){ NULL });
	_exit(126);
}

static void test_steps(void)
{
	static struct stepper stepper;

	stepper.pid = start_program();
	step_through(&stepper);
	printf("# %" PRIu64 " steps, %" PRIu64 " whole, %" PRIu64 " without one caller, %" PRIu64
	       " wrong\n",
	       stepper.steps, stepper.whole, stepper.skips, stepper.wrong);
	for (unsigned int i = 0; i < STACK_ENDS; i++)
		if (stepper.ends[i])
			printf("# %s: %" PRIu64 "\n", stack_end_text(i), stepper.ends[i]);
	stepper_done(&stepper);
	CHECK(stepper.steps > 50000);
	CHECK_EQ(stepper.wrong, 0);
	CHECK(stepper.whole >= WHOLE_SHARE_MIN * stepper.steps);
}

int main(int argc, char **argv)
{
	const struct check_test test = { "the callers of each instruction", test_steps };

	program = argc > 1 ? argv[1] : "/bin/true";
	return check_run(&test, 1);
}
#else
int main(void)
{
	printf("1..1\nok 1 - the callers of each instruction # SKIP steps through x86-64\n");
	return 0;
}
#endif
