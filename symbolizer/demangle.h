/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

/* Returns false if the first bytes of a name show that it is not mangled, which costs nothing. */
bool demangle_is_mangled(const char *name);
/*
 * Returns a C++, Rust or OCaml name as programmers write it, or NULL if the name is not mangled.
 * The caller frees the result. Only this file uses libiberty.
 */
char *demangle(const char *name);
