/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Makes the kind of a cgroup's path: its first components, with each number or id folded to a star.
 *
 * Numbers that stand alone, uuids and hexadecimal ids are always folded: "user-1000.slice",
 * "job_17", "docker-6f1e...scope". Digits within a word may be part of a name ("x86_64", "sha256",
 * "cgroup2", "k3s") or a number ("task17"). One path alone does not show which of the two is true.
 * So dead_cgroups_fold() keeps such digits, and dead_cgroups_fold_number() folds them when several
 * paths differ only in these digits.
 */

#include <stdbool.h>
#include <stddef.h>

#define DYING_PREFIX_SIZE 192

void dead_cgroups_fold(const char *path, char prefix[DYING_PREFIX_SIZE]);
/*
 * Folds number `at` of the numbers that dead_cgroups_fold() left in `prefix`. Returns false when
 * `prefix` has fewer numbers.
 */
bool dead_cgroups_fold_number(const char *prefix, size_t at, char folded[DYING_PREFIX_SIZE]);
