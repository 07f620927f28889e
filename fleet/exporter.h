/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Ships a store to the server of a fleet, round by round. A round is one segment, what the kernel
 * complained about, and the windows that are complete. Its batches go into the outbox, then to the
 * server, byte for byte until the server acknowledges each; then the state moves on. So each row
 * arrives once, even if the exporter or the server ends in between.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "fleet/server.h"

enum exporter_samples {
	/* Sums per minute, and no single samples. */
	EXPORTER_NO_SAMPLES,
	/* Also all samples around incidents. */
	EXPORTER_INCIDENTS,
	EXPORTER_ALL_SAMPLES,
};

struct exporter_options {
	const char *store;
	/* The folder of the state and the outbox; it exists. */
	const char *folder;
	/* The name of this host in the fleet. */
	const char *host;
	/* "", or a folder that stands for the root of the host. */
	const char *root;
	/* Tells servers apart. */
	const char *url;
	enum exporter_samples samples;
};

struct exporter_sent {
	uint64_t batches;
	uint64_t rows;
	/* Packed. */
	uint64_t bytes;
};

struct exporter;
/*
 * Opens the state. The server and the strings must outlive the exporter. Returns 0; -EBUSY if
 * another process ships with this state; -EXDEV if it belongs to another server; or another
 * negative errno. The text says why.
 */
int exporter_new(struct server *server, const struct exporter_options *options,
		 struct exporter **ret_exporter, struct error *error);
struct exporter *exporter_free(struct exporter *exporter);
DEFINE_CLEANUP(exporter, struct exporter *, exporter_free)

/*
 * Ships one round, or what is left of the last one. Returns 1 if it did, 0 if the server has all
 * that the store has, or a negative errno. After an error, the next call goes on where this one
 * failed. Adds to *sent what the server acknowledged.
 */
int exporter_turn(struct exporter *exporter, struct exporter_sent *sent, struct error *error);
