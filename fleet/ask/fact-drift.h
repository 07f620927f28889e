/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Which facts differ between hosts with and without incidents? Facts are labels, units, versions,
 * sysctls. Each value of a fact is compared by Fisher's exact test, two-sided; the chance allows
 * for the number of values. The same is asked of the hosts with a value of a label, and all others:
 * two zones may look the same, and not be.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "fleet/ask/ask-rows.h"
#include "fleet/server.h"

/* Hosts with incidents and without, with the value of the label and without. */
struct drift_counts {
	uint64_t with;
	uint64_t without;
	uint64_t inside;
	uint64_t outside;
};

struct drift_fact {
	const char *name;
	const char *value;
	struct drift_counts hosts;
	/* For hosts with and without incidents, and for inside and outside. */
	double chance;
	double label_chance;
};

struct fact_drift {
	/* All hosts. */
	struct drift_counts hosts;
	/* One value of each fact: the one that differs most. The least chance comes first. */
	array_of(struct drift_fact) facts;
	uint64_t tries;
	/* What the texts point into. */
	struct ask_rows rows;
};

struct fact_drift_question {
	/* A kind of incidents or its first words; "": all. */
	const char *kind;
	/* Name and value of a label; "": none. */
	const char *label;
	const char *value;
	uint64_t from_ns;
	uint64_t to_ns;
};

/*
 * Returns 0 or a negative errno with a text. The caller calls fact_drift_done() in either case.
 */
int fact_drift_ask(struct server *server, const struct fact_drift_question *question,
		   struct fact_drift *drift, struct error *error);
void fact_drift_done(struct fact_drift *drift);
