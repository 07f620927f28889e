/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* A C++ or Rust name as people write it, or NULL when the name is not mangled. The caller frees it.
 * libiberty is included nowhere else. */
char *demangle(const char *name);
