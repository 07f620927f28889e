/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The incidents of a fleet by label, and the label that separates hosts with incidents best.
 *
 * A host counts as struck if it has more incidents per day than the median host; where most hosts
 * have none, these are the hosts with any. So a single host with many incidents does not make its
 * label stand out. The chance of a value is that of Fisher's exact test over struck hosts, times
 * the number of values that were compared.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/intern.h"
#include "fleet/ask/ask-rows.h"
#include "fleet/server.h"

struct label_host {
	const char *name;
	/* 0: the host shipped no facts in the window. */
	double days;
	uint64_t incidents;
	uint64_t lines;
	bool struck;
};

/* A value of a label. */
struct label_value {
	const char *label;
	const char *value;
	uint64_t hosts;
	/* Hosts with incidents, and hosts that are struck. */
	uint64_t with_incidents;
	uint64_t struck;
	uint64_t incidents;
	double days;
	/* Incidents per host-day, of these hosts and of all others. */
	double rate;
	double others_rate;
	double chance;
};

struct label_split {
	/* The hosts with most incidents come first. */
	array_of(struct label_host) hosts;
	/* By label, then those with the highest rate first. */
	array_of(struct label_value) values;
	uint64_t with_incidents;
	uint64_t struck;
	uint64_t incidents;
	uint64_t lines;
	double days;
	/* Incidents per host-day of the median host. */
	double median;
	/* Values that were compared. */
	uint64_t tries;
	/* What the texts point into. */
	struct strings names;
	struct ask_rows shown, labels, counts;
};

/*
 * Asks for incidents of a kind in [from, to), by nanoseconds. `kind` is a kind or its first words;
 * "" stands for all. Returns 0 or a negative errno with a text. The caller calls label_split_done()
 * in either case.
 */
int label_split_ask(struct server *server, const char *kind, uint64_t from_ns, uint64_t to_ns,
		    struct label_split *split, struct error *error);
void label_split_done(struct label_split *split);

/* Returns the value with the lowest chance, of one label or, with NULL, of all; NULL: none. */
const struct label_value *label_split_best(const struct label_split *split, const char *label);
