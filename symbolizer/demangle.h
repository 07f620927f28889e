/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

/* Returns false if the first bytes of a name show that it is not mangled, which costs nothing. */
bool demangle_is_mangled(const char *name);
/*
 * Makes a C++, Rust or OCaml name as programmers write it; NULL if the name is not mangled. The
 * caller frees *ret_name. Returns 0 or -ENOMEM. Only this file uses libiberty.
 */
int demangle(const char *name, char **ret_name);
