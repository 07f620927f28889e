// SPDX-License-Identifier: GPL-2.0-only
/*
 * A recording from hostile ring buffers. Their memory is a file into which the input writes in
 * place of the kernel. So records cross the end of a ring, are truncated, out of order or nonsense.
 * They pass through libperf, decoder, reorder, tracker, tape_builder and losses into tapes and
 * blocks of the spool. Each sample must be in one tape, in its time, and each lost sample must be
 * reported once.
 *
 * The input states where in the rings it begins; then it consists of moves. A byte says which move
 * it is, and its arguments follow.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "recorder/pipeline/pipeline.h"
#include "recorder/perf/perf-attr.h"
#include "recorder/perf/perf-channel.h"
#include "tests/played-events.h"
#include "tests/small-caches.h"
#include "tests/tape-sound.h"

/* One ring for samples, and one for side-band records. */
#define RINGS 2

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
uint64_t __wrap_sealer_next_number(struct sealer *sealer);
bool __wrap_sealer_has_room(struct sealer *sealer);
int __wrap_sealer_put_block(struct sealer *sealer, struct spool_block *block);
int __wrap_sealer_put(struct sealer *sealer, struct tape *tape);

#define RING_BYTES 8192
#define BEGIN_NS (1000 * NSEC_PER_SEC)
/* A record may lie hours ahead. Long segments keep the number of tapes small. */
#define SEGMENT_NS (3600 * NSEC_PER_SEC)
#define CPUS 4

/* The file of each ring, and the results. */
static struct {
	int fd;
	struct perf_event_mmap_page *page;
	uint8_t *bytes;
	struct perf_channel *channel;
} rings[RINGS];

static struct {
	uint64_t number;
	uint64_t samples;
	uint64_t lost;
	/* number of samples in the tapes */
	uint64_t blocks;
	bool takes;
} sealed;

static long play_open_event(struct perf_event_attr *attr, long pid, long cpu, long group,
			    unsigned long flags)
{
	return dup(
		rings[attr->config == PERF_COUNT_SW_DUMMY ? PERF_RING_SIDEBAND : PERF_RING_SAMPLES]
			.fd);
}

uint64_t __wrap_sealer_next_number(struct sealer *sealer)
{
	return sealed.number++;
}

bool __wrap_sealer_has_room(struct sealer *sealer)
{
	return sealed.takes;
}

int __wrap_sealer_put_block(struct sealer *sealer, struct spool_block *block)
{
	sealed.blocks += block->samples;
	spool_block_done(block);
	return 0;
}

int __wrap_sealer_put(struct sealer *sealer, struct tape *tape)
{
	if (tape_sort_samples(tape) < 0)
		abort();
	/* as sealing does: a late sample may lie before the tape */
	tape_span_samples(tape);
	if (!tape_is_sound(tape))
		abort();
	sealed.samples += tape->samples.count;
	for (size_t i = 0; i < tape->losses.count; i++)
		if (tape->losses.items[i].kind == TAPE_LOSS_SAMPLES)
			sealed.lost += tape->losses.items[i].count;
	tape_free(tape);
	return 0;
}

static void open_ring(enum perf_ring ring, const struct perf_event_attr *attr, uint64_t begin)
{
	size_t page = sysconf(_SC_PAGESIZE), size = page + RING_BYTES;
	void *memory;

	rings[ring].fd = memfd_create("ring", MFD_CLOEXEC);
	if (rings[ring].fd < 0 || ftruncate(rings[ring].fd, size) < 0)
		abort();
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, rings[ring].fd, 0);
	if (memory == MAP_FAILED)
		abort();
	rings[ring].page = memory;
	rings[ring].bytes = (uint8_t *)memory + page;
	rings[ring].page->data_head = rings[ring].page->data_tail = begin;
	if (perf_channel_open(attr, 1, 0, &rings[ring].channel) < 0 ||
	    perf_channel_map(rings[ring].channel, RING_BYTES) < 0)
		abort();
}

static void close_ring(enum perf_ring ring)
{
	perf_channel_close(rings[ring].channel);
	munmap(rings[ring].page, sysconf(_SC_PAGESIZE) + RING_BYTES);
	close(rings[ring].fd);
}

struct play {
	struct pipeline pipeline;
	struct pipeline_source sources[PIPELINE_RINGS];
	enum perf_ring drained;
	uint64_t now_ns;
	uint64_t counted[CPUS];
};

static void write_record(enum perf_ring ring, const uint8_t *bytes, size_t size)
{
	uint64_t head = rings[ring].page->data_head;

	for (size_t i = 0; i < size; i++)
		rings[ring].bytes[(head + i) % RING_BYTES] = bytes[i];
	rings[ring].bytes[(head + 6) % RING_BYTES] = size;
	rings[ring].bytes[(head + 7) % RING_BYTES] = size >> 8;
	rings[ring].page->data_head = head + size;
}

/*
 * Writes a record into a ring; the input contains the record's contents. The kernel promises that
 * the size of a record is a multiple of 8, and that it wrote that many bytes; libperf relies on
 * this. It does not promise to keep bytes that were not read yet.
 */
static void write_ring(enum perf_ring ring, struct reader *input)
{
	size_t left = MIN((size_t)reader_u16(input) % RING_BYTES, reader_left(input)) & ~7ul;
	const uint8_t *bytes = reader_take(input, left);

	while (bytes && left) {
		size_t claimed = (bytes[6] | bytes[7] << 8) & ~7ul;
		size_t size = claimed && claimed < left ? claimed : left;

		write_record(ring, bytes, size);
		bytes += size;
		left -= size;
	}
}

static int collect(void *context, const uint8_t *record, size_t size)
{
	struct play *play = context;
	struct perf_record_place place =
		perf_record_place(play->sources[play->drained].layout, record, size);

	return pipeline_add(&play->pipeline, play->drained, &place, record, size);
}

static int drain(struct play *play)
{
	int r = 0;

	for (play->drained = 0; r == 0 && play->drained < RINGS; play->drained++)
		r = perf_channel_drain(rings[play->drained].channel, collect, play);
	return r;
}

static int turn(struct play *play, uint64_t step_ns)
{
	struct tape_anchor anchor = { 0 };
	int r = drain(play);

	play->now_ns += step_ns;
	anchor = (struct tape_anchor){ play->now_ns, play->now_ns, play->now_ns, play->now_ns, 1 };
	if (r == 0)
		r = pipeline_anchor(&play->pipeline, &anchor);
	if (r == 0)
		r = pipeline_flush(&play->pipeline, play->now_ns - NSEC_PER_SEC / 10);
	return r == 0 ? pipeline_spool(&play->pipeline, play->now_ns - NSEC_PER_SEC / 10) : r;
}

static int count(struct play *play, uint32_t cpu, uint64_t more)
{
	play->counted[cpu] += more;
	return pipeline_counted(&play->pipeline, cpu, play->counted[cpu], play->now_ns);
}

/* The CPU comes back online. Its events are new, and have not lost samples yet. */
static int come_or_go(struct play *play, uint32_t cpu, bool online)
{
	play->counted[cpu] = 0;
	return pipeline_cpu(&play->pipeline, cpu, online, play->now_ns);
}

static int move(struct play *play, struct reader *input)
{
	uint8_t which = reader_u8(input);
	enum perf_ring ring = which & 1 ? PERF_RING_SIDEBAND : PERF_RING_SAMPLES;

	switch (which % 16 / 2) {
	case 0:
	case 1:
	case 2:
		write_ring(ring, input);
		return 0;
	case 3:
		return drain(play);
	case 4:
		sealed.takes = which & 1;
		return turn(play, reader_u32(input));
	case 5:
		return pipeline_rotate(&play->pipeline, play->now_ns - NSEC_PER_SEC / 10);
	case 6:
		return count(play, which / 16 % CPUS, reader_u16(input));
	default:
		return come_or_go(play, which / 16 % CPUS, which & 1);
	}
}

static int play_all(struct play *play, struct reader *input)
{
	struct tape_anchor anchor = { BEGIN_NS, BEGIN_NS, BEGIN_NS, BEGIN_NS, 1 };
	int r = pipeline_anchor(&play->pipeline, &anchor);

	play->now_ns = BEGIN_NS;
	if (r == 0)
		r = pipeline_begin(&play->pipeline, BEGIN_NS);
	while (r == 0 && reader_left(input))
		r = move(play, input);
	if (r == 0)
		r = drain(play);
	return r == 0 ? pipeline_end(&play->pipeline, play->now_ns, NULL) : r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct pipeline_fact facts[] = { { "host", "here" }, { 0 } };
	static const struct perf_events_options asked = { .frequency = 97 };
	struct perf_event_attr attrs[RINGS] = {
		[PERF_RING_SAMPLES] =
			perf_attr_samples(perf_attr_event("cpu-clock"), &asked, RING_BYTES, 0),
		[PERF_RING_SIDEBAND] = perf_attr_sideband(0),
	};
	struct perf_layout layouts[RINGS];
	struct play play = { 0 };
	struct pipeline_options options = { .segment_ns = SEGMENT_NS,
					    .sources = play.sources,
					    .facts = facts,
					    .period_ns = NSEC_PER_SEC / 97 };
	struct reader input;
	uint64_t begin;

	reader_init(&input, data, size);
	begin = reader_u32(&input) & ~7ul;
	memset(&sealed, 0, sizeof(sealed));
	perf_channel_setup();
	for (int ring = 0; ring < RINGS; ring++) {
		layouts[ring] = perf_attr_layout(&attrs[ring]);
		play.sources[ring] = (struct pipeline_source){
			.layout = &layouts[ring], .ring = ring, .samples = ring == PERF_RING_SAMPLES
		};
		open_ring(ring, &attrs[ring], begin);
	}
	if (pipeline_init(&play.pipeline, &options) == 0 && play_all(&play, &input) == 0 &&
	    (sealed.samples != play.pipeline.samples ||
	     sealed.lost != play.pipeline.losses.counts.lost))
		abort();
	for (int ring = 0; ring < RINGS; ring++)
		close_ring(ring);
	pipeline_done(&play.pipeline);
	return 0;
}
