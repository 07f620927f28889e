/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The first lines of an answer: which CPUs were full, when, for how long, and with what. A mean
 * over a window would hide full CPUs.
 */

#include "draw/terminal.h"
#include "query/sums/ranking.h"
#include "query/sums/spikes.h"

/*
 * Finds the saturated CPUs among the question's CPUs in its window. Includes spikes while most CPUs
 * were busy. The most important spikes come first. The caller frees *ret_spikes with spikes_done(),
 * also after a failure. Returns 0 or a negative errno.
 */
int full_cpus_list(struct store_reader *reader, const struct question *question,
		   struct spikes *ret_spikes, struct error *error);
/* Finds the saturated CPUs like full_cpus_list(), and reads samples to find the threads on them. */
int full_cpus_find(struct store_reader *reader, const struct question *question,
		   struct spikes *ret_spikes, struct error *error);

/*
 * Puts at most three lines, such as "CPU 0 was full for 6 s from 12:24:43, all kernel: kubelet in
 * mem_cgroup_iter". If no CPU was full, puts one line that says so and names the busiest CPU of the
 * ranking.
 */
void full_cpus_put(const struct spikes *spikes, const struct ranking *ranking,
		   const struct terminal *terminal, bool utc, struct buffer *text);
/*
 * Puts "CPU 0 was full for 6 s from 12:24:43, CPU 3 for 2 s from 12:24:40" without a newline. Puts
 * nothing if the segments do not store full CPUs.
 */
void full_cpus_put_brief(const struct spikes *spikes, bool utc, struct buffer *text);
