// SPDX-License-Identifier: GPL-2.0-only
/*
 * Walks with any bytes as a table, a copy of a stack, and registers: u8 number of words, u16 size
 * of the table, the table, the words, and where each register points. A walk must end and read only
 * these bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "unwind/stack-walk.h"

/* The file's code is mapped here, and generated code behind it. */
#define CODE 0x555500000000ull
#define CODE_END 0x555500004000ull
#define BARE_END 0x555500006000ull
#define STACK 0x7ffc00001000ull

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool find(void *context, uint64_t address, struct stack_code *ret_code)
{
	const struct unwind_table *table = context;

	*ret_code = (struct stack_code){ STACK_CODE_TABLE, CODE, CODE_END, table->base + 0x1000,
					 table };
	if (address >= CODE_END)
		*ret_code = (struct stack_code){ STACK_CODE_BARE, CODE_END, BARE_END, 0, NULL };
	return address >= CODE && address < BARE_END;
}

static void walk(const struct unwind_table *table, struct reader *input, unsigned int words)
{
	const uint8_t *stack = reader_take(input, words * 8);
	_cleanup_free_ uint8_t *copy = malloc(words * 8 + 1);
	uint64_t addresses[16];
	struct stack_walk walk = { .machine = table->machine,
				   .copy = copy,
				   .copy_size = words * 8,
				   .copy_address = STACK,
				   .find = find,
				   .context = (void *)table,
				   .addresses = addresses,
				   .max = ARRAY_SIZE(addresses) };

	if (!stack || !copy)
		return;
	memcpy(copy, stack, words * 8);
	/* registers that often point into the stack */
	for (unsigned int i = 0; i < USER_REGISTERS; i++)
		user_registers_set(&walk.registers, i, STACK + 8 * reader_u8(input));
	user_registers_set(&walk.registers, user_register_pc(walk.machine),
			   CODE + reader_u16(input));
	user_registers_set(&walk.registers, user_register_sp(walk.machine), STACK);
	stack_walk_run(&walk);
	if (!walk.count || walk.count > walk.max || walk.end >= STACK_ENDS ||
	    !*stack_end_text(walk.end))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_table table;
	struct reader input;
	uint32_t table_size;
	const void *bytes;
	unsigned int words;

	reader_init(&input, data, size);
	words = reader_u8(&input);
	table_size = reader_u16(&input);
	bytes = reader_take(&input, table_size);
	if (bytes && unwind_table_open(bytes, table_size, &table) == 0)
		walk(&table, &input, words);
	return 0;
}
