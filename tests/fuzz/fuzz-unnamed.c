// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads any text as the facts that state why frames lack a name. The number of frames must stay,
 * and the text must be printable.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "query/coverage/unnamed-text.h"

#define FRAMES 7

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Adds the fact "unnamed" with the text, and a fact whose name contains the text and whose value is
 * a path.
 */
static struct tape *make_tape(const char *text)
{
	_cleanup_(buffer_done) struct buffer key = { 0 };
	struct tape_module module = { .kind = TAPE_MODULE_ELF };
	struct tape *tape;
	uint32_t id;

	buffer_printf(&key, "unnamed %s", text);
	buffer_u8(&key, 0);
	if (buffer_failed(&key) || tape_new(&tape) < 0 ||
	    strings_add(&tape->strings, "/a", 2, &module.path) < 0 ||
	    tape_add_module(tape, &module, &id) < 0 ||
	    strings_add(&tape->strings, "/b", 2, &module.path) < 0 ||
	    tape_add_module(tape, &module, &id) < 0 || tape_add_fact(tape, "unnamed", text) < 0 ||
	    tape_add_fact(tape, (const char *)key.data, "/b") < 0)
		abort();
	return tape;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t frames[] = { 0, FRAMES, FRAMES };
	_cleanup_free_ char *text = strndup((const char *)data, size);
	_cleanup_(cleanup_tape) struct tape *tape = text ? make_tape(text) : NULL;
	_cleanup_(buffer_done) struct buffer shown = { 0 };
	struct unnamed_text unnamed = { 0 };
	uint64_t sum = 0;

	if (!tape || unnamed_text_add(&unnamed, tape, frames) < 0)
		abort();
	for (size_t i = 0; i < unnamed.count; i++)
		sum += unnamed.items[i].frames;
	unnamed_text_describe(&unnamed, &shown);
	if (sum != 2 * FRAMES || buffer_failed(&shown))
		abort();
	for (size_t i = 0; i < shown.size; i++)
		if (shown.data[i] < ' ' || shown.data[i] == 0x7f)
			abort();
	return 0;
}
