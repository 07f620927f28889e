/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "symbolizer/symbols.h"

/*
 * The kernel's functions out of the text of /proc/kallsyms: addresses are absolute; modules, BPF
 * programs and trampolines are among them. 0 with no symbols when all addresses are zero
 * (kptr_restrict): ask symbols_count(). Lines that are not what they should be are passed over. 0
 * or -ENOMEM.
 */
int kallsyms_parse(const char *text, size_t size, struct symbols **ret_symbols);
