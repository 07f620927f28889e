// SPDX-License-Identifier: GPL-2.0-only
/*
 * The posts of a fleet, made of those of one host: other host names, and other times.
 *
 *   fleet-posts make STORE FILE first=N hosts=N [step=MINUTES] [skip=ROUNDS] [rounds=ROUNDS]
 *              [root=DIR] [samples=incidents]
 *   fleet-posts post URL FILE [PART PARTS]
 *
 * "make" ships the store into a file, once for each host. Each host has another name, and lies
 * `step` minutes after the one before. The first `skip` rounds are left out, with what
 * a host sends once per day, and those after `rounds`. `root` is the folder of the host's labels.
 *
 * "post" sends the file, or every PARTS-th post from the one with the number PART on. It prints the
 * number of posts, their rows and their bytes.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "fleet/outbox.h"
#include "fleet/server.h"
#include "fleet/ship-round.h"
#include "pack/gzip.h"

#define HOST "host-000000"
#define MINUTE_US 60000000ull

/*
 * The columns of each table in the order of fleet/batch-rows.c: h is the host, m a minute, t a
 * time, s a text, a an array of texts, and a digit is a number of that many bytes.
 */
static const char *const columns[FLEET_TABLES] = {
	[FLEET_FACTS] = "h4ss8",
	[FLEET_LOSSES] = "htt44s8",
	[FLEET_INCIDENTS] = "hts88488ssss",
	[FLEET_GAUGES] = "hmst4888",
	[FLEET_MINUTES] = "hms8t88",
	[FLEET_SAMPLES] = "hm4t284ss8",
	[FLEET_WINDOWS] = "htts888aa",
};

struct fleet {
	const char *store;
	const char *root;
	FILE *file;
	char folder[64];
	unsigned long first, hosts, step, skip, rounds;
	enum exporter_samples samples;
};

static int fail(const char *what)
{
	fprintf(stderr, "fleet-posts: %s\n", what);
	return 1;
}

static int append(void *context, const uint8_t *data, size_t size)
{
	buffer_bytes(context, data, size);
	return 0;
}

static int unpack(const struct outbox_batch *batch, struct buffer *rows)
{
	struct gzip_reader *reader = NULL;
	int r = gzip_reader_new(&reader);

	if (r == 0)
		r = gzip_reader_feed(reader, batch->data, batch->size, append, rows);
	gzip_reader_free(reader);
	return r == 0 && rows->failed ? -ENOMEM : r;
}

/* Adds to the number of `size` bytes before the reader's position. */
static void shift(struct reader *at, size_t size, uint64_t by)
{
	uint8_t *number = (uint8_t *)at->data + at->position - size;
	uint64_t value = 0;

	memcpy(&value, number, size);
	value = htole64(le64toh(value) + by);
	memcpy(number, &value, size);
}

static void patch_host(struct reader *at, unsigned long host)
{
	uint64_t size = reader_varint(at);
	char *name = (char *)reader_take(at, size), digits[16];

	if (!name || size != strlen(HOST))
		return reader_fail(at);
	snprintf(digits, sizeof(digits), "%06lu", host % 1000000);
	memcpy(name + size - 6, digits, 6);
}

static void skip_texts(struct reader *at, uint64_t count)
{
	while (count-- && !reader_failed(at))
		reader_take(at, reader_varint(at));
}

static void patch_column(struct reader *at, char type, unsigned long host, uint64_t by_us)
{
	switch (type) {
	case 'h':
		patch_host(at, host);
		return;
	case 'm':
		reader_u32(at);
		shift(at, 4, by_us / MINUTE_US);
		return;
	case 't':
		reader_u64(at);
		shift(at, 8, by_us);
		return;
	case 's':
		skip_texts(at, 1);
		return;
	case 'a':
		skip_texts(at, reader_varint(at));
		return;
	default:
		reader_take(at, type - '0');
	}
}

/* Stacks belong to no host, and stay as they are. */
static int patch(unsigned int table, struct buffer *rows, unsigned long host, uint64_t by_us)
{
	struct reader at;

	reader_init(&at, rows->data, rows->size);
	while (columns[table] && reader_left(&at))
		for (const char *type = columns[table]; *type; type++)
			patch_column(&at, *type, host, by_us);
	return reader_failed(&at) ? -EBADMSG : 0;
}

static int put_post(const struct fleet *fleet, const struct outbox_batch *batch,
		    const struct buffer *packed)
{
	const uint64_t head[3] = { batch->table, batch->rows, packed->size };

	if (fwrite(head, sizeof(head), 1, fleet->file) != 1 ||
	    fwrite(packed->data, packed->size, 1, fleet->file) != 1)
		return -EIO;
	return 0;
}

/* Puts the post of each host. */
static int put_batch(const struct fleet *fleet, const struct outbox_batch *batch)
{
	_cleanup_(buffer_done) struct buffer rows = { 0 }, packed = { 0 };
	uint64_t step_us = fleet->step * MINUTE_US;
	int r = unpack(batch, &rows);

	if (r == 0 && !columns[batch->table])
		r = gzip_pack(rows.data, rows.size, &packed);
	/* the first host is that of the batch, so `rows` moves on from host to host */
	for (unsigned long i = 0; r == 0 && i < fleet->hosts; i++) {
		if (columns[batch->table]) {
			r = patch(batch->table, &rows, fleet->first + i, i ? step_us : 0);
			packed.size = 0;
			if (r == 0)
				r = gzip_pack(rows.data, rows.size, &packed);
		}
		if (r == 0)
			r = put_post(fleet, batch, &packed);
	}
	return r;
}

/* Puts the batches of one round, and takes over the state after it. */
static int put_round(const struct fleet *fleet, bool wanted, struct ship_state *state,
		     struct error *error)
{
	_cleanup_(outbox_close) struct outbox_reader reader = { 0 };
	struct outbox_batch batch;
	int r = outbox_open(fleet->folder, &reader, error);

	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	r = 0;
	while (r == 0 && outbox_next_batch(&reader, &batch) > 0)
		if (wanted)
			r = put_batch(fleet, &batch);
	ship_state_done(state);
	return r < 0 ? r : outbox_state(&reader, state);
}

static int make(const struct fleet *fleet, struct error *error)
{
	struct ship_state state = { 0 };
	struct sent_stacks sent = { 0 };
	unsigned long number = 0;
	int r = 1;

	while (r > 0) {
		const struct ship_round round = {
			.store = fleet->store,
			.folder = fleet->folder,
			.host = HOST,
			.root = fleet->root,
			.samples = fleet->samples,
			.before = &state,
			.sent = &sent,
			.now_ns = clock_ns(CLOCK_REALTIME),
		};
		int made = ship_round_make(&round, error);

		r = made > 0 ? put_round(fleet, number++ >= fleet->skip, &state, error) : made;
		if (made > 0 && r == 0)
			r = number < fleet->rounds;
	}
	outbox_remove(fleet->folder);
	ship_state_done(&state);
	sent_stacks_done(&sent);
	return r;
}

static bool set(struct fleet *fleet, const char *word)
{
	const struct {
		const char *name;
		unsigned long *number;
	} names[] = {
		{ "first=", &fleet->first },   { "hosts=", &fleet->hosts },
		{ "step=", &fleet->step },     { "skip=", &fleet->skip },
		{ "rounds=", &fleet->rounds },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strncmp(word, names[i].name, strlen(names[i].name)) == 0) {
			*names[i].number = strtoul(word + strlen(names[i].name), NULL, 10);
			return true;
		}
	if (strncmp(word, "root=", 5) == 0) {
		fleet->root = word + 5;
		return true;
	}
	if (strcmp(word, "samples=none") != 0 && strcmp(word, "samples=incidents") != 0)
		return false;
	fleet->samples = word[8] == 'n' ? EXPORTER_NO_SAMPLES : EXPORTER_INCIDENTS;
	return true;
}

static int run_make(int argc, char **argv)
{
	struct fleet fleet = {
		.store = argv[2],
		.root = "",
		.folder = "/tmp/perftape-fleet-XXXXXX",
		.hosts = 1,
		.rounds = ULONG_MAX,
		.samples = EXPORTER_INCIDENTS,
	};
	struct error error = { 0 };
	int r;

	for (int i = 4; i < argc; i++)
		if (!set(&fleet, argv[i]))
			return fail("an unknown word");
	fleet.file = fopen(argv[3], "wb");
	if (!fleet.file || !mkdtemp(fleet.folder))
		return fail(strerror(errno));
	r = make(&fleet, &error);
	if (fclose(fleet.file) != 0)
		r = -errno;
	rmdir(fleet.folder);
	return r < 0 ? fail(*error.text ? error.text : strerror(-r)) : 0;
}

/* One of several processes that share the posts of a file. */
struct sender {
	FILE *file;
	struct server *server;
	struct buffer body;
	unsigned long part, parts, number;
	/* Posts, rows and bytes. */
	uint64_t sums[3];
};

/* Sends the next post of the file, if it is ours. Returns 1, or 0 at the end. */
static int post_next(struct sender *sender, struct error *error)
{
	struct buffer *body = &sender->body;
	uint64_t head[3];
	int r;

	if (fread(head, sizeof(head), 1, sender->file) != 1)
		return 0;
	if (sender->number++ % sender->parts != sender->part)
		return fseek(sender->file, head[2], SEEK_CUR) == 0 ? 1 : -errno;
	body->size = 0;
	if (!buffer_room(body, head[2]))
		return -ENOMEM;
	if (fread(body->data, head[2], 1, sender->file) != 1)
		return -EBADMSG;
	r = server_insert(sender->server, fleet_into(head[0]), body->data, head[2], error);
	sender->sums[0]++;
	sender->sums[1] += head[1];
	sender->sums[2] += head[2];
	return r < 0 ? r : 1;
}

static int run_post(const char *url, const char *path, unsigned long part, unsigned long parts)
{
	const struct http_access access = { 0 };
	struct sender sender = { .file = fopen(path, "rb"), .part = part, .parts = parts };
	struct error error = { 0 };
	int r;

	if (!sender.file || !parts)
		return fail(parts ? strerror(errno) : "no parts");
	r = server_open(url, &access, &sender.server, &error);
	if (r == 0)
		r = 1;
	while (r > 0)
		r = post_next(&sender, &error);
	fclose(sender.file);
	server_close(sender.server);
	buffer_done(&sender.body);
	printf("%llu %llu %llu\n", (unsigned long long)sender.sums[0],
	       (unsigned long long)sender.sums[1], (unsigned long long)sender.sums[2]);
	return r < 0 ? fail(*error.text ? error.text : strerror(-r)) : 0;
}

int main(int argc, char **argv)
{
	if (argc >= 4 && strcmp(argv[1], "make") == 0)
		return run_make(argc, argv);
	if (argc == 4 && strcmp(argv[1], "post") == 0)
		return run_post(argv[2], argv[3], 0, 1);
	if (argc == 6 && strcmp(argv[1], "post") == 0)
		return run_post(argv[2], argv[3], strtoul(argv[4], NULL, 10),
				strtoul(argv[5], NULL, 10));
	return fail("usage: make STORE FILE [NAME=VALUE...] | post URL FILE [PART PARTS]");
}
