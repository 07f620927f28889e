/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "symbolizer/symbols.h"

/*
 * Parses the text of /proc/kallsyms. The symbols have absolute addresses and include modules, BPF
 * programs and trampolines. Skips invalid lines. If all addresses are zero (kptr_restrict),
 * symbols_count() is 0. Returns 0 or -ENOMEM.
 */
int kallsyms_parse(const char *text, size_t size, struct symbols **ret_symbols);
