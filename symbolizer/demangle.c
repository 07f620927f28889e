// SPDX-License-Identifier: GPL-2.0-only
/*
 * Demangles names as perf does: Rust (both manglings, without the hash), C++ without parameters,
 * OCaml.
 *
 * A name of 200 bytes can expand until memory is full, because each back reference may double it.
 * So the demanglers deliver their text in pieces. When the text becomes too long, longjmp() leaves
 * the demangler, which does not hold heap memory at that time.
 */
#include "symbolizer/demangle.h"

#include <libiberty/demangle.h>

#include <ctype.h>
#include <errno.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"

#define DEMANGLED_MAX (64 * 1024)

struct output {
	struct buffer text;
	jmp_buf too_much;
};

static void demangle_put(const char *text, size_t size, void *opaque)
{
	struct output *output = opaque;

	if (output->text.size + size > DEMANGLED_MAX)
		longjmp(output->too_much, 1);
	buffer_bytes(&output->text, text, size);
}

/*
 * Returns whether libiberty would run for years on a Rust name: libiberty counts each lifetime of a
 * type, up to 2^64, even if it does not print lifetimes. The number follows "FG" or "DG", in base
 * 62. Real types have at most 62 * 62 lifetimes. Another name that contains such a text stays
 * mangled.
 */
static bool has_many_lifetimes(const char *name)
{
	for (const char *at = strchr(name, 'G'); at; at = strchr(at + 1, 'G')) {
		size_t digits = 1;

		if (at == name || (at[-1] != 'F' && at[-1] != 'D'))
			continue;
		while (isalnum((unsigned char)at[digits]))
			digits++;
		if (digits > 3 && at[digits] == '_')
			return true;
	}
	return false;
}

/*
 * Returns false if the name is not mangled or is too long. The output may then contain a part of
 * the name.
 */
static bool demangle_into(struct output *output, const char *name)
{
	if (setjmp(output->too_much))
		return false;
	if (strncmp(name, "_R", 2) == 0 && has_many_lifetimes(name))
		return false;
	/*
	 * try Rust first: its older mangling is also valid C++, but C++ would show the hash and the
	 * escapes
	 */
	if (rust_demangle_callback(name, DMGL_NO_OPTS, demangle_put, output))
		return true;
	output->text.size = 0;
	return cplus_demangle_v3_callback(name, DMGL_NO_OPTS, demangle_put, output);
}

/*
 * Demangles "camlStdlib__List__map_253": two underscores stand for a dot, "$2b" for a byte in hex.
 */
static void put_ocaml(struct buffer *text, const char *name)
{
	for (size_t at = 0; name[at];) {
		unsigned int byte;
		int used = 0;

		if (name[at] == '_' && name[at + 1] == '_') {
			buffer_u8(text, '.');
			at += 2;
		} else if (name[at] == '$' && isxdigit((unsigned char)name[at + 1]) &&
			   sscanf(name + at + 1, "%2x%n", &byte, &used) == 1 && used == 2) {
			buffer_u8(text, byte);
			at += 3;
		} else {
			buffer_u8(text, name[at++]);
		}
	}
}

static bool is_ocaml(const char *name)
{
	return strncmp(name, "caml", 4) == 0 && isupper((unsigned char)name[4]);
}

bool demangle_is_mangled(const char *name)
{
	return name[0] == '_' || is_ocaml(name);
}

int demangle(const char *name, char **ret_name)
{
	struct output output = { 0 };
	bool done = false;

	*ret_name = NULL;
	if (is_ocaml(name)) {
		put_ocaml(&output.text, name + 4);
		done = true;
	} else if (name[0] == '_') {
		done = demangle_into(&output, name);
	}
	if (done)
		buffer_u8(&output.text, 0);
	if (buffer_failed(&output.text)) {
		buffer_done(&output.text);
		return -ENOMEM;
	}
	if (done)
		*ret_name = (char *)output.text.data;
	else
		buffer_done(&output.text);
	return 0;
}
