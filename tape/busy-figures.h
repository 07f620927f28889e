/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What a tape knows of its CPUs beside the samples: the kernel's account of their time, and in
 * which time samples are not there. */

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
	/* NULL: not there */
	const struct tape_gauge *gauges[BUSY_FIGURES];
	/* of those below */
	size_t first_loss, losses;
};

struct busy_figures {
	const struct tape *tape;
	/* by their numbers */
	array_of(struct busy_figures_cpu) cpus;
	/* of one CPU each, by CPU */
	array_of(struct tape_loss) losses;
};

/* A part of the time that a CPU had, as shares from 0 to 1. */
struct busy_account {
	double busy, user, irq;
};

/* The tape is borrowed. 0 or -ENOMEM; done() in either case. */
int busy_figures_make(const struct tape *tape, struct busy_figures *figures);
void busy_figures_done(struct busy_figures *figures);

/* For how much of that time the CPU was offline. */
uint64_t busy_figures_absent(const struct busy_figures *figures, uint32_t cpu, uint64_t from_ns,
			     uint64_t to_ns);

/*
 * By the readings around it, of which there must be some for half of that time, as far as the CPU
 * was there: shares are of that. False: not known.
 */
bool busy_figures_account(const struct busy_figures *figures, uint32_t cpu, uint64_t from_ns,
			  uint64_t to_ns, struct busy_account *ret_account);

/*
 * Time without samples: that in which the CPU was busy and its timer held up; and that in which
 * samples were taken and lost, or none were taken, whatever the CPU did.
 */
void busy_figures_unseen(const struct busy_figures *figures, uint32_t cpu, uint64_t from_ns,
			 uint64_t to_ns, uint64_t sample_ns, double *ret_held_ns,
			 double *ret_lost_ns);
