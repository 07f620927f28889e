/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The batches of one round, in a file: numbered, and with the very bytes that the server gets. A
 * batch is sent again until the server has acknowledged it, also by the next process, and is then
 * the same batch. The file ends with the state that is true when all of them are acknowledged.
 *
 * One insert is one batch of one table: at most OUTBOX_ROWS rows or OUTBOX_BYTES bytes before
 * packing, so that it is one block for the server.
 */

#include <stdint.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "fleet/batch-rows.h"
#include "fleet/ship-state.h"

#define OUTBOX_ROWS 50000
#define OUTBOX_BYTES (4u << 20)

struct outbox;
/* Begins a round in the folder. Numbers batches from `first_batch` on. */
int outbox_new(const char *folder, uint64_t first_batch, struct outbox **ret_outbox,
	       struct error *error);
/* Makes batches of the rows of each table that fill a batch; with `all`, of all rows. */
int outbox_take(struct outbox *outbox, struct batch_rows *rows, bool all, struct error *error);
/* Returns the number of the next batch. */
uint64_t outbox_next(const struct outbox *outbox);
/* Ends the round durably. */
int outbox_commit(struct outbox *outbox, const struct ship_state *after, struct error *error);
/* Removes what is not committed. */
struct outbox *outbox_free(struct outbox *outbox);
DEFINE_CLEANUP(outbox, struct outbox *, outbox_free)

/* A batch of an outbox; the rows are gzipped. */
struct outbox_batch {
	uint64_t number;
	unsigned int table;
	uint64_t rows;
	const void *data;
	size_t size;
};

/* The bytes of a committed outbox, read from the folder. */
struct outbox_reader {
	char *data;
	size_t size;
	struct reader at;
};
/*
 * Reads the outbox of a folder. Returns 1; 0 if the folder has none; -EBADMSG if it is damaged; or
 * another negative errno.
 */
int outbox_open(const char *folder, struct outbox_reader *ret_reader, struct error *error);
/* Checks all bytes of an outbox in memory, and begins to read it. Returns 0 or -EBADMSG. */
int outbox_check(struct outbox_reader *reader);
void outbox_close(struct outbox_reader *reader);
/* Returns 1 with a batch, valid until outbox_close(), or 0 after the last one. */
int outbox_next_batch(struct outbox_reader *reader, struct outbox_batch *ret_batch);
/* Reads the state at the end, after the last batch. Returns 0, -EBADMSG or -ENOMEM. */
int outbox_state(struct outbox_reader *reader, struct ship_state *ret_state);
/* Removes the outbox of a folder. Returns 0 or a negative errno. */
int outbox_remove(const char *folder);
