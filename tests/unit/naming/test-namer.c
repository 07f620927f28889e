// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names tapes of this process: its program, a deleted copy of its program, and code that the test
 * pretends to generate.
 */
#include "tests/check.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "base/file.h"
#include "naming/namer.h"
#include "naming/process.h"
#include "tests/helpers.h"
#include "tests/tapes.h"
#include "tests/wait.h"

/* Two functions that need names. */
static int __attribute__((noinline)) namer_test_first(int a)
{
	return a * 3 + 1;
}

static int __attribute__((noinline)) namer_test_second(int a)
{
	return a * 5 + 2;
}

/* Returns the offset of a function in this program's file. */
static uint64_t file_offset(const void *function)
{
	_cleanup_free_ char *maps = NULL;
	uint64_t begin, end, offset;

	CHECK_EQ(file_read("/proc/self/maps", 16 << 20, &maps, NULL), 0);
	for (char *line = maps; line && *line; line = strchr(line, '\n') + 1) {
		CHECK_EQ(sscanf(line, "%lx-%lx %*s %lx", &begin, &end, &offset), 3);
		if ((uintptr_t)function >= begin && (uintptr_t)function < end)
			return (uintptr_t)function - begin + offset;
	}
	CHECK_FAIL("this program is not mapped");
	return 0;
}

/* Makes a tape that ends now, with one module whose file exists. */
static struct tape *make_tape(const char *path, uint32_t *ret_module)
{
	struct tape_module module = { .kind = TAPE_MODULE_ELF };
	struct tape *tape = tapes_bare(TAPES_PERF, TAPES_PERF + NSEC_PER_SEC);
	struct stat about;

	tapes_anchor(tape, TAPES_PERF, clock_ns(CLOCK_REALTIME));
	module.path = tapes_string(tape, path);
	if (stat(path, &about) == 0) {
		module.device = about.st_dev;
		module.inode = about.st_ino;
	}
	CHECK_EQ(tape_add_module(tape, &module, ret_module), 0);
	return tape;
}

static const char *name_of(const struct tape *tape, uint32_t frame)
{
	return tape_string(tape, tape->frames.items[frame].symbol);
}

static void make_namer(struct namer **ret_namer)
{
	struct finder finder = { .live = true };

	CHECK_EQ(namer_new(&finder, NULL, ret_namer), 0);
}

static void test_this_program(void)
{
	_cleanup_(cleanup_namer) struct namer *namer = NULL;
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	char path[PATH_MAX] = "";
	uint32_t module, first, second;

	CHECK(namer_test_first(1) != namer_test_second(1));
	CHECK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	make_namer(&namer);
	tape = make_tape(path, &module);
	CHECK_EQ(tape_add_frame(tape, module, file_offset(namer_test_first) + 1, &first), 0);
	CHECK_EQ(tape_add_frame(tape, module, file_offset(namer_test_second), &second), 0);
	namer_set_work(namer, 0);
	CHECK_EQ(namer_run(namer, tape), 0);
	CHECK_STR(name_of(tape, first), "");
	namer_set_work(namer, NSEC_PER_SEC);
	CHECK_EQ(namer_run(namer, tape), 0);
	CHECK(namer_work_left(namer) < NSEC_PER_SEC);
	CHECK_STR(name_of(tape, first), "namer_test_first");
	CHECK_EQ(tape->frames.items[first].offset, 1);
	CHECK_STR(name_of(tape, second), "namer_test_second");
	CHECK(tape->modules.items[module].build_id_size > 0);
}

static void copy_program(const char *path)
{
	_cleanup_free_ char *data = NULL;
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
	size_t size;

	CHECK_EQ(file_read("/proc/self/exe", 256 << 20, &data, &size), 0);
	CHECK_EQ(file_write_all(fd, data, size), 0);
}

/* Names stay known in the next tape after the file is deleted; new addresses lack a name. */
static void test_deleted(void)
{
	_cleanup_(cleanup_namer) struct namer *namer = NULL;
	char dir[] = "/tmp/perftape-namer-XXXXXX", path[64];
	struct tape_module identity = { 0 };
	uint32_t module, first, second;

	CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/program", dir);
	copy_program(path);
	make_namer(&namer);
	for (int round = 0; round < 3; round++) {
		_cleanup_(cleanup_tape) struct tape *tape = make_tape(path, &module);

		if (round == 0)
			identity = tape->modules.items[module];
		tape->modules.items[module].device = identity.device;
		tape->modules.items[module].inode = identity.inode;
		CHECK_EQ(tape_add_frame(tape, module, file_offset(namer_test_first), &first), 0);
		if (round)
			CHECK_EQ(tape_add_frame(tape, module, file_offset(namer_test_second),
						&second),
				 0);
		CHECK_EQ(namer_run(namer, tape), 0);
		CHECK_STR(name_of(tape, first), "namer_test_first");
		if (round)
			CHECK_STR(name_of(tape, second), "");
		unlink(path);
	}
	rmdir(dir);
}

/* Returns this process's pid in /proc, which may be of another namespace. */
static int proc_pid(void)
{
	char text[32] = "";

	CHECK(readlink("/proc/self", text, sizeof(text) - 1) > 0);
	return atoi(text);
}

/* Replaces a text wherever it is in a file by another text of the same length, in place. */
static void rewrite(const char *path, const char *from, const char *to)
{
	_cleanup_free_ char *data = NULL;
	_cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC);
	size_t size;

	CHECK_EQ(file_read(path, 256 << 20, &data, &size), 0);
	for (char *at = data; (at = memmem(at, data + size - at, from, strlen(from)));)
		memcpy(at, to, strlen(to));
	CHECK_EQ(file_write_all(fd, data, size), 0);
}

/* A file is overwritten in place: the names of the old content do not count any more. */
static void test_overwritten(void)
{
	_cleanup_(cleanup_namer) struct namer *namer = NULL;
	char dir[] = "/tmp/perftape-namer-XXXXXX", path[64];
	uint32_t module, first, second;

	CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/program", dir);
	copy_program(path);
	make_namer(&namer);
	for (int round = 0; round < 2; round++) {
		_cleanup_(cleanup_tape) struct tape *tape = make_tape(path, &module);

		CHECK_EQ(tape_add_frame(tape, module, file_offset(namer_test_first), &first), 0);
		if (round)
			CHECK_EQ(tape_add_frame(tape, module, file_offset(namer_test_second),
						&second),
				 0);
		CHECK_EQ(namer_run(namer, tape), 0);
		CHECK_STR(name_of(tape, first), round ? "other_test_first" : "namer_test_first");
		if (round)
			CHECK_STR(name_of(tape, second), "other_test_second");
		rewrite(path, "namer_test_", "other_test_");
	}
	unlink(path);
	rmdir(dir);
}

/* Maps a copy of this program at an address, and then deletes the copy. */
static void map_deleted(const char *path, uintptr_t at, struct tape_module *ret_module)
{
	_cleanup_close_ int fd = -1;
	struct stat about;

	copy_program(path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_EQ(fstat(fd, &about), 0);
	CHECK(mmap((void *)at, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED);
	*ret_module = (struct tape_module){ .kind = TAPE_MODULE_ELF,
					    .device = about.st_dev,
					    .inode = about.st_ino };
	unlink(path);
}

/*
 * A process maps several deleted files. The name of the searched file is the beginning of another
 * file's name, or the same name.
 */
static void test_mapped_names(void)
{
	static const struct name_helper_patience patience = NAME_HELPER_PATIENCE;
	_cleanup_(cleanup_name_helper) struct name_helper *helper = NULL;
	char dir[] = "/tmp/perftape-namer-XXXXXX", path[64], longer[80];
	struct tape_module longer_module, first, second;
	struct finder finder = { .live = true };

	CHECK(mkdtemp(dir));
	CHECK_EQ(name_helper_new(&patience, &helper), 0);
	finder.helper = helper;
	snprintf(path, sizeof(path), "%s/program", dir);
	snprintf(longer, sizeof(longer), "%s-longer", path);
	map_deleted(longer, 0x10000000, &longer_module);
	map_deleted(path, 0x10002000, &first);
	map_deleted(path, 0x10004000, &second);
	for (int i = 0; i < 2; i++) {
		_cleanup_(finder_files_close) struct finder_files files = { -1, -1 };
		struct finder_request request = { FINDER_FILE, proc_pid(), 0, i ? second : first,
						  path,	       0,	   0 };
		struct stat about;

		CHECK_EQ(finder_find_here(&finder, &request, &files), 0);
		CHECK_EQ(fstat(files.fd, &about), 0);
		CHECK_EQ(about.st_ino, request.module.inode);
	}
	for (uintptr_t at = 0x10000000; at < 0x10006000; at += 0x2000)
		munmap((void *)at, 4096);
	rmdir(dir);
}

/* Names a tape in which the generated code of this process was first sampled at a time. */
static void check_jit_at(uint64_t time_ns, const char *name)
{
	_cleanup_(cleanup_namer) struct namer *namer = NULL;
	_cleanup_(cleanup_tape) struct tape *tape =
		tapes_bare(TAPES_PERF, TAPES_PERF + NSEC_PER_SEC);
	char path[64];
	uint32_t module, frame, other;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", proc_pid());
	module = tapes_module(tape, path, TAPE_MODULE_JIT);
	CHECK_EQ(tape_add_frame(tape, module, 0x7000000010, &frame), 0);
	CHECK_EQ(tape_add_frame(tape, module, 0x7000000100, &other), 0);
	make_namer(&namer);
	tapes_anchor(tape, TAPES_PERF, time_ns);
	CHECK_EQ(array_push(&tape->samples,
			    (struct tape_sample){ .time_ns = TAPES_PERF, .frame = other }),
		 0);
	CHECK_EQ(namer_run(namer, tape), 0);
	CHECK_STR(tape_fact(tape, "unnamed"), "1 made at run time");
	CHECK_STR(name_of(tape, frame), name);
	CHECK_EQ(tape->frames.items[frame].offset, *name ? 0x10 : 0);
	CHECK_STR(name_of(tape, other), "");
}

static void check_jit(const char *name)
{
	check_jit_at(clock_ns(CLOCK_REALTIME), name);
}

/* A process that began after the sample is not the sampled process. */
static void test_pid_again(void)
{
	static const char text[] = "7000000000 20 mine\n";
	char name[64], path[80];

	snprintf(name, sizeof(name), "perf-%d.map", getpid());
	snprintf(path, sizeof(path), "/tmp/%s", name);
	CHECK_EQ(file_replace("/tmp", name, text, strlen(text)), 0);
	check_jit("mine");
	check_jit_at(clock_ns(CLOCK_REALTIME) - 3600 * NSEC_PER_SEC, "");
	unlink(path);
}

/* A process of another user, which waits until the other end of a pipe closes. */
struct victim {
	int end;
	pid_t pid;
	char path[64];
};

static void victim_start(struct victim *victim)
{
	int ends[2], ready[2];
	char byte = 0;

	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(pipe(ready), 0);
	victim->pid = fork();
	if (victim->pid == 0) {
		close(ends[1]);
		if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0 ||
		    write(ready[1], &byte, 1) != 1)
			_exit(1);
		_exit(read(ends[0], &byte, 1) != 0);
	}
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	close(ends[0]);
	close(ready[0]);
	close(ready[1]);
	victim->end = ends[1];
	snprintf(victim->path, sizeof(victim->path), "/tmp/perf-%d.map", victim->pid);
}

static void victim_end(struct victim *victim)
{
	int status;

	close(victim->end);
	CHECK_EQ(waitpid(victim->pid, &status, 0), victim->pid);
	CHECK_EQ(status, 0);
	unlink(victim->path);
}

static void write_file(const char *path, uid_t owner)
{
	static const char text[] = "7000000000 20 secret\n";
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	CHECK_EQ(file_write_all(fd, text, strlen(text)), 0);
	CHECK_EQ(fchown(fd, owner, owner), 0);
}

static bool has_map(const struct victim *victim)
{
	_cleanup_close_ int fd = process_open_perf_map(victim->pid);

	return fd >= 0;
}

/* Only a file of the process's own user is its map, neither root's file nor one behind a link. */
static void test_map_of_others(void)
{
	char secret[] = "/tmp/perftape-secret-XXXXXX", mine[] = "/tmp/perftape-mine-XXXXXX";
	struct victim victim;

	if (geteuid() != 0)
		return;
	victim_start(&victim);
	CHECK(!has_map(&victim));
	write_file(victim.path, 65534);
	CHECK(has_map(&victim));
	CHECK_EQ(chown(victim.path, 0, 0), 0);
	CHECK(!has_map(&victim));
	CHECK_EQ(unlink(victim.path), 0);
	close(mkstemp(secret));
	CHECK_EQ(unlink(secret), 0);
	write_file(secret, 0);
	CHECK_EQ(symlink(secret, victim.path), 0);
	CHECK(!has_map(&victim));
	CHECK_EQ(unlink(victim.path), 0);
	/* a file with a second name, even the user's own: users may link others' files */
	close(mkstemp(mine));
	CHECK_EQ(chown(mine, 65534, 65534), 0);
	CHECK_EQ(link(mine, victim.path), 0);
	CHECK(!has_map(&victim));
	unlink(mine);
	unlink(secret);
	victim_end(&victim);
}

static void test_perf_map(void)
{
	static const char text[] = "7000000000 20 LazyCompile:*tick app.js:1\n";
	char name[64], path[80];

	snprintf(name, sizeof(name), "perf-%d.map", getpid());
	snprintf(path, sizeof(path), "/tmp/%s", name);
	check_jit("");
	CHECK_EQ(file_replace("/tmp", name, text, strlen(text)), 0);
	check_jit("LazyCompile:*tick app.js:1");
	/* another user put this map there */
	if (geteuid() == 0) {
		CHECK_EQ(chown(path, 12345, 12345), 0);
		check_jit("");
	}
	/* any object may be in the place of a map */
	unlink(path);
	CHECK_EQ(mkfifo(path, 0600), 0);
	check_jit("");
	unlink(path);
}

/*
 * A process that ended leaves its map behind. A map that is newer than the tape's end belongs to
 * another process.
 */
static void test_left_map(void)
{
	static const char text[] = "7000000000 20 left\n";
	char name[64], path[80];
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	snprintf(name, sizeof(name), "perf-%d.map", pid);
	snprintf(path, sizeof(path), "/tmp/%s", name);
	CHECK_EQ(file_replace("/tmp", name, text, strlen(text)), 0);
	for (int later = 0; later < 2; later++) {
		_cleanup_(cleanup_namer) struct namer *namer = NULL;
		_cleanup_(cleanup_tape) struct tape *tape =
			tapes_bare(TAPES_PERF, TAPES_PERF + NSEC_PER_SEC);
		uint32_t module = tapes_module(tape, path, TAPE_MODULE_JIT), frame;

		tapes_anchor(tape, TAPES_PERF,
			     clock_ns(CLOCK_REALTIME) - (later ? 60 * NSEC_PER_SEC : 0));
		CHECK_EQ(tape_add_frame(tape, module, 0x7000000010, &frame), 0);
		make_namer(&namer);
		CHECK_EQ(namer_run(namer, tape), 0);
		CHECK_STR(name_of(tape, frame), later ? "" : "left");
	}
	unlink(path);
}

static void put_dump(struct buffer *dump)
{
	buffer_u32(dump, 0x4a695444);
	buffer_u32(dump, 1);
	buffer_u32(dump, 40);
	while (dump->size < 40)
		buffer_u8(dump, 0);
	buffer_u32(dump, 0);
	buffer_u32(dump, 56 + 5);
	for (int i = 0; i < 3; i++)
		buffer_u64(dump, 0);
	buffer_u64(dump, 0x7000000000);
	buffer_u64(dump, 0x20);
	buffer_u64(dump, 0);
	buffer_bytes(dump, "made", 5);
	CHECK(!buffer_failed(dump));
}

static void test_jitdump(void)
{
	_cleanup_(buffer_done) struct buffer dump = { 0 };
	char dir[] = "/tmp/perftape-namer-XXXXXX", name[64], path[128];
	_cleanup_close_ int fd = -1;
	void *page;

	CHECK(mkdtemp(dir));
	snprintf(name, sizeof(name), "jit-%d.dump", getpid());
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	put_dump(&dump);
	CHECK_EQ(file_replace(dir, name, dump.data, dump.size), 0);
	check_jit("");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	CHECK(page != MAP_FAILED);
	check_jit("made");
	munmap(page, 4096);
	unlink(path);
	rmdir(dir);
}

#ifdef __x86_64__
/* The smallest program with 32-bit words: it pauses in a loop. */
static int open_program32(void)
{
	static const uint8_t code[] = { 0xb8, 29, 0, 0, 0, 0xcd, 0x80, 0xeb, 0xf7 };
	Elf32_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_EXEC,
		.e_machine = EM_386,
		.e_version = EV_CURRENT,
		.e_entry = 0x8048000 + sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr),
		.e_phoff = sizeof(Elf32_Ehdr),
		.e_ehsize = sizeof(Elf32_Ehdr),
		.e_phentsize = sizeof(Elf32_Phdr),
		.e_phnum = 1,
	};
	Elf32_Phdr segment = { PT_LOAD, 0, 0x8048000, 0x8048000, 4096, 4096, PF_R | PF_X, 4096 };
	_cleanup_(buffer_done) struct buffer file = { 0 };
	int fd = memfd_create("program32", 0);

	buffer_bytes(&file, &header, sizeof(header));
	buffer_bytes(&file, &segment, sizeof(segment));
	buffer_bytes(&file, code, sizeof(code));
	while (file.size < 4096)
		buffer_u8(&file, 0);
	CHECK_EQ(file_write_all(fd, file.data, file.size), 0);
	return fd;
}

static void test_32bit(void)
{
	_cleanup_close_ int fd = open_program32();
	char *const none[] = { NULL };
	bool wide = true;
	int status = 0;
	pid_t pid;

	CHECK(process_is_64bit(proc_pid()));
	/* a process that does not exist counts as one with 64-bit words */
	CHECK(process_is_64bit(INT32_MAX));
	pid = fork();
	if (pid == 0) {
		fexecve(fd, none, none);
		_exit(errno == ENOEXEC ? 1 : 2);
	}
	WAIT_UNTIL(!(wide = process_is_64bit(pid)) || waitpid(pid, &status, WNOHANG) == pid);
	if (wide) {
		/* a kernel that cannot run 32-bit programs does not have such processes either */
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
		return;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
#endif

/* A BPF program that was unloaded keeps the name that the kernel reported. */
static void test_made_by_kernel(void)
{
	static const char name[] = "bpf_prog_6deef7357e7b4530_sd_fw_egress";
	_cleanup_(cleanup_namer) struct namer *namer = NULL;
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 1);
	uint32_t module = tapes_module(tape, name, TAPE_MODULE_KERNEL), frame;

	CHECK_EQ(tape_add_frame(tape, module, 0xffffffffdead0010, &frame), 0);
	make_namer(&namer);
	CHECK_EQ(namer_run(namer, tape), 0);
	CHECK_STR(name_of(tape, frame), name);
	CHECK_EQ(tape->frames.items[frame].offset, 0);
}

/*
 * The fact "unnamed" counts each frame as often as samples contain it, callers and leaves. A frame
 * that gets a name no longer counts.
 */
static void test_unnamed(void)
{
	_cleanup_(cleanup_namer) struct namer *namer = NULL;
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	uint32_t gone, folder, frames[3], stack = 0, none;

	tape = make_tape("/tmp/perftape-is-not-there", &gone);
	folder = tapes_module(tape, "/tmp", TAPE_MODULE_ELF);
	CHECK_EQ(tape_add_frame(tape, gone, 0x10, &frames[0]), 0);
	CHECK_EQ(tape_add_frame(tape, gone, 0x20, &frames[1]), 0);
	CHECK_EQ(tape_add_frame(tape, folder, 0x20, &frames[2]), 0);
	CHECK_EQ(tape_add_no_stack(tape, &none), 0);
	CHECK_EQ(tape_add_stack(tape, 0, frames[0], &stack), 0);
	CHECK_EQ(tape_add_stack(tape, stack, frames[1], &stack), 0);
	CHECK_EQ(array_push(&tape->samples, (struct tape_sample){ .stack = stack }), 0);
	CHECK_EQ(array_push(&tape->samples,
			    (struct tape_sample){ .stack = stack, .frame = frames[2] }),
		 0);
	CHECK_EQ(array_push(&tape->samples, (struct tape_sample){ .frame = none }), 0);
	make_namer(&namer);
	CHECK_EQ(namer_run(namer, tape), 0);
	CHECK_STR(tape_fact(tape, "unnamed"),
		  "4 gone before they were opened, 1 of files that changed, 1 in no known mapping");
	CHECK_STR(tape_fact(tape, "unnamed gone before they were opened"),
		  "/tmp/perftape-is-not-there");
	CHECK_STR(tape_fact(tape, "unnamed of files that changed"), "/tmp");
	CHECK_STR(tape_fact(tape, "unnamed in no known mapping"), "");
	for (size_t i = 0; i < tape->frames.count; i++)
		CHECK_EQ(strings_add(&tape->strings, "name", 4, &tape->frames.items[i].symbol), 0);
	CHECK_EQ(namer_run(namer, tape), 0);
	CHECK_STR(tape_fact(tape, "unnamed"), "");
	CHECK_STR(tape_fact(tape, "unnamed of files that changed"), "");
}

CHECK_MAIN({ "functions of this program get names", test_this_program },
	   { "a deleted file keeps the names that are known", test_deleted },
	   { "a file that is overwritten gives new names", test_overwritten },
	   { "a mapped file is found among others of its name", test_mapped_names },
	   { "a perf map gives names", test_perf_map },
	   { "a perf map of a process that ended gives names", test_left_map },
	   { "a process that began later has no map of this code", test_pid_again },
	   { "a map is a file of the process's user", test_map_of_others },
	   { "a jitdump gives names", test_jitdump },
	   { "code that the kernel generated keeps its name", test_made_by_kernel },
	   { "reasons why frames have no name are counted", test_unnamed },
#ifdef __x86_64__
	   { "processes of 32 bits are recognized", test_32bit },
#endif
)
