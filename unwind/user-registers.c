// SPDX-License-Identifier: GPL-2.0-only
#include "unwind/user-registers.h"

#include "base/bytes.h"
#include "base/cleanup.h"

#define NO_NUMBER 0xff

/* The DWARF number for each of perf's register numbers. */
static const uint8_t x86_64_numbers[] = {
	0, /* ax */
	3, /* bx */
	2, /* cx */
	1, /* dx */
	4, /* si */
	5, /* di */
	6, /* bp */
	7, /* sp */
	16, /* ip */
	NO_NUMBER, /* flags */
	NO_NUMBER, /* cs */
	NO_NUMBER, /* ss */
	NO_NUMBER, /* ds */
	NO_NUMBER, /* es */
	NO_NUMBER, /* fs */
	NO_NUMBER, /* gs */
	8,	   9, 10, 11, 12, 13, 14, 15,
};

static unsigned int dwarf_number_of(enum unwind_machine machine, unsigned int perf_number)
{
	if (machine == UNWIND_ARM64)
		return perf_number < USER_REGISTERS ? perf_number : NO_NUMBER;
	return perf_number < ARRAY_SIZE(x86_64_numbers) ? x86_64_numbers[perf_number] : NO_NUMBER;
}

bool user_registers_from_perf(enum unwind_machine machine, uint64_t mask, const void *bytes,
			      size_t size, struct user_registers *ret_registers)
{
	struct user_registers registers = { .known = 0 };
	struct reader reader;

	reader_init(&reader, bytes, size);
	for (unsigned int i = 0; i < 64; i++) {
		unsigned int number = dwarf_number_of(machine, i);
		uint64_t value;

		if (!(mask >> i & 1))
			continue;
		value = reader_u64(&reader);
		if (number < USER_REGISTERS)
			user_registers_set(&registers, number, value);
	}
	if (reader_failed(&reader) || !user_registers_has(&registers, user_register_pc(machine)) ||
	    !user_registers_has(&registers, user_register_sp(machine)))
		return false;
	*ret_registers = registers;
	return true;
}
