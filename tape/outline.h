/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The outline of a tape: what each CPU did by stack class, and the heaviest thread name and
 * function. It follows from the tape's digest, and takes a few bytes for each CPU. The index has
 * the outlines of all segments, so that an answer about weeks opens no segment.
 *
 * The heaviest thread name of a CPU has the most work there, and the function of a CPU is the most
 * frequent leaf function of these threads. The heaviest function of the tape is the most frequent
 * leaf function of all threads. All numbers are exact; idle time counts only for CPUs.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/intern.h"
#include "tape/digest.h"
#include "tape/stack-class.h"
#include "tape/tape.h"

/* A thread name and a function, and their samples. Numbers of names; 0: none. */
struct outline_leader {
	uint32_t comm, function;
	uint64_t comm_samples, function_samples;
};

struct outline_cpu {
	uint32_t cpu;
	/* samples by class */
	uint64_t n[STACK_CLASS_KINDS];
	struct outline_leader leader;
};

/* A zeroed struct is empty. */
struct outline {
	/* the time that a sample stands for */
	uint64_t sample_ns;
	/* the number of the host's CPUs; 0: not known */
	uint64_t host_cpus;
	struct strings names;
	/* the CPUs with samples, in ascending order */
	array_of(struct outline_cpu) cpus;
	/* the leader of the whole tape */
	struct outline_leader leader;
};

/*
 * Makes the outline of a tape from its digest. Returns 0 or -ENOMEM. The caller calls
 * outline_done() in either case.
 */
int outline_make(const struct tape *tape, const struct digest *digest, struct outline *outline);
/* Appends the outline as bytes. Returns 0 or -ENOMEM. */
int outline_encode(const struct outline *outline, struct buffer *bytes);
/*
 * Decodes bytes of outline_encode(). Returns 0, -EBADMSG or -ENOMEM. The caller calls
 * outline_done() in either case.
 */
int outline_decode(const void *data, size_t size, struct outline *outline);
void outline_done(struct outline *outline);

/* Returns the time of all CPUs by class. */
struct stack_class outline_spent(const struct outline *outline);
