// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds which CPUs were busy in which seconds of a tape, from samples and from gauges, and stores
 * the result in the section.
 */
#include "tests/check.h"

#include "tape/busy.h"
#include "tape/segment/section.h"
#include "tape/segment/segment.h"
#include "tests/tapes.h"

#define SAMPLE_NS 10309278

/* The work of a CPU between two moments, in ms after the tape's begin. */
struct stretch {
	unsigned int from_ms, to_ms;
	uint32_t cpu, thread, stack;
};

static void put_stretch(struct tape *tape, const struct stretch *stretch)
{
	uint64_t from_ns = tape->begin_ns + stretch->from_ms * NSEC_PER_MSEC;
	uint64_t to_ns = tape->begin_ns + stretch->to_ms * NSEC_PER_MSEC;

	for (uint64_t ns = tape->begin_ns + SAMPLE_NS / 3; ns < to_ns; ns += SAMPLE_NS)
		if (ns >= from_ns)
			tapes_sample(tape, ns / 1000 * 1000, stretch->cpu, stretch->thread,
				     stretch->stack);
}

/*
 * All CPUs idle, except CPU 1, which spins in the kernel from the third second to the eighth. After
 * that, CPU 1 lacks samples for two seconds.
 */
static struct tape *make_tape(unsigned int begin_ms, unsigned int end_ms)
{
	struct tape *tape = tapes_new(0, 0);
	uint32_t idle = tapes_thread(tape, 0, 0, "swapper");
	uint32_t spinner = tapes_thread(tape, 7, 8, "spinner");
	uint32_t halt = tapes_kernel(tape, "do_idle;native_safe_halt");
	uint32_t spin = tapes_kernel(tape, "do_syscall_64;read_zero");

	tape->begin_ns += begin_ms * NSEC_PER_MSEC;
	tape->end_ns += end_ms * NSEC_PER_MSEC;
	end_ms -= begin_ms;
	CHECK_EQ(tape_add_fact(tape, "cpus", "2"), 0);
	put_stretch(tape, &(struct stretch){ 0, end_ms, 0, idle, halt });
	put_stretch(tape, &(struct stretch){ 0, 3000, 1, idle, halt });
	put_stretch(tape, &(struct stretch){ 3000, 8000, 1, spinner, spin });
	put_stretch(tape, &(struct stretch){ 10000, end_ms, 1, idle, halt });
	CHECK_EQ(tape_sort_samples(tape), 0);
	return tape;
}

static const struct busy_cell *cell_at(const struct busy *busy, uint32_t cpu, unsigned int second)
{
	for (size_t i = 0; i < busy->cells.count; i++) {
		const struct busy_cell *cell = &busy->cells.items[i];
		const struct busy_slot *slot = &busy->slots.items[cell->slot];

		if (cell->cpu == cpu && slot->realtime_ns == TAPES_REALTIME + second * NSEC_PER_SEC)
			return cell;
	}
	return NULL;
}

static void test_seconds(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = make_tape(0, 12000);
	struct busy busy;

	CHECK_EQ(busy_make(tape, &busy), 0);
	CHECK(busy.known);
	CHECK_EQ(busy.cpus, 2);
	CHECK_EQ(busy.cells.count, 5);
	for (unsigned int second = 3; second < 8; second++) {
		const struct busy_cell *cell = cell_at(&busy, 1, second);

		CHECK(cell);
		CHECK_EQ(cell->busy, 100);
		CHECK_EQ(cell->kernel, 100);
		CHECK_EQ(cell->irq, 0);
		CHECK_EQ(cell->unseen, 0);
		CHECK_EQ(cell->gauges, BUSY_UNKNOWN);
		CHECK_EQ(cell->thread, 1);
		CHECK_EQ(cell->thread_share, 100);
		CHECK_STR(strings_at(&busy.names, cell->function), "read_zero");
		CHECK_EQ(busy.slots.items[cell->slot].machine, 500);
	}
	CHECK_EQ(busy.threads.items[0].tid, 8);
	CHECK_STR(strings_at(&busy.names, busy.threads.items[0].comm), "spinner");
	busy_done(&busy);
}

/* Less than half a second at the begin or end belongs to the adjacent second. */
static void test_edges(void)
{
	static const struct {
		unsigned int begin_ms, end_ms;
		/* the edges of the first and the last slot */
		uint64_t first_ms, last_ms;
	} cases[] = {
		{ 4000, 7000, 1000, 1000 },
		{ 4600, 7400, 1400, 1400 },
		{ 4400, 7600, 600, 600 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct tape *tape = tapes_new(0, 0);
		uint32_t thread = tapes_thread(tape, 7, 8, "spinner");
		uint32_t spin = tapes_kernel(tape, "read_zero");
		struct busy busy;

		tape->begin_ns += cases[i].begin_ms * NSEC_PER_MSEC;
		tape->end_ns += cases[i].end_ms * NSEC_PER_MSEC;
		put_stretch(tape, &(struct stretch){ 0, 4000, 1, thread, spin });
		while (tape->samples.items[tape->samples.count - 1].time_ns >= tape->end_ns)
			tape->samples.count--;
		CHECK_EQ(busy_make(tape, &busy), 0);
		CHECK_EQ(busy.cells.count, busy.slots.count);
		CHECK_EQ(busy.slots.items[0].perf_ns, tape->begin_ns);
		CHECK_EQ(busy.slots.items[0].length_ns, cases[i].first_ms * NSEC_PER_MSEC);
		CHECK_EQ(busy.slots.items[busy.slots.count - 1].length_ns,
			 cases[i].last_ms * NSEC_PER_MSEC);
		for (size_t j = 1; j < busy.slots.count; j++)
			CHECK_EQ(busy.slots.items[j].perf_ns,
				 busy.slots.items[j - 1].perf_ns +
					 busy.slots.items[j - 1].length_ns);
		busy_done(&busy);
		tape_free(tape);
	}
}

/*
 * Puts readings of a CPU each second, but not at whole seconds. The CPU idled except between two of
 * the readings.
 */
static void put_figures(struct tape *tape, unsigned int from, unsigned int to, const char *what)
{
	char name[64];
	uint32_t idle, other;
	int64_t idle_ms = 5000, other_ms = 700;

	CHECK_EQ(tape_add_gauge(tape, "cpu1/idle_ms", &idle), 0);
	snprintf(name, sizeof(name), "cpu1/%s_ms", what);
	CHECK_EQ(tape_add_gauge(tape, name, &other), 0);
	for (uint64_t ms = 250; tape->begin_ns + ms * NSEC_PER_MSEC < tape->end_ns; ms += 250) {
		bool idles = ms <= from * 1000 || ms > to * 1000;

		idle_ms += idles ? 250 : 0;
		other_ms += idles ? 0 : 250;
		CHECK_EQ(tape_add_point(tape, idle, tape->begin_ns + ms * NSEC_PER_MSEC, idle_ms),
			 0);
		CHECK_EQ(tape_add_point(tape, other, tape->begin_ns + ms * NSEC_PER_MSEC, other_ms),
			 0);
	}
}

/* For seconds without samples, the gauges show that the CPU was busy, and with what. */
static void test_figures(void)
{
	static const struct {
		const char *what;
		int kernel, irq;
	} cases[] = {
		{ "system", 100, 0 },
		{ "softirq", 0, 100 },
		{ "user", 0, 0 },
		/* no counter counted this time, because interrupts were off */
		{ "nothing", 100, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(cleanup_tape) struct tape *tape = make_tape(0, 12000);
		const struct busy_cell *seen, *unseen;
		struct busy busy;

		put_figures(tape, 3, 10, cases[i].what);
		CHECK_EQ(busy_make(tape, &busy), 0);
		CHECK_EQ(busy.cells.count, 7);
		seen = cell_at(&busy, 1, 5);
		CHECK_EQ(seen->kernel, 100);
		CHECK_EQ(seen->unseen, 0);
		CHECK_EQ(seen->gauges, 100);
		unseen = cell_at(&busy, 1, 9);
		CHECK_EQ(unseen->busy, 100);
		CHECK_EQ(unseen->unseen, 100);
		CHECK_EQ(unseen->kernel, cases[i].kernel);
		CHECK_EQ(unseen->irq, cases[i].irq);
		CHECK_EQ(unseen->thread, 0);
		CHECK_EQ(unseen->function, 0);
		busy_done(&busy);
	}
}

/* If samples and gauges differ, samples count, and the value of the gauges is reported too. */
static void test_differ(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = make_tape(0, 12000);
	struct busy busy;

	put_figures(tape, 100, 100, "system");
	CHECK_EQ(busy_make(tape, &busy), 0);
	CHECK_EQ(busy.cells.count, 5);
	CHECK_EQ(cell_at(&busy, 1, 5)->busy, 100);
	CHECK_EQ(cell_at(&busy, 1, 5)->gauges, 0);
	busy_done(&busy);
}

static void put_loss(struct tape *tape, uint32_t kind, uint32_t cpu, unsigned int from,
		     unsigned int to)
{
	struct tape_loss loss = { kind, cpu, tape->begin_ns + from * NSEC_PER_SEC,
				  tape->begin_ns + to * NSEC_PER_SEC, (to - from) * 97 };

	CHECK_EQ(array_push(&tape->losses, loss), 0);
}

/*
 * The counters of an offline CPU do not change and are not read. The CPU is not busy then, but the
 * rest of that second counts.
 */
static void test_offline(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = make_tape(0, 12000);
	struct tape_loss loss = { TAPE_LOSS_OFFLINE, 1, tape->begin_ns + 7900 * NSEC_PER_MSEC,
				  tape->begin_ns + 10050 * NSEC_PER_MSEC, 1 };
	struct busy busy;

	put_figures(tape, 3, 10, "system");
	for (size_t i = 0; i < tape->gauges.count; i++) {
		struct tape_gauge *gauge = &tape->gauges.items[i];
		struct tape_point *points = &tape->points.items[gauge->first];
		uint32_t kept = 0;

		for (uint32_t j = 0; j < gauge->count; j++)
			if (points[j].time_ns < loss.from_ns || points[j].time_ns > loss.to_ns)
				points[kept++] = points[j];
		gauge->count = kept;
	}
	CHECK_EQ(busy_make(tape, &busy), 0);
	CHECK_EQ(busy.cells.count, 7);
	busy_done(&busy);
	CHECK_EQ(array_push(&tape->losses, loss), 0);
	CHECK_EQ(busy_make(tape, &busy), 0);
	CHECK_EQ(busy.cells.count, 5);
	CHECK_EQ(cell_at(&busy, 1, 6)->busy, 100);
	CHECK(cell_at(&busy, 1, 7)->busy >= 90 && cell_at(&busy, 1, 7)->busy <= 100);
	CHECK_EQ(cell_at(&busy, 1, 7)->unseen, 0);
	busy_done(&busy);
}

static void test_losses(void)
{
	static const struct {
		uint32_t kind, cpu;
		unsigned int from, to;
		size_t cells;
	} cases[] = {
		{ TAPE_LOSS_SKIPPED, 1, 8, 10, 7 }, /* its timer was late */
		{ TAPE_LOSS_SKIPPED, 0, 8, 10, 5 },
		{ TAPE_LOSS_SAMPLES, 1, 8, 10, 5 }, /* the CPU may also have idled */
		{ TAPE_LOSS_GAP, TAPE_ALL_CPUS, 4, 6, 3 },
		{ TAPE_LOSS_DAMAGED, TAPE_ALL_CPUS, 0, 12, 0 },
		{ 99, 1, 8, 10, 5 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(cleanup_tape) struct tape *tape = make_tape(0, 12000);
		struct busy busy;

		put_loss(tape, cases[i].kind, cases[i].cpu, cases[i].from, cases[i].to);
		CHECK_EQ(busy_make(tape, &busy), 0);
		CHECK_EQ(busy.cells.count, cases[i].cells);
		busy_done(&busy);
	}
}

/* Half of the samples of a second were lost. The lost half counts like the other half. */
static void test_lost_in_part(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = make_tape(0, 12000);
	size_t kept = 0;
	struct busy busy;

	for (size_t i = 0; i < tape->samples.count; i++) {
		const struct tape_sample *sample = &tape->samples.items[i];
		uint64_t into_ns = sample->time_ns - tape->begin_ns;

		if (sample->cpu == 1 && into_ns / NSEC_PER_SEC == 5 &&
		    into_ns % NSEC_PER_SEC > 600 * NSEC_PER_MSEC)
			continue;
		tape->samples.items[kept++] = *sample;
	}
	tape->samples.count = kept;
	CHECK_EQ(busy_make(tape, &busy), 0);
	CHECK_EQ(busy.cells.count, 4);
	busy_done(&busy);
	put_loss(tape, TAPE_LOSS_SAMPLES, 1, 5, 6);
	CHECK_EQ(busy_make(tape, &busy), 0);
	CHECK_EQ(busy.cells.count, 5);
	CHECK_EQ(cell_at(&busy, 1, 5)->busy, 100);
	busy_done(&busy);
}

/*
 * If the sampling rate is unknown, nobody knows how busy a CPU was. An event that counts work does
 * not sample idle CPUs.
 */
static void test_events(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = make_tape(0, 12000);
	struct busy busy;

	put_figures(tape, 0, 12, "system");
	for (size_t i = 0; i < tape->facts.count; i++)
		if (strcmp(tape_string(tape, tape->facts.items[i].key), "event") == 0)
			tape->facts.items[i].value = tapes_string(tape, "cycles");
	CHECK_EQ(busy_make(tape, &busy), 0);
	CHECK(busy.known);
	CHECK_EQ(busy.cells.count, 5);
	busy_done(&busy);
	for (size_t i = 0; i < tape->facts.count; i++)
		if (strcmp(tape_string(tape, tape->facts.items[i].key), "frequency") == 0)
			tape->facts.items[i].value = 0;
	CHECK_EQ(busy_make(tape, &busy), 0);
	CHECK(!busy.known);
	CHECK_EQ(busy.cells.count, 0);
	busy_done(&busy);
}

static void set_fact(struct tape *tape, const char *key, const char *value)
{
	for (size_t i = 0; i < tape->facts.count; i++)
		if (strcmp(tape_string(tape, tape->facts.items[i].key), key) == 0)
			tape->facts.items[i].value = tapes_string(tape, value);
}

/* Returns how busy a CPU is with `samples` samples in a second in which `of` were due. */
static int busy_of(const char *frequency, unsigned int samples, unsigned int of)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 12);
	uint32_t thread = tapes_thread(tape, 7, 8, "spinner");
	uint32_t spin = tapes_kernel(tape, "read_zero");
	const struct busy_cell *cell;
	struct busy busy;
	int share = 0;

	set_fact(tape, "frequency", frequency);
	for (unsigned int i = 0; i < samples; i++)
		tapes_sample(tape, tape->begin_ns + 5 * NSEC_PER_SEC + i * NSEC_PER_SEC / of, 1,
			     thread, spin);
	CHECK_EQ(busy_make(tape, &busy), 0);
	cell = cell_at(&busy, 1, 5);
	share = cell ? cell->busy : 0;
	CHECK_EQ(busy.known, of >= 10);
	busy_done(&busy);
	return share;
}

/* A few skipped samples among many are chance. A few skipped samples among few are not. */
static void test_low_rates(void)
{
	CHECK_EQ(busy_of("97", 96, 97), 100);
	CHECK_EQ(busy_of("10", 9, 10), 100);
	CHECK_EQ(busy_of("10", 8, 10), 80);
	CHECK_EQ(busy_of("2", 1, 2), 0);
	CHECK_EQ(busy_of("1", 1, 1), 0);
}

/*
 * The wall clock is set forward by an hour while the CPU spins. No time is lost or counted twice.
 */
static void test_step(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = make_tape(0, 12000);
	uint64_t length_ns = 0;
	struct busy busy;

	tapes_anchor(tape, TAPES_PERF + 5300 * NSEC_PER_MSEC,
		     TAPES_REALTIME + 5300 * NSEC_PER_MSEC);
	tapes_anchor(tape, TAPES_PERF + 5400 * NSEC_PER_MSEC,
		     TAPES_REALTIME + 5400 * NSEC_PER_MSEC + 3600 * NSEC_PER_SEC);
	CHECK_EQ(busy_make(tape, &busy), 0);
	for (size_t i = 0; i < busy.slots.count; i++) {
		length_ns += busy.slots.items[i].length_ns;
		if (i)
			CHECK(busy.slots.items[i].perf_ns >=
			      busy.slots.items[i - 1].perf_ns + busy.slots.items[i - 1].length_ns);
	}
	CHECK_EQ(length_ns, 5 * NSEC_PER_SEC);
	CHECK(busy.slots.items[busy.slots.count - 1].realtime_ns >
	      TAPES_REALTIME + 3600 * NSEC_PER_SEC);
	busy_done(&busy);
}

static void check_equal(const struct busy *a, const struct busy *b)
{
	CHECK_EQ(a->known, b->known);
	CHECK_EQ(a->cpus, b->cpus);
	CHECK_EQ(a->slots.count, b->slots.count);
	CHECK_EQ(a->threads.count, b->threads.count);
	CHECK_EQ(a->cells.count, b->cells.count);
	CHECK_EQ(strings_count(&a->names), strings_count(&b->names));
	for (uint32_t i = 0; i < strings_count(&a->names); i++)
		CHECK_STR(strings_at(&a->names, i), strings_at(&b->names, i));
	for (size_t i = 0; i < a->slots.count; i++)
		CHECK(memcmp(&a->slots.items[i], &b->slots.items[i], 28) == 0);
	for (size_t i = 0; i < a->threads.count; i++)
		CHECK(memcmp(&a->threads.items[i], &b->threads.items[i],
			     sizeof(a->threads.items[i])) == 0);
	for (size_t i = 0; i < a->cells.count; i++)
		CHECK(memcmp(&a->cells.items[i], &b->cells.items[i], 23) == 0);
}

/* Two threads on two CPUs, with pauses, and a name of a module. */
static struct tape *make_various(void)
{
	struct tape *tape = make_tape(300, 12400);
	uint32_t other = tapes_thread(tape, INT32_MAX, -1, "");
	uint32_t user = tapes_call(tape, 0, tapes_module(tape, "/usr/lib/libx.so", TAPE_MODULE_ELF),
				   64, "");

	put_stretch(tape, &(struct stretch){ 1700, 4700, 900, other, user });
	put_stretch(tape, &(struct stretch){ 6700, 7700, 900, other, user });
	CHECK_EQ(tape_sort_samples(tape), 0);
	put_figures(tape, 3, 10, "system");
	return tape;
}

static void test_bytes(void)
{
	_cleanup_(cleanup_busy_decoder) struct busy_decoder *decoder = NULL;
	_cleanup_(buffer_done) struct buffer segment = { 0 }, bytes = { 0 };
	_cleanup_(cleanup_tape) struct tape *tape = make_various();
	struct segment_input input;
	struct busy made, decoded;
	uint8_t *copy;

	CHECK_EQ(busy_decoder_new(&decoder), 0);
	CHECK_EQ(busy_make(tape, &made), 0);
	CHECK(made.cells.count > 9);
	CHECK_STR(strings_at(&made.names, made.cells.items[made.cells.count - 1].function),
		  "[libx.so]");
	CHECK_EQ(segment_encode(tape, SEGMENT_USUAL, 1 << 20, &segment), 0);
	input = segment_input_memory(segment.data, segment.size);
	CHECK_EQ(segment_busy(&input, &bytes, NULL), 1);
	CHECK_EQ(busy_decode(decoder, bytes.data, bytes.size, &decoded), 0);
	check_equal(&made, &decoded);
	busy_done(&decoded);
	busy_done(&made);
	copy = malloc(bytes.size);
	CHECK(copy);
	for (size_t i = 0; i < bytes.size; i++) {
		/*
		 * if truncated or changed, the section is refused, or the result is at least valid
		 */
		memcpy(copy, bytes.data, bytes.size);
		CHECK(busy_decode(decoder, copy, i, &decoded) < 0);
		busy_done(&decoded);
		for (int bit = 0; bit < 8; bit++) {
			copy[i] ^= 1 << bit;
			(void)busy_decode(decoder, copy, bytes.size, &decoded);
			for (size_t j = 0; j < decoded.cells.count; j++) {
				CHECK(decoded.cells.items[j].slot < decoded.slots.count);
				CHECK(decoded.cells.items[j].thread <= decoded.threads.count);
			}
			busy_done(&decoded);
			copy[i] ^= 1 << bit;
		}
	}
	free(copy);
}

#define BUSY_SLOTS 4
/* busy, kernel, irq, unseen, gauges, thread, its share, function, its share */
#define CELL_COLUMNS 9

/* The columns before the runs: a head, slots of a second each, no names and no threads. */
static void put_before_runs(struct section_writer *writer)
{
	_cleanup_(buffer_done) struct buffer head = { 0 }, slots = { 0 }, none = { 0 };

	buffer_varint(&head, 1);
	buffer_varint(&head, 2);
	for (int i = 0; i < BUSY_SLOTS; i++) {
		buffer_varint(&slots, 0);
		buffer_varint(&slots, NSEC_PER_SEC);
		buffer_varint(&slots, 0);
		buffer_varint(&slots, 50);
	}
	CHECK_EQ(section_put(writer, &head), 0);
	CHECK_EQ(section_put(writer, &slots), 0);
	CHECK_EQ(section_put(writer, &none), 0);
	CHECK_EQ(section_put(writer, &none), 0);
}

/* Decodes a section whose runs are these numbers. Returns what busy_decode() returns. */
static int decode_runs(const uint64_t *numbers, size_t numbers_count, size_t cells)
{
	_cleanup_(cleanup_busy_decoder) struct busy_decoder *decoder = NULL;
	_cleanup_(buffer_done) struct buffer bytes = { 0 }, runs = { 0 }, zeros = { 0 };
	struct section_writer writer = { .to = &bytes };
	struct busy busy;
	int r;

	put_before_runs(&writer);
	for (size_t i = 0; i < numbers_count; i++)
		buffer_varint(&runs, numbers[i]);
	CHECK_EQ(section_put(&writer, &runs), 0);
	for (size_t i = 0; i < cells; i++)
		buffer_u8(&zeros, 0);
	for (int i = 0; i < CELL_COLUMNS; i++)
		CHECK_EQ(section_put(&writer, &zeros), 0);
	CHECK_EQ(busy_decoder_new(&decoder), 0);
	r = busy_decode(decoder, bytes.data, bytes.size, &busy);
	busy_done(&busy);
	return r;
}

/* Runs of cells: how many CPUs on, how many slots are skipped, how many more cells follow. */
static void test_runs(void)
{
	static const struct {
		uint64_t numbers[6];
		size_t count, cells;
		int r;
	} rows[] = {
		{ { 0, 0, 0 }, 3, 1, 0 },
		{ { 1, 3, 0 }, 3, 1, 0 },
		{ { 0, 0, 3, 1, 0, 3 }, 6, 8, 0 },
		{ { 0, 0, 1, 0, 0, 1 }, 6, 4, 0 },
		{ { UINT32_MAX, 0, 0 }, 3, 1, 0 },
		/* the run ends early */
		{ { 0, 0 }, 2, 1, -EBADMSG },
		{ { 0 }, 1, 1, -EBADMSG },
		{ { 0, 0, 0, 0, 0 }, 5, 2, -EBADMSG },
		/* no such CPU */
		{ { UINT32_MAX + 1ull, 0, 0 }, 3, 1, -EBADMSG },
		{ { UINT32_MAX, 0, 0, 1, 0, 0 }, 6, 2, -EBADMSG },
		/* the second CPU would be the first again */
		{ { 1, 0, 0, UINT64_MAX, 0, 0 }, 6, 2, -EBADMSG },
		/* no such slot */
		{ { 0, 4, 0 }, 3, 1, -EBADMSG },
		{ { 0, 3, 1 }, 3, 2, -EBADMSG },
		{ { 0, 0, 1, 0, 2, 0 }, 6, 3, -EBADMSG },
		/* more or fewer cells than the other columns have */
		{ { 0, 0, 1 }, 3, 1, -EBADMSG },
		{ { 0, 0, 1 }, 3, 3, -EBADMSG },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int r = decode_runs(rows[i].numbers, rows[i].count, rows[i].cells);

		if (r != rows[i].r)
			CHECK_FAIL("row %zu: %d, not %d", i, r, rows[i].r);
	}
}

/* A segment without samples lacks this section, and a damaged section is reported. */
static void test_section(void)
{
	_cleanup_(buffer_done) struct buffer none = { 0 }, whole = { 0 }, bytes = { 0 };
	_cleanup_(cleanup_tape) struct tape *empty = tapes_new(0, 2), *tape = make_various();
	static const struct segment_want all = { 0, UINT64_MAX, SEGMENT_ALL, 1 };
	struct segment_input input;
	struct tape *decoded;
	struct error error = { 0 };
	uint8_t *at;

	CHECK_EQ(segment_encode(empty, SEGMENT_USUAL, 1 << 20, &none), 0);
	input = segment_input_memory(none.data, none.size);
	CHECK_EQ(segment_busy(&input, &bytes, NULL), 0);
	CHECK_EQ(segment_encode(tape, SEGMENT_USUAL, 1 << 20, &whole), 0);
	input = segment_input_memory(whole.data, whole.size);
	CHECK_EQ(segment_busy(&input, &bytes, NULL), 1);
	at = memmem(whole.data, whole.size, bytes.data, bytes.size);
	CHECK(at);
	at[bytes.size / 2] ^= 1;
	CHECK_EQ(segment_busy(&input, &bytes, &error), -EBADMSG);
	CHECK(strstr(error.text, "section busy at offset"));
	CHECK_EQ(segment_decode(&input, &all, &decoded, &error), -EBADMSG);
	CHECK(strstr(error.text, "section busy at offset"));
}

CHECK_MAIN({ "busy seconds of a CPU", test_seconds },
	   { "seconds at the begin and at the end", test_edges },
	   { "gauges count where samples are skipped", test_figures },
	   { "gauges that differ from samples", test_differ },
	   { "losses hide nothing that is known", test_losses },
	   { "partly lost samples", test_lost_in_part }, { "an offline CPU", test_offline },
	   { "low rates", test_low_rates }, { "other events", test_events },
	   { "a clock that was set", test_step }, { "the section survives encoding", test_bytes },
	   { "the positions of cells are within bounds", test_runs },
	   { "the section of a segment", test_section })
