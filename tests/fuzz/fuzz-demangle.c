// SPDX-License-Identifier: GPL-2.0-only
/*
 * Demangles any text as a mangled name. The result must be a bounded text, and neither empty nor
 * costly.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbolizer/demangle.h"

/* The limit of symbolizer/demangle.c. */
#define DEMANGLED_MAX (64 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *name = strndup((const char *)data, size);
	_cleanup_free_ char *result = NULL;

	if (!name)
		abort();
	if (demangle(name, &result) < 0)
		abort();
	if (result && (strlen(result) > DEMANGLED_MAX || !demangle_is_mangled(name)))
		abort();
	return 0;
}
