/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Returns a C++, Rust or OCaml name as programmers write it, or NULL if the name is not mangled.
 * The caller frees the result. Only this file uses libiberty.
 */
char *demangle(const char *name);
