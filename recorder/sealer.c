// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/sealer.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <sys/prctl.h>

#include "naming/namer.h"

/*
 * Invariants:
 * (1) the lock guards what stands below it in the struct; what stands above is the thread's alone once it runs;
 * (2) tapes are sealed in the order in which they were put, and each block is spooled before its tape is sealed, if at all: once one
 *     block of a tape could not be written, those behind it wait for it, or the tape is sealed without them;
 * (3) tapes.items[0] is the one at work, if one is; nobody else looks into that.
 */

/* One that ends a tape and one that begins the next. */
#define BLOCKS_MAX 2

struct waiting {
	struct tape *tape;
	uint64_t bytes;
	bool named;
};

struct sealer {
	struct store_writer *writer;
	const struct sealer_options *options;
	struct namer *namer;
	pthread_t thread;
	struct buffer packed; /* the block at work, as it goes into the spool; empty: none */
	uint64_t packed_sequence;
	uint64_t packed_until_ns;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	array_of(struct spool_block) blocks;
	array_of(struct waiting) tapes;
	array_of(uint64_t)
		forgotten; /* numbers of tapes that were given up, whose spools are to go */
	bool at_work;
	bool ending;
	struct tape_loss shed; /* what was given up and no segment tells of yet; count 0: nothing */
	struct sealer_status status;
};

/* Waits for something to do; false when there is nothing and nothing will come. */
static bool wait_for_work(struct sealer *sealer)
{
	bool there;

	pthread_mutex_lock(&sealer->lock);
	while (!sealer->tapes.count && !sealer->blocks.count && !sealer->ending)
		pthread_cond_wait(&sealer->changed, &sealer->lock);
	there = sealer->tapes.count || sealer->blocks.count;
	pthread_mutex_unlock(&sealer->lock);
	return there;
}

static void warn(struct sealer *sealer, const struct error *error)
{
	pthread_mutex_lock(&sealer->lock);
	sealer->status.warning = *error;
	pthread_mutex_unlock(&sealer->lock);
}

/* Removes what is beyond the limits. True when there is more room than before. */
static bool retain(struct sealer *sealer)
{
	struct store_retained retained = { 0 };
	struct error error = { 0 };

	if (!sealer->options->limits)
		return false;
	if (store_writer_retain(sealer->writer, sealer->options->limits, false, NULL, NULL,
		    &retained, &error) < 0)
		warn(sealer, &error);
	return retained.removed > 0;
}

/* Drops the blocks of tapes up to that number; the lock is held. */
static void drop_blocks(struct sealer *sealer, uint64_t sequence)
{
	size_t kept = 0;

	for (size_t i = 0; i < sealer->blocks.count; i++)
		if (sealer->blocks.items[i].sequence <= sequence)
			spool_block_done(&sealer->blocks.items[i]);
		else
			sealer->blocks.items[kept++] = sealer->blocks.items[i];
	sealer->blocks.count = kept;
}

/* The next block, packed. 1; 0 when there is none. */
static int next_block(struct sealer *sealer)
{
	struct spool_block block;
	int r;

	pthread_mutex_lock(&sealer->lock);
	if (!sealer->blocks.count) {
		pthread_mutex_unlock(&sealer->lock);
		return 0;
	}
	block = sealer->blocks.items[0];
	sealer->blocks.count--;
	memmove(sealer->blocks.items, sealer->blocks.items + 1,
		sealer->blocks.count * sizeof(block));
	pthread_mutex_unlock(&sealer->lock);
	sealer->packed_sequence = block.sequence;
	sealer->packed_until_ns = block.until_ns;
	r = spool_pack(&block, &sealer->packed);
	spool_block_done(&block);
	return r < 0 ? r : 1;
}

static int write_block(struct sealer *sealer, struct error *error)
{
	int r = store_writer_spool(sealer->writer, sealer->packed_sequence, sealer->packed.data,
		sealer->packed.size, error);

	if (r == -ENOSPC && retain(sealer))
		r = store_writer_spool(sealer->writer, sealer->packed_sequence, sealer->packed.data,
			sealer->packed.size, error);
	if (r < 0)
		return r;
	sealer->packed.size = 0;
	pthread_mutex_lock(&sealer->lock);
	sealer->status.spooled_ns = MAX(sealer->status.spooled_ns, sealer->packed_until_ns);
	pthread_mutex_unlock(&sealer->lock);
	return 0;
}

/* All blocks that wait, beginning with the one that could not be written the last time. */
static int write_blocks(struct sealer *sealer, struct error *error)
{
	int r = sealer->packed.size ? 1 : next_block(sealer);

	while (r == 1) {
		r = write_block(sealer, error);
		if (r == 0)
			r = next_block(sealer);
	}
	return r == -ENOMEM ? error_set(error, r, "out of memory while spooling") : r;
}

/* Their spools, if they have any, would tell of samples that were said to be lost. */
static void forget_tapes(struct sealer *sealer)
{
	uint64_t sequence;
	bool any = true;

	while (any) {
		pthread_mutex_lock(&sealer->lock);
		any = sealer->forgotten.count > 0;
		if (any)
			sequence = sealer->forgotten.items[--sealer->forgotten.count];
		pthread_mutex_unlock(&sealer->lock);
		if (!any)
			return;
		if (sealer->packed.size && sealer->packed_sequence == sequence)
			sealer->packed.size = 0;
		store_writer_forget(sealer->writer, sequence);
	}
}

/* The oldest tape, and how hard to pack it. */
static bool take_tape(struct sealer *sealer, struct waiting *ret_waiting,
	enum segment_effort *ret_effort, struct tape_loss *ret_shed)
{
	bool there;

	pthread_mutex_lock(&sealer->lock);
	there = sealer->tapes.count > 0;
	if (there) {
		*ret_waiting = sealer->tapes.items[0];
		*ret_effort =
			sealer->tapes.count > 1 || sealer->ending ? SEGMENT_HASTY : SEGMENT_USUAL;
		*ret_shed = sealer->shed;
		sealer->at_work = true;
	}
	pthread_mutex_unlock(&sealer->lock);
	return there;
}

/* Takes the oldest tape out of those that wait; the lock is held. */
static void remove_tape(struct sealer *sealer, size_t at)
{
	struct waiting *waiting = &sealer->tapes.items[at];

	drop_blocks(sealer, waiting->tape->sequence);
	tape_free(waiting->tape);
	sealer->tapes.count--;
	memmove(waiting, waiting + 1, (sealer->tapes.count - at) * sizeof(*waiting));
	sealer->status.waiting = sealer->tapes.count;
}

/* What has been shed since it was taken, it does not tell of. */
static void sealed(struct sealer *sealer, const struct waiting *waiting,
	const struct tape_loss *shed, uint64_t bytes)
{
	struct sealer_status *status = &sealer->status;

	if (sealer->packed_sequence == waiting->tape->sequence)
		sealer->packed.size = 0;
	pthread_mutex_lock(&sealer->lock);
	status->segments++;
	status->bytes += bytes;
	status->spooled_ns = MAX(status->spooled_ns, waiting->tape->end_ns);
	if (shed->count) {
		sealer->shed.count -= shed->count;
		sealer->shed.from_ns = shed->to_ns;
	}
	remove_tape(sealer, 0);
	sealer->at_work = false;
	pthread_cond_broadcast(&sealer->changed);
	pthread_mutex_unlock(&sealer->lock);
}

/* It stays where it is, to be tried again, unless there is no hope. */
static void not_sealed(
	struct sealer *sealer, const struct waiting *waiting, int r, const struct error *error)
{
	pthread_mutex_lock(&sealer->lock);
	sealer->tapes.items[0].named = waiting->named;
	if (sealer->ending || r == -EFBIG) {
		sealer->status.failed = r;
		sealer->status.given_up += waiting->tape->samples.count;
		sealer->status.error = *error;
		remove_tape(sealer, 0);
		pthread_cond_broadcast(&sealer->changed);
	}
	sealer->at_work = false;
	pthread_mutex_unlock(&sealer->lock);
}

static int name_tape(struct sealer *sealer, struct waiting *waiting, struct error *error)
{
	int r = waiting->named ? 0 : namer_run(sealer->namer, waiting->tape);

	waiting->named = r == 0;
	return r < 0 ? error_set(error, r, "out of memory while naming a segment") : 0;
}

/* The oldest tape that waits. 1 when it was sealed, 0 when there is none. */
static int seal_one(struct sealer *sealer, struct error *error)
{
	enum segment_effort effort;
	struct waiting waiting;
	struct tape_loss shed;
	uint64_t bytes = 0;
	int r;

	if (!take_tape(sealer, &waiting, &effort, &shed))
		return 0;
	r = name_tape(sealer, &waiting, error);
	if (r == 0 && shed.count)
		r = array_push(&waiting.tape->losses, shed);
	if (r == 0)
		r = store_writer_seal(sealer->writer, waiting.tape, effort, &bytes, error);
	if (r == -ENOSPC && retain(sealer))
		r = store_writer_seal(sealer->writer, waiting.tape, effort, &bytes, error);
	if (r == 1)
		warn(sealer, error);
	if (r >= 0) {
		sealed(sealer, &waiting, &shed, bytes);
		retain(sealer);
		return 1;
	}
	/* by the next time it may be more */
	if (shed.count)
		waiting.tape->losses.count--;
	not_sealed(sealer, &waiting, r, error);
	return r;
}

/* Says that the store cannot be written, and waits a second. */
static void stall(struct sealer *sealer, const struct error *error)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += 1;
	pthread_mutex_lock(&sealer->lock);
	sealer->status.stalled = true;
	sealer->status.error = *error;
	pthread_cond_broadcast(&sealer->changed);
	while (!sealer->ending &&
		pthread_cond_timedwait(&sealer->changed, &sealer->lock, &until) == 0)
		;
	/* at the end there is no other time: the tapes are tried once more, without their blocks */
	if (sealer->ending) {
		drop_blocks(sealer, UINT64_MAX);
		sealer->packed.size = 0;
	}
	pthread_mutex_unlock(&sealer->lock);
}

/* Blocks come first: they are small, and nobody has what is in them yet. A tape is tried even when they failed: it has no need of them. */
static void work(struct sealer *sealer)
{
	struct error error = { 0 };
	int r, s;

	forget_tapes(sealer);
	r = write_blocks(sealer, &error);
	s = seal_one(sealer, &error);
	if (s < 0 || (r < 0 && s == 0)) {
		stall(sealer, &error);
		return;
	}
	pthread_mutex_lock(&sealer->lock);
	sealer->status.stalled = false;
	pthread_mutex_unlock(&sealer->lock);
}

/* What a recorder before us left: of this boot its processes may still run, of another one only files can tell names. */
static int seal_recovered(void *context, struct store_writer *writer, struct tape *tape)
{
	struct sealer *sealer = context;
	_cleanup_(cleanup_namer) struct namer *other = NULL;
	struct namer *namer = sealer->namer;
	struct finder elsewhere = { .debug_dir = sealer->options->finder.debug_dir };
	struct error error = { 0 };
	int r = 0;

	if (strcmp(tape_fact(tape, "boot_id"), sealer->options->boot_id) != 0) {
		r = namer_new(&elsewhere, &other);
		namer = other;
	}
	if (r == 0)
		r = namer_run(namer, tape);
	if (r == 0)
		r = store_writer_seal(writer, tape, SEGMENT_USUAL, NULL, &error);
	if (r == -ENOSPC && retain(sealer))
		r = store_writer_seal(writer, tape, SEGMENT_USUAL, NULL, &error);
	if (r != 0)
		warn(sealer, &error);
	return MIN(r, 0);
}

static void recover(struct sealer *sealer)
{
	struct store_recovered recovered = { 0 };
	struct error error = { 0 };
	int r;

	if (!sealer->options->boot_id)
		return;
	r = store_writer_recover(sealer->writer, seal_recovered, sealer, &recovered, &error);
	if (r < 0 && *error.text)
		warn(sealer, &error);
	pthread_mutex_lock(&sealer->lock);
	sealer->status.recovered = recovered;
	pthread_mutex_unlock(&sealer->lock);
}

/* Who applies the limits later by hand applies the same. */
static void note_limits(struct sealer *sealer)
{
	struct error error = { 0 };

	if (sealer->options->limits &&
		store_writer_note_limits(sealer->writer, sealer->options->limits, &error) < 0)
		warn(sealer, &error);
}

static void *sealer_main(void *context)
{
	struct sealer *sealer = context;

	prctl(PR_SET_NAME, "perftape-seal");
	note_limits(sealer);
	recover(sealer);
	while (wait_for_work(sealer))
		work(sealer);
	forget_tapes(sealer);
	return NULL;
}

static void sealer_free(struct sealer *sealer)
{
	for (size_t i = 0; i < sealer->tapes.count; i++)
		tape_free(sealer->tapes.items[i].tape);
	drop_blocks(sealer, UINT64_MAX);
	array_done(&sealer->tapes);
	array_done(&sealer->blocks);
	array_done(&sealer->forgotten);
	buffer_done(&sealer->packed);
	namer_free(sealer->namer);
	pthread_cond_destroy(&sealer->changed);
	pthread_mutex_destroy(&sealer->lock);
	free(sealer);
}

/* Signals are for the thread that drains. */
static int start_thread(struct sealer *sealer)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&sealer->thread, NULL, sealer_main, sealer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

int sealer_start(struct store_writer *writer, const struct sealer_options *options,
	struct sealer **ret_sealer, struct error *error)
{
	struct sealer *sealer = calloc(1, sizeof(*sealer));
	pthread_condattr_t clock;
	int r;

	if (!sealer)
		return -ENOMEM;
	sealer->writer = writer;
	sealer->options = options;
	pthread_mutex_init(&sealer->lock, NULL);
	/* the wall clock may be set back while somebody waits */
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&sealer->changed, &clock);
	pthread_condattr_destroy(&clock);
	r = namer_new(&options->finder, &sealer->namer);
	if (r == 0)
		r = start_thread(sealer);
	if (r < 0) {
		sealer_free(sealer);
		return error_set(error, r, "starting the sealing thread: %s", strerror(-r));
	}
	*ret_sealer = sealer;
	return 0;
}

struct sealer *sealer_stop(struct sealer *sealer, struct sealer_status *ret_status)
{
	if (!sealer)
		return NULL;
	pthread_mutex_lock(&sealer->lock);
	sealer->ending = true;
	pthread_cond_broadcast(&sealer->changed);
	pthread_mutex_unlock(&sealer->lock);
	pthread_join(sealer->thread, NULL);
	if (ret_status)
		*ret_status = sealer->status;
	sealer_free(sealer);
	return NULL;
}

uint64_t sealer_number(struct sealer *sealer)
{
	return store_writer_number(sealer->writer);
}

bool sealer_takes_block(struct sealer *sealer)
{
	bool takes;

	pthread_mutex_lock(&sealer->lock);
	takes = sealer->blocks.count < BLOCKS_MAX;
	pthread_mutex_unlock(&sealer->lock);
	return takes;
}

int sealer_put_block(struct sealer *sealer, struct spool_block *block)
{
	int r;

	pthread_mutex_lock(&sealer->lock);
	r = array_push(&sealer->blocks, *block);
	pthread_cond_broadcast(&sealer->changed);
	pthread_mutex_unlock(&sealer->lock);
	if (r < 0)
		spool_block_done(block);
	*block = (struct spool_block){ 0 };
	return r;
}

/* What a tape takes in memory, but for a little. */
static uint64_t tape_bytes(const struct tape *tape)
{
	return tape->samples.capacity * sizeof(*tape->samples.items) +
	       tape->stacks.capacity * sizeof(*tape->stacks.items) +
	       tape->frames.capacity * sizeof(*tape->frames.items) +
	       tape->threads.capacity * sizeof(*tape->threads.items) +
	       tape->modules.capacity * sizeof(*tape->modules.items) +
	       tape->losses.capacity * sizeof(*tape->losses.items) +
	       tape->points.capacity * sizeof(*tape->points.items) + tape->strings.text.capacity;
}

/* Gives up one tape; the lock is held. */
static void shed_tape(struct sealer *sealer, size_t at)
{
	const struct tape *tape = sealer->tapes.items[at].tape;
	struct tape_loss *shed = &sealer->shed;

	if (!shed->count)
		*shed = (struct tape_loss){ TAPE_LOSS_SHED, TAPE_ALL_CPUS, tape->begin_ns,
			tape->end_ns, 0 };
	/* one that was at work when younger ones were shed may be next */
	shed->from_ns = MIN(shed->from_ns, tape->begin_ns);
	shed->to_ns = MAX(shed->to_ns, tape->end_ns);
	shed->count += MAX(tape->samples.count, 1u);
	sealer->status.given_up += tape->samples.count;
	remove_tape(sealer, at);
}

/* Who puts a tape sheds: the thread may hang in the disk for as long as it likes. The one that was just put stays. */
static void keep_bound(struct sealer *sealer)
{
	size_t first = sealer->at_work;
	uint64_t bytes = 0;

	for (size_t i = 0; i < sealer->tapes.count; i++)
		bytes += sealer->tapes.items[i].bytes;
	while (sealer->options->memory_bytes && bytes > sealer->options->memory_bytes &&
		sealer->tapes.count > first + 1 &&
		array_push(&sealer->forgotten, sealer->tapes.items[first].tape->sequence) == 0) {
		bytes -= sealer->tapes.items[first].bytes;
		shed_tape(sealer, first);
	}
}

int sealer_put(struct sealer *sealer, struct tape *tape)
{
	int r;

	pthread_mutex_lock(&sealer->lock);
	r = array_push(&sealer->tapes, (struct waiting){ .tape = tape, .bytes = tape_bytes(tape) });
	if (r == 0) {
		sealer->status.waiting = sealer->tapes.count;
		keep_bound(sealer);
	}
	pthread_cond_broadcast(&sealer->changed);
	pthread_mutex_unlock(&sealer->lock);
	if (r < 0)
		tape_free(tape);
	return r;
}

void sealer_status(struct sealer *sealer, struct sealer_status *ret_status)
{
	pthread_mutex_lock(&sealer->lock);
	*ret_status = sealer->status;
	pthread_mutex_unlock(&sealer->lock);
}

int sealer_wait(struct sealer *sealer, size_t fewer_than)
{
	bool stalled;

	pthread_mutex_lock(&sealer->lock);
	while (sealer->status.waiting >= fewer_than && !sealer->status.stalled)
		pthread_cond_wait(&sealer->changed, &sealer->lock);
	stalled = sealer->status.stalled || sealer->status.failed;
	pthread_mutex_unlock(&sealer->lock);
	return stalled ? -EIO : 0;
}
