// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tapes that wait in the spool, and a store that refuses them. The test decides what sealing
 * returns, and moves the clock.
 */
#include "tests/check.h"

#include <errno.h>
#include <stdio.h>

#include "recorder/sink/sealer.h"
#define FAKE_CLOCK_WAITS
#include "tests/fake-clock.h"
#include "tests/sealers.h"
#include "tests/wait.h"

#define TAPES 4
/*
 * The first tape takes more memory than all tapes together may take, so the sealer defers the later
 * tapes except the last one.
 */
#define LARGE 20
#define ALL_SAMPLES ((LARGE + TAPES - 1) * SAMPLES)

/* The result of sealing; 0: the real result. */
static _Atomic int refusal;
static _Atomic int seals, searches;

int __real_store_writer_seal(struct store_writer *writer, struct tape *tape,
			     enum segment_effort effort, uint64_t *ret_bytes, struct error *error);
int __wrap_store_writer_seal(struct store_writer *writer, struct tape *tape,
			     enum segment_effort effort, uint64_t *ret_bytes, struct error *error);

int __wrap_store_writer_seal(struct store_writer *writer, struct tape *tape,
			     enum segment_effort effort, uint64_t *ret_bytes, struct error *error)
{
	int refused = refusal;
	int r = refused ? error_set(error, refused, "refused")
			: __real_store_writer_seal(writer, tape, effort, ret_bytes, error);

	seals++;
	return r;
}

/* The first search waits at the gate, so that the tapes behind it wait, too. */
static int search(void *context, const struct finder *finder, struct finder_request *request,
		  struct finder_files *ret_files)
{
	if (searches++ == 0)
		return wait_at_gate(context, finder, request, ret_files);
	return -ENOENT;
}

struct deferring {
	struct tapes_store store;
	struct store_writer *writer;
	struct sealer_options options;
	struct sealer *sealer;
	struct gate gate;
};

/* Makes a tape and puts its block. */
static struct tape *make_spooled(struct deferring *deferring, unsigned int number)
{
	struct tape *tape =
		make_tape(deferring->sealer, number, number ? SAMPLES : LARGE * SAMPLES);
	uint32_t module = tapes_module(tape, "/a/program", TAPE_MODULE_ELF), frame;
	struct spool_block block = { 0 };
	struct spool_mark mark = { 0 };

	CHECK_EQ(tape_add_frame(tape, module, 0x10 + number, &frame), 0);
	/* a tape without a boot ID counts as a tape of this boot */
	tape->facts.count = 0;
	CHECK_EQ(tape_add_fact(tape, "host", "example"), 0);
	CHECK_EQ(spool_encode(tape, &mark, tape->end_ns, &block), 0);
	CHECK_EQ(sealer_put_block(deferring->sealer, &block), 0);
	spool_mark_done(&mark);
	return tape;
}

/* Puts a tape whose spool is whole. */
static void put(struct deferring *deferring, unsigned int number)
{
	struct tape *tape = make_spooled(deferring, number);

	WAIT_UNTIL(status_of(deferring->sealer).spooled_ns >= tape->end_ns);
	CHECK_EQ(sealer_put(deferring->sealer, tape), 0);
}

/*
 * Replaces the store, which the sealer notices when it writes a block of the tape. This tape, which
 * began in the old store, is not spooled.
 */
static void put_replaced(struct deferring *deferring, unsigned int number, char away[128])
{
	struct tape *tape;

	snprintf(away, 128, "%s.away", deferring->store.path);
	CHECK_EQ(rename(deferring->store.path, away), 0);
	tape = make_spooled(deferring, number);
	WAIT_UNTIL(!store_writer_holds(deferring->writer, tape->sequence));
	CHECK_EQ(sealer_put(deferring->sealer, tape), 0);
}

/* Starts a sealer that names its first tape until the test opens the gate. */
static void deferring_init(struct deferring *deferring, uint64_t memory_bytes)
{
	*deferring = (struct deferring){
		.options = { .memory_bytes = memory_bytes,
			     .finder = { .live = true,
					 .delegate = search,
					 .context = &deferring->gate } },
	};
	refusal = seals = searches = 0;
	CHECK_EQ(sem_init(&deferring->gate.reached, 0, 0), 0);
	CHECK_EQ(sem_init(&deferring->gate.opened, 0, 0), 0);
	tapes_store_init(&deferring->store);
	CHECK_EQ(store_writer_open(deferring->store.path, &deferring->writer, NULL), 0);
	CHECK_EQ(sealer_start(deferring->writer, &deferring->options, &deferring->sealer, NULL), 0);
	put(deferring, 0);
	CHECK_EQ(sem_wait(&deferring->gate.reached), 0);
}

static struct sealer_status deferring_stop(struct deferring *deferring)
{
	struct sealer_status status;

	sealer_stop(deferring->sealer, &status);
	store_writer_close(deferring->writer);
	return status;
}

/* Lets the sealer try again, until the condition holds. */
#define TRY_UNTIL(condition)               \
	for (; !(condition); usleep(1000)) \
	fake_clock_pass(NSEC_PER_SEC)

static uint64_t bytes_of(const struct tapes_store *store)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct store_totals totals;

	CHECK_EQ(store_reader_open(store->path, &reader, NULL), 0);
	CHECK_EQ(store_reader_totals(reader, &totals, NULL), 0);
	return totals.segment_bytes;
}

/* A full disk refuses a tape again and again. It is named once. */
static void test_named_once(void)
{
	struct deferring deferring;
	struct sealer_status status;
	int before;

	deferring_init(&deferring, MEMORY);
	for (unsigned int i = 1; i < TAPES; i++)
		put(&deferring, i);
	CHECK_EQ(sem_post(&deferring.gate.opened), 0);
	WAIT_UNTIL(status_of(deferring.sealer).segments >= 2);
	refusal = -ENOSPC;
	before = seals;
	TRY_UNTIL(seals >= before + 8);
	refusal = 0;
	TRY_UNTIL(status_of(deferring.sealer).segments == TAPES);
	status = deferring_stop(&deferring);
	CHECK_EQ(status.segments, TAPES);
	CHECK_EQ(status.bytes, bytes_of(&deferring.store));
	CHECK_EQ(status.unsaved_samples, 0);
	CHECK_EQ(searches, TAPES);
	CHECK_EQ(look(&deferring.store).samples, ALL_SAMPLES);
	tapes_store_done(&deferring.store);
}

/*
 * A named tape that the disk refuses stays in memory, because the sealer would name a tape from the
 * spool again.
 */
static void test_named_stays(void)
{
	struct deferring deferring;
	struct sealer_status status;

	deferring_init(&deferring, MEMORY);
	refusal = -ENOSPC;
	CHECK_EQ(sem_post(&deferring.gate.opened), 0);
	WAIT_UNTIL(status_of(deferring.sealer).store_blocked);
	for (unsigned int i = 1; i < 2 * TAPES; i++)
		put(&deferring, i);
	refusal = 0;
	TRY_UNTIL(status_of(deferring.sealer).segments);
	status = deferring_stop(&deferring);
	CHECK_EQ(status.segments, 2 * TAPES);
	CHECK_EQ(status.unsaved_samples, 0);
	CHECK_EQ(searches, 2 * TAPES);
	tapes_store_done(&deferring.store);
}

/* A tape that is too large for a segment does not keep later tapes waiting. */
static void test_too_large(void)
{
	struct deferring deferring;
	struct sealer_status status;

	deferring_init(&deferring, MEMORY);
	for (unsigned int i = 1; i < TAPES; i++)
		put(&deferring, i);
	refusal = -EFBIG;
	CHECK_EQ(sem_post(&deferring.gate.opened), 0);
	TRY_UNTIL(!status_of(deferring.sealer).waiting);
	CHECK_EQ(seals, TAPES);
	CHECK_STR(status_of(deferring.sealer).warning.text, "refused");
	refusal = 0;
	put(&deferring, TAPES);
	status = deferring_stop(&deferring);
	CHECK_EQ(status.segments, 1);
	tapes_store_done(&deferring.store);
}

/*
 * Somebody replaces the store while tapes wait. Their spools are gone, so the sealer does not rely
 * on them.
 */
static void test_replaced(void)
{
	struct deferring deferring;
	struct sealer_status status;
	char away[128];

	deferring_init(&deferring, MEMORY);
	put(&deferring, 1);
	put_replaced(&deferring, 2, away);
	for (unsigned int i = 3; i < TAPES; i++)
		put(&deferring, i);
	status = status_of(deferring.sealer);
	CHECK(status.unsaved_samples > 0);
	CHECK_EQ(sem_post(&deferring.gate.opened), 0);
	status = deferring_stop(&deferring);
	CHECK_EQ(status.unsaved_samples + look(&deferring.store).samples, ALL_SAMPLES);
	CHECK_EQ(look(&deferring.store).unsaved, status.unsaved_samples);
	tapes_store_done(&deferring.store);
	CHECK_EQ(rename(away, deferring.store.path), 0);
	tapes_store_done(&deferring.store);
}

/*
 * Tapes that began before somebody replaced the store, and that cannot be sealed, are not in the
 * new store's spool. So the next recorder cannot recover them, and all of their samples count.
 */
static void test_replaced_unsealed(void)
{
	struct deferring deferring;
	struct sealer_status status;
	char away[128];

	deferring_init(&deferring, 0);
	put(&deferring, 1);
	put_replaced(&deferring, 2, away);
	put(&deferring, 3);
	refusal = -EFBIG;
	CHECK_EQ(sem_post(&deferring.gate.opened), 0);
	status = deferring_stop(&deferring);
	CHECK_EQ(status.unsaved.count, (LARGE + 2) * SAMPLES);
	CHECK_EQ(status.unsaved.to_ns - status.unsaved.from_ns, 3 * NSEC_PER_SEC);
	tapes_store_done(&deferring.store);
	CHECK_EQ(rename(away, deferring.store.path), 0);
	tapes_store_done(&deferring.store);
}

/* Somebody removes the spool of a tape that waits there: its samples are lost, and counted. */
static void test_removed(void)
{
	struct deferring deferring;
	struct sealer_status status;

	deferring_init(&deferring, MEMORY);
	for (unsigned int i = 1; i < TAPES; i++)
		put(&deferring, i);
	CHECK_EQ(tapes_remove_all(&deferring.store, "spool"), 0);
	CHECK_EQ(sem_post(&deferring.gate.opened), 0);
	status = deferring_stop(&deferring);
	CHECK(status.unsaved_samples > 0);
	CHECK_EQ(status.unsaved_samples + look(&deferring.store).samples, ALL_SAMPLES);
	tapes_store_done(&deferring.store);
}

CHECK_MAIN({ "a tape in the spool is named once, however often the disk is full", test_named_once },
	   { "a named tape is not named again from the spool", test_named_stays },
	   { "a tape that no segment can hold gives way", test_too_large },
	   { "spools of a replaced store are not relied on", test_replaced },
	   { "an unsealed tape of a replaced store is unsaved as a whole", test_replaced_unsealed },
	   { "samples of a removed spool count as unsaved", test_removed })
