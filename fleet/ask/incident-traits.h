/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What do the threads and functions of a whole fleet do before incidents that they do not do
 * otherwise? Each incident is its own control: the 5 s before it stand against four windows of 5 s
 * of the same host, from 30 to 10 s before it; the last minute stands against the minutes 10, 20,
 * 30 and 40 earlier. If nothing were special about the time before an incident, each of the five
 * would be the highest equally often. The chance is that of as many incidents of which the last one
 * is the highest; it allows for the number of names. Seconds show what is short, minutes what began
 * earlier.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "fleet/ask/ask-rows.h"
#include "fleet/server.h"

/* The latest incidents that are compared (sql/before-samples.sql). */
#define TRAITS_INCIDENTS_MAX 2000

enum trait_scale {
	TRAIT_SECONDS,
	TRAIT_MINUTES,
};
#define TRAIT_SCALES 2

/* A name in the windows of one scale. */
struct trait_measure {
	/* Incidents of which the last window is the highest. */
	uint64_t incidents;
	/* Mean shares of all samples. */
	double share;
	double usual;
	double chance;
	/* The incident with the highest share, and its host. */
	uint64_t at_us;
	const char *host;
};

struct incident_trait {
	/* Without the letter of its kind. */
	const char *name;
	bool thread;
	struct trait_measure scales[TRAIT_SCALES];
	/* The lower chance of both scales. */
	double chance;
};

struct incident_traits {
	/* Incidents that have samples, and that have sums, of all five windows. */
	uint64_t compared[TRAIT_SCALES];
	/* Names that were compared in both scales. */
	uint64_t tries;
	/* The lowest chance comes first. */
	array_of(struct incident_trait) list;
	/* What the texts point into. */
	struct ask_rows rows[TRAIT_SCALES];
};

/* Returns 0 or a negative errno with a text. Call incident_traits_done() in either case. */
int incident_traits_ask(struct server *server, const char *kind, uint64_t from_ns, uint64_t to_ns,
			struct incident_traits *traits, struct error *error);
void incident_traits_done(struct incident_traits *traits);
