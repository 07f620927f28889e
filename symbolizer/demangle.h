/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Returns a C++, Rust or OCaml name as programmers write it, or NULL if it is not mangled. The
 * caller frees it. The only user of libiberty.
 */
char *demangle(const char *name);
