/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The kind of a cgroup's path: its first components, with what says which one it is and not what it
 * is folded to a star.
 *
 * Numbers that stand alone, uuids and hexadecimal ids always do: "user-1000.slice", "job_17",
 * "docker-6f1e...scope". Digits within a word may be a part of its name, "x86_64", "sha256",
 * "cgroup2", "k3s", or a number, "task17": no text tells. They stay, and are folded where several
 * paths are seen that differ in them alone.
 */

#include <stdbool.h>
#include <stddef.h>

#define DYING_PREFIX_SIZE 192

void dead_cgroups_fold(const char *path, char prefix[DYING_PREFIX_SIZE]);
/* What dead_cgroups_fold() made, with its number `at` of those that stayed folded too. False where
 * there are fewer. */
bool dead_cgroups_fold_number(const char *prefix, size_t at, char folded[DYING_PREFIX_SIZE]);
