/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The kernel's own account of each CPU's time on a tape, and the times without samples. */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "tape/tape.h"

enum busy_figure {
	BUSY_FIGURE_USER,
	BUSY_FIGURE_NICE,
	BUSY_FIGURE_SYSTEM,
	BUSY_FIGURE_IDLE,
	BUSY_FIGURE_IOWAIT,
	BUSY_FIGURE_IRQ,
	BUSY_FIGURE_SOFTIRQ,
	BUSY_FIGURE_STEAL,
	BUSY_FIGURE_GUEST,
};
#define BUSY_FIGURES 9

struct busy_figures_cpu {
	/* The gauges of the CPU; NULL for a gauge that the tape lacks. */
	const struct tape_gauge *gauges[BUSY_FIGURES];
	/* The CPU's rows of busy_figures.losses: the first one and their number. */
	size_t first_loss, losses;
};

struct busy_figures {
	const struct tape *tape;
	/* Indexed by CPU number. */
	array_of(struct busy_figures_cpu) cpus;
	/* Losses that name one CPU, sorted by CPU. */
	array_of(struct tape_loss) losses;
};

/* How a CPU spent a period, as shares from 0 to 1. */
struct busy_account {
	double busy, user, irq;
};

/*
 * Collects the gauges and losses of a tape, which it borrows. Returns 0 or -ENOMEM. The caller
 * calls busy_figures_done() in either case.
 */
int busy_figures_make(const struct tape *tape, struct busy_figures *figures);
void busy_figures_done(struct busy_figures *figures);

/* Returns for how much of a period the CPU was offline. */
uint64_t busy_figures_offline_ns(const struct busy_figures *figures, uint32_t cpu, uint64_t from_ns,
				 uint64_t to_ns);

/*
 * Computes how a CPU spent a period from the readings around it. The shares refer to the time in
 * which the CPU was online. Returns false if the readings cover less than half of that time.
 */
bool busy_figures_account(const struct busy_figures *figures, uint32_t cpu, uint64_t from_ns,
			  uint64_t to_ns, struct busy_account *ret_account);

/*
 * Computes the time of a period without samples. *ret_held_ns is the time in which the CPU was busy
 * and its timer was held up. *ret_lost_ns is the time in which the recorder lost or did not take
 * samples, whatever the CPU did.
 */
void busy_figures_unseen(const struct busy_figures *figures, uint32_t cpu, uint64_t from_ns,
			 uint64_t to_ns, uint64_t sample_ns, double *ret_held_ns,
			 double *ret_lost_ns);
