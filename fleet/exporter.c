// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/exporter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "fleet/outbox.h"
#include "fleet/ship-round.h"
#include "fleet/ship-state.h"

#define EXPORTER_STATE "state"
#define EXPORTER_LOCK "lock"
#define EXPORTER_STATE_MAX (64u << 20)

struct exporter {
	struct server *server;
	struct exporter_options options;
	struct ship_state state;
	struct sent_stacks sent;
	int lock;
};

static uint64_t exporter_hash_server(const char *url)
{
	return hash_bytes(url, strlen(url));
}

/* Whoever can write there can put a link or rows of their own into the place of our files. */
static int exporter_check_folder(const char *folder, struct error *error)
{
	struct stat about;

	if (stat(folder, &about) < 0)
		return error_set(error, -errno, "%s: %s", folder, strerror(errno));
	if (about.st_uid != geteuid())
		return error_set(error, -EPERM,
				 "%s: belongs to another user; give --state another folder",
				 folder);
	if (about.st_mode & (S_IWGRP | S_IWOTH))
		return error_set(error, -EPERM,
				 "%s: other users can write there; run: chmod go-w %s", folder,
				 folder);
	return 0;
}

static int exporter_take_lock(struct exporter *exporter, struct error *error)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s/" EXPORTER_LOCK, exporter->options.folder) < 0)
		return -ENOMEM;
	exporter->lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (exporter->lock < 0)
		return error_set(error, -errno, "%s: %s", path, strerror(errno));
	if (flock(exporter->lock, LOCK_EX | LOCK_NB) < 0)
		return error_set(error, -EBUSY, "%s: another process ships with this state", path);
	return 0;
}

static int exporter_read_state(struct exporter *exporter, struct error *error)
{
	_cleanup_free_ char *path = NULL, *data = NULL;
	uint64_t server = exporter_hash_server(exporter->options.url);
	size_t size;
	int r;

	if (asprintf(&path, "%s/" EXPORTER_STATE, exporter->options.folder) < 0)
		return -ENOMEM;
	r = file_read_own(path, EXPORTER_STATE_MAX, &data, &size);
	if (r == -ENOENT) {
		exporter->state.server = server;
		return 0;
	}
	if (r == 0)
		r = ship_state_decode(data, size, &exporter->state);
	if (r == -EBADMSG)
		return error_set(error, r, "%s: damaged; remove it, and all is shipped again",
				 path);
	if (r < 0)
		return error_set(error, r, "%s: %s", path, strerror(-r));
	if (exporter->state.server != server)
		return error_set(error, -EXDEV,
				 "%s: belongs to another server; give --state another folder",
				 path);
	return 0;
}

int exporter_new(struct server *server, const struct exporter_options *options,
		 struct exporter **ret_exporter, struct error *error)
{
	_cleanup_(cleanup_exporter) struct exporter *exporter = calloc(1, sizeof(*exporter));
	int r;

	if (!exporter)
		return -ENOMEM;
	exporter->server = server;
	exporter->options = *options;
	exporter->lock = -1;
	r = exporter_check_folder(options->folder, error);
	if (r < 0)
		return r;
	r = exporter_take_lock(exporter, error);
	if (r < 0)
		return r;
	r = exporter_read_state(exporter, error);
	if (r < 0)
		return r;
	*ret_exporter = take_ptr(exporter);
	return 0;
}

struct exporter *exporter_free(struct exporter *exporter)
{
	if (!exporter)
		return NULL;
	ship_state_done(&exporter->state);
	sent_stacks_done(&exporter->sent);
	if (exporter->lock >= 0)
		close(exporter->lock);
	free(exporter);
	return NULL;
}

/* Sends all batches of the outbox. A batch that the server has already changes nothing there. */
static int exporter_send(struct exporter *exporter, struct outbox_reader *reader,
			 struct exporter_sent *sent, struct error *error)
{
	struct outbox_batch batch;

	while (outbox_next_batch(reader, &batch) > 0) {
		int r = server_insert(exporter->server, fleet_into(batch.table), batch.data,
				      batch.size, error);

		if (r < 0)
			return error_prefix(error, r, "batch %llu",
					    (unsigned long long)batch.number);
		sent->batches++;
		sent->rows += batch.rows;
		sent->bytes += batch.size;
	}
	return 0;
}

/* Takes over the state after a round, on the disk first. */
static int exporter_move_on(struct exporter *exporter, struct ship_state *after,
			    struct error *error)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	const char *folder = exporter->options.folder;
	int r;

	ship_state_encode(after, &bytes);
	if (buffer_failed(&bytes))
		return -ENOMEM;
	r = file_replace(folder, EXPORTER_STATE, bytes.data, bytes.size);
	if (r == 0)
		r = outbox_remove(folder);
	if (r < 0)
		return error_set(error, r, "%s: %s", folder, strerror(-r));
	ship_state_done(&exporter->state);
	exporter->state = *after;
	*after = (struct ship_state){ 0 };
	return 0;
}

/* Sends the outbox of this round. Returns 1, or 0 if the folder has none. */
static int exporter_empty_outbox(struct exporter *exporter, struct exporter_sent *sent,
				 struct error *error)
{
	_cleanup_(outbox_close) struct outbox_reader reader = { 0 };
	_cleanup_(ship_state_done) struct ship_state after = { 0 };
	struct outbox_reader whole;
	struct outbox_batch batch;
	int r = outbox_open(exporter->options.folder, &reader, error);

	/* a damaged outbox is made anew; rows that went out already have the same keys */
	if (r == -EBADMSG) {
		sent_stacks_done(&exporter->sent);
		r = error_forget(error);
	}
	if (r <= 0)
		return r;
	whole = reader;
	while (outbox_next_batch(&whole, &batch) > 0)
		;
	r = outbox_state(&whole, &after);
	if (r == -ENOMEM)
		return r;
	/* of a round that is over, or of another server */
	if (r < 0 || after.round != exporter->state.round + 1 ||
	    after.server != exporter->state.server)
		return 0;
	r = exporter_send(exporter, &reader, sent, error);
	if (r < 0)
		return r;
	r = exporter_move_on(exporter, &after, error);
	return r < 0 ? r : 1;
}

int exporter_turn(struct exporter *exporter, struct exporter_sent *sent, struct error *error)
{
	const struct ship_round round = {
		.store = exporter->options.store,
		.folder = exporter->options.folder,
		.host = exporter->options.host,
		.root = exporter->options.root,
		.samples = exporter->options.samples,
		.before = &exporter->state,
		.sent = &exporter->sent,
		.now_ns = clock_ns(CLOCK_REALTIME),
	};
	int r = exporter_empty_outbox(exporter, sent, error);

	if (r != 0)
		return r;
	r = ship_round_make(&round, error);
	return r > 0 ? exporter_empty_outbox(exporter, sent, error) : r;
}
