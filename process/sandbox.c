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
/* Allows a system call if an argument has that value. */
#define ALLOW_IF(number, i, value)                                            \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##number, 0, 4), ARGUMENT(i), \
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1),           \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW), NUMBER
/* Allows a system call if an argument has none of these bits. */
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
	/* questions, files and answers */
	ALLOW(pread64),
	ALLOW(recvmsg),
	ALLOW(sendmsg),
	ALLOW(close),
	ALLOW(fstat),
	/* fstat() of newer C libraries */
	ALLOW_IF(newfstatat, 3, AT_EMPTY_PATH),
	/* libelf asks whether a descriptor is open */
	ALLOW_IF(fcntl, 1, F_GETFD),
	/* memory, but no new code */
	ALLOW(brk),
	ALLOW_WITHOUT(mmap, 2, PROT_EXEC),
	/* the heap of musl, and that of older C libraries when it is full */
	ALLOW_WITHOUT(mprotect, 2, PROT_EXEC),
	ALLOW(munmap),
	ALLOW(mremap),
	ALLOW(madvise),
	/* keys of hashes and of the heap */
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
/* The other parts of the sandbox hold on other machines, too. */
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
 * The first qsort() of a large array asks how much memory the machine has, and older C libraries
 * open a file for that.
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
	if (r == 0)
		r = sandbox_limit(RLIMIT_CORE, 0);
	if (r == 0)
		r = sandbox_limit(RLIMIT_CPU, limits->cpu_seconds);
	if (r == 0)
		r = sandbox_limit(RLIMIT_NOFILE, limits->files);
#ifndef SANITIZED
	if (r == 0)
		r = sandbox_limit(RLIMIT_AS, limits->memory_bytes);
#endif
	return r < 0 ? r : sandbox_filter();
}
