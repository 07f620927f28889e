// SPDX-License-Identifier: GPL-2.0-only
/* Parses any text as /proc/kallsyms. */
#include <stdint.h>
#include <stdlib.h>

#include "symbolizer/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbols *symbols = NULL;
	struct symbol symbol, found;

	if (kallsyms_parse((const char *)data, size, &symbols) < 0)
		return 0;
	for (size_t i = 0; i < symbols_count(symbols); i++) {
		symbols_at(symbols, i, &symbol);
		if (symbols_find(symbols, symbol.start, &found) != 1 || found.start != symbol.start)
			abort();
	}
	symbols_free(symbols);
	return 0;
}
