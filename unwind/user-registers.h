/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The registers of a thread in user space, by their DWARF numbers. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum unwind_machine {
	UNWIND_X86_64 = 1,
	UNWIND_ARM64 = 2,
};
#ifdef __aarch64__
#define UNWIND_MACHINE_HERE UNWIND_ARM64
#else
#define UNWIND_MACHINE_HERE UNWIND_X86_64
#endif

/* DWARF numbers. DWARF lacks a number for arm64's program counter; 32 is perf's number. */
#define X86_64_RBX 3
#define X86_64_RBP 6
#define X86_64_RSP 7
#define X86_64_RIP 16
#define ARM64_FP 29
#define ARM64_LR 30
#define ARM64_SP 31
#define ARM64_PC 32
#define USER_REGISTERS 33

struct user_registers {
	uint64_t values[USER_REGISTERS];
	/* Bit N: the value of register N is known. */
	uint64_t known;
};

static inline bool user_registers_has(const struct user_registers *registers, unsigned int number)
{
	return number < USER_REGISTERS && (registers->known >> number & 1);
}

static inline void user_registers_set(struct user_registers *registers, unsigned int number,
				      uint64_t value)
{
	registers->values[number] = value;
	registers->known |= 1ull << number;
}

/* The numbers of the machine's special registers. */
static inline unsigned int user_register_pc(enum unwind_machine machine)
{
	return machine == UNWIND_ARM64 ? ARM64_PC : X86_64_RIP;
}

static inline unsigned int user_register_sp(enum unwind_machine machine)
{
	return machine == UNWIND_ARM64 ? ARM64_SP : X86_64_RSP;
}

static inline unsigned int user_register_frame(enum unwind_machine machine)
{
	return machine == UNWIND_ARM64 ? ARM64_FP : X86_64_RBP;
}

/* The registers that a walk can use, as perf's sample_regs_user of each machine. */
#define UNWIND_PERF_MASK_X86_64 0xff01ffull
#define UNWIND_PERF_MASK_ARM64 0x1ffffffffull

/*
 * Reads the registers of a sample (PERF_SAMPLE_REGS_USER): one word for each bit of `mask`, the
 * event's sample_regs_user, lowest first. Skips registers that a walk cannot use. Returns false if
 * `size` bytes are too few, or if the program counter or the stack pointer is missing.
 */
bool user_registers_from_perf(enum unwind_machine machine, uint64_t mask, const void *bytes,
			      size_t size, struct user_registers *ret_registers);
