// SPDX-License-Identifier: GPL-2.0-only
/*
 * Losses in a hostile ring buffer: LOST, THROTTLE and samples at any time and on any CPU, idle
 * times that jump, limits that change, tapes that end in between. The input consists of moves of 14
 * bytes: the kind, a CPU, a step of time, a number. Each lost sample must be reported once.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "recorder/build/losses.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOVE_SIZE 14
#define COUNT_MAX (1ull << 40)

struct play {
	struct losses losses;
	uint64_t now_ns;
	/* lost samples that the tapes report */
	uint64_t told;
};

static int end_tape(struct play *play)
{
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	int r = tape_new(&tape);

	if (r < 0)
		return r;
	tape->begin_ns = play->now_ns / 2;
	tape->end_ns = play->now_ns;
	r = losses_move_to_tape(&play->losses, tape, tape->end_ns);
	for (size_t i = 0; i < tape->losses.count; i++) {
		const struct tape_loss *loss = &tape->losses.items[i];

		if (loss->from_ns > loss->to_ns)
			abort();
		if (loss->kind == TAPE_LOSS_SAMPLES)
			play->told += loss->count;
	}
	return r;
}

static int settle(struct play *play, uint64_t number)
{
	char text[128];
	struct cpu_idle idle = { .time_ns = play->now_ns };
	int r;

	snprintf(text, sizeof(text), "cpu 1 2 3 4 5\ncpu0 1 2 3 %u %u\ncpu%u 1 2 3 %u 0\n",
		 (unsigned int)number, (unsigned int)(number >> 8), (unsigned int)(number & 7),
		 (unsigned int)(number >> 16));
	r = cpu_idle_parse(text, &idle);
	if (r == 0)
		r = losses_set_idle(&play->losses, &idle);
	if (r == 0 && losses_settle_at(&play->losses))
		r = losses_settle(&play->losses);
	cpu_idle_done(&idle);
	return r;
}

static int throttle(struct play *play, uint32_t cpu, bool on)
{
	struct perf_record record = {
		.type = on ? PERF_TYPE_THROTTLE : PERF_TYPE_UNTHROTTLE,
		.cpu = cpu,
		.time_ns = play->now_ns,
	};

	return losses_throttle(&play->losses, &record);
}

static int move(struct play *play, struct reader *reader)
{
	struct losses *losses = &play->losses;
	uint8_t which = reader_u8(reader), number8 = reader_u8(reader);
	/* a few real CPUs, and some numbers that machines lack */
	uint32_t cpu = number8 < 250 ? number8 % 8 : UINT32_MAX - number8;
	uint64_t step_ns = reader_u32(reader), number = reader_u64(reader) % COUNT_MAX;

	play->now_ns += step_ns;
	switch (which % 10) {
	case 0:
		return losses_lost(losses, which & 16, cpu, play->now_ns - step_ns, play->now_ns,
				   number);
	case 1:
		return losses_counted(losses, cpu, play->now_ns - step_ns, play->now_ns, number);
	case 2:
		losses_lost_slots(losses, cpu, number);
		return 0;
	case 3:
		losses_truncated(losses, cpu, play->now_ns);
		return 0;
	case 4:
		return throttle(play, cpu, number & 1);
	case 5:
		return losses_online(losses, cpu, number & 1, play->now_ns);
	case 6:
		return losses_limit(losses, number % 3, play->now_ns);
	case 7:
		return settle(play, number);
	case 8:
		return end_tape(play);
	default:
		/* may come late */
		losses_sample(losses, cpu, play->now_ns - number % 2000000000, number & 1);
		return 0;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct play play = { .losses.period_ns = 10309278, .now_ns = 1ull << 40 };
	struct reader reader;
	int r = 0;

	reader_init(&reader, data, size);
	while (r == 0 && reader_left(&reader) >= MOVE_SIZE)
		r = move(&play, &reader);
	play.now_ns += 1ull << 40;
	if (r == 0)
		r = end_tape(&play);
	if (r == 0 && play.told != play.losses.counts.lost)
		abort();
	losses_done(&play.losses);
	return 0;
}
