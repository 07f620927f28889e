/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

/* Returns false if the first bytes of a name show that it is not mangled. This check is cheap. */
bool demangle_is_mangled(const char *name);
/*
 * Turns a mangled C++, Rust or OCaml name into the name in the source code. Sets *ret_name to NULL
 * if the name is not mangled or the result is too long. The caller frees *ret_name. Returns 0 or
 * -ENOMEM. Only demangle.c uses libiberty.
 */
int demangle(const char *name, char **ret_name);
