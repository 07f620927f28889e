// SPDX-License-Identifier: GPL-2.0-only
#include "process/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "process/helper.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
	__has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* Allows a system call. */
#define ALLOW(number)                                            \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##number, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define ARGUMENT(i) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[i]))
#define NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
/* Allows a system call if argument `i` is `value`. */
#define ALLOW_IF(number, i, value)                                            \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##number, 0, 4), ARGUMENT(i), \
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1),           \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW), NUMBER
/* Allows a system call if all `bits` of argument `i` are 0. */
#define ALLOW_WITHOUT(number, i, bits)                                        \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##number, 0, 4), ARGUMENT(i), \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 1, 0),           \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW), NUMBER

#ifdef ARCHITECTURE
static const struct sock_filter filter[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	NUMBER,
	/* to receive questions and files, to read these files, and to answer */
	ALLOW(pread64),
	/* unwind tables, into memory that the parent made */
	ALLOW(pwrite64),
	ALLOW(recvmsg),
	ALLOW(sendmsg),
	ALLOW(close),
	ALLOW(fstat),
	/* newer C libraries implement fstat() with this call */
	ALLOW_IF(newfstatat, 3, AT_EMPTY_PATH),
	/* libelf asks whether a descriptor is open */
	ALLOW_IF(fcntl, 1, F_GETFD),
	/* the heap, and other memory that is not executable */
	ALLOW(brk),
	ALLOW_WITHOUT(mmap, 2, PROT_EXEC),
	/* for the heap of musl, and for a full heap of older C libraries */
	ALLOW_WITHOUT(mprotect, 2, PROT_EXEC),
	ALLOW(munmap),
	ALLOW(mremap),
	ALLOW(madvise),
	/* for the random keys of hash tables and of the heap */
	ALLOW(getrandom),
	/* qsort() asks how much memory there is */
	ALLOW(sysinfo),
	ALLOW(exit_group),
#ifdef SANITIZED
	ALLOW(clock_gettime),
	ALLOW(futex),
	ALLOW(getpid),
	ALLOW(gettid),
	ALLOW(openat),
	ALLOW(prctl),
	ALLOW(read),
	ALLOW(readlink),
	ALLOW(rt_sigaction),
	ALLOW(rt_sigprocmask),
	ALLOW(sched_yield),
	ALLOW(sigaltstack),
	ALLOW(write),
#endif
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static int sandbox_filter(void)
{
	const struct sock_fprog program = { ARRAY_SIZE(filter), (struct sock_filter *)filter };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}
#else
/* The filter exists only for known machines. The other parts of the sandbox work on all. */
static int sandbox_filter(void)
{
	return 0;
}
#endif

static int sandbox_limit(int what, rlim_t value)
{
	const struct rlimit limit = { value, value };

	return setrlimit(what, &limit) < 0 ? -errno : 0;
}

static int sandbox_compare(const void *a, const void *b)
{
	return *(const unsigned char *)a - *(const unsigned char *)b;
}

/*
 * Calls qsort() once before the filter, because the first qsort() of a large array asks for the
 * machine's memory size. Older C libraries open a file for that.
 */
static void sandbox_warm_up(void)
{
	unsigned char bytes[4096] = { 1 };

	qsort(bytes, sizeof(bytes), 1, sandbox_compare);
}

int sandbox_enter(const struct sandbox_limits *limits)
{
	int r = helper_keep_rights(0);

	sandbox_warm_up();
	if (r < 0)
		return r;
	r = sandbox_limit(RLIMIT_CORE, 0);
	if (r < 0)
		return r;
	r = sandbox_limit(RLIMIT_CPU, limits->cpu_seconds);
	if (r < 0)
		return r;
	r = sandbox_limit(RLIMIT_NOFILE, limits->files);
	if (r < 0)
		return r;
#ifndef SANITIZED
	r = sandbox_limit(RLIMIT_AS, limits->memory_bytes);
#endif
	return r < 0 ? r : sandbox_filter();
}
