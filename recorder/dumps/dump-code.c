// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/dumps/dump-code.h"

#include <string.h>

#include "base/hash.h"

/* Addresses of the same 64 KB share an entry. */
#define PART_SHIFT 16

void dump_codes_forget(struct dump_codes *codes)
{
	memset(codes->entries, 0, sizeof(codes->entries));
}

/*
 * Finds a mapping. Also searches the old mappings during an exec, when the stack is still in the
 * old program.
 */
static const struct mapping *dump_code_mapping(const struct tracker_process *process,
					       uint64_t address)
{
	const struct mapping *mapping = maps_find(process->maps, address);

	return mapping || !process->before ? mapping : maps_find(process->before, address);
}

static bool dump_code_look_up(const struct dump_code *code, const struct tracker_process *process,
			      uint64_t address, struct stack_code *ret_code)
{
	const struct mapping *mapping = dump_code_mapping(process, address);

	if (!mapping)
		return false;
	*ret_code = (struct stack_code){ .start = mapping->start,
					 .end = mapping->end,
					 .offset = mapping->offset };
	unwind_tables_find(code->codes->tables, &code->codes->tracker->modules, mapping->module,
			   code->pid, ret_code);
	return true;
}

bool dump_code_find(void *context, uint64_t address, struct stack_code *ret_code)
{
	const struct dump_code *code = context;
	const struct tracker_process *process = tracker_process(code->codes->tracker, code->pid);
	struct dump_code_entry *entry;
	uint64_t version;

	if (!process)
		return false;
	version = process->maps->version + 1;
	entry = &code->codes->entries[hash_numbers(version, address >> PART_SHIFT) % DUMP_CODES];
	if (!process->before && entry->version == version &&
	    address - entry->code.start < entry->code.end - entry->code.start) {
		*ret_code = entry->code;
		return true;
	}
	if (!dump_code_look_up(code, process, address, ret_code))
		return false;
	/* a table that is not ready may come, and each walk must ask for it until then */
	if (!process->before && ret_code->kind != STACK_CODE_WAITING)
		*entry = (struct dump_code_entry){ version, *ret_code };
	return true;
}
