// SPDX-License-Identifier: GPL-2.0-only
#include "tape/segment/segment-digest.h"

#include "base/clock.h"
#include "tape/outline.h"
#include "tape/segment/digest-order.h"
#include "tape/segment/digest-source.h"
#include "tape/spread.h"

/* The columns, in their order. */
enum column {
	HEAD,
	INTERVALS,
	CPUS,
	IDLE,
	USER,
	KERNEL,
	IRQ,
	SPREAD_USER,
	SPREAD_KERNEL,
	SPREAD_IRQ,
	THREAD_IDLE,
	THREAD_USER,
	THREAD_KERNEL,
	THREAD_IRQ,
	THREAD_CPU,
	THREAD_ELSEWHERE,
	CORE_OWNERS,
	CORE_WORK,
	CORE_FUNCTION,
	CORE_OTHER,
	NAMES,
	FLAGS,
	SELF,
	CALLED,
	NOT_LED,
	UNNAMED,
	COLUMNS,
};

#define ALL_PARTS (SEGMENT_DIGEST | SEGMENT_PICTURE)

#define FLAG_MODULE 1
#define FLAG_KERNEL 2
#define FLAGS_ALL (FLAG_MODULE | FLAG_KERNEL)

/* The section takes at most 1/SHARE of the segment's bytes. */
#define SHARE 25
/* The decoder refuses longer intervals. The encoder makes intervals of at most an hour. */
#define INTERVAL_MAX_S 86400

struct columns {
	struct buffer list[COLUMNS];
};

static void digest_columns_done(struct columns *columns)
{
	for (int i = 0; i < COLUMNS; i++)
		buffer_done(&columns->list[i]);
}

static void digest_put_head(const struct digest *digest, struct buffer *head)
{
	buffer_varint(head, digest->interval_ns / NSEC_PER_SEC);
	buffer_varint(head, digest->intervals.count);
	buffer_varint(head, digest->cpus.count);
	buffer_varint(head, digest->spill);
	buffer_varint(head, digest->threads.count);
	buffer_varint(head, digest->functions.count);
	buffer_varint(head, digest->frames);
	buffer_varint(head, digest->named);
	buffer_varint(head, digest->ends.whole);
	buffer_varint(head, digest->ends.cut);
	buffer_varint(head, digest->ends.frame_pointers);
}

/* A CPU's cells follow each other, because they resemble each other. */
static void digest_put_cells(const struct digest *digest, struct columns *columns)
{
	for (size_t cpu = 0; cpu < digest->cpus.count; cpu++)
		for (size_t i = 0; i < digest->intervals.count; i++)
			for (int kind = 0; kind < STACK_CLASS_KINDS; kind++)
				buffer_varint(
					&columns->list[IDLE + kind],
					digest->cells.items[i * digest->cpus.count + cpu].n[kind]);
}

static void digest_put_intervals(const struct digest *digest, struct columns *columns)
{
	uint64_t last = 0;
	uint32_t cpu = 0;

	for (size_t i = 0; i < digest->intervals.count; i++) {
		buffer_varint(&columns->list[INTERVALS], digest->intervals.items[i] - last);
		last = digest->intervals.items[i] + 1;
	}
	for (size_t i = 0; i < digest->cpus.count; i++) {
		buffer_varint(&columns->list[CPUS], digest->cpus.items[i] - cpu);
		cpu = digest->cpus.items[i] + 1;
	}
	digest_put_cells(digest, columns);
	for (size_t i = 0; i < digest->spread.count; i++)
		buffer_varint(&columns->list[SPREAD_USER + i % SPREAD_PARTS],
			      digest->spread.items[i]);
}

/* The segment's numbers of threads with samples are the first ones. */
static void digest_put_threads(const struct digest *digest, const struct digest_order *order,
			       struct columns *columns)
{
	for (size_t i = 0; i < digest->threads.count; i++) {
		const struct digest_thread *thread = &digest->threads.items[order->rows[i] - 1];
		uint64_t work = 0;
		size_t cpu = 0;

		for (int kind = 0; kind < STACK_CLASS_KINDS; kind++) {
			buffer_varint(&columns->list[THREAD_IDLE + kind], thread->n[kind]);
			work += kind == STACK_CLASS_IDLE ? 0 : thread->n[kind];
		}
		while (thread->there && digest->cpus.items[cpu] != thread->cpu)
			cpu++;
		buffer_varint(&columns->list[THREAD_CPU], cpu);
		buffer_varint(&columns->list[THREAD_ELSEWHERE], work - thread->there);
	}
}

/* Puts for each CPU the number of its rows, then the comms of the rows in ascending order. */
static void segment_digest_put_cores(const struct digest *digest, const struct digest_order *order,
				     struct columns *columns)
{
	const struct digest_core *cores = digest->cores.items;
	struct buffer *owners = &columns->list[CORE_OWNERS];
	size_t at = 0;

	for (size_t i = 0; i < digest->cpus.count; i++) {
		size_t end = at;
		uint32_t last = 0;

		while (end < digest->cores.count && cores[end].cpu == digest->cpus.items[i])
			end++;
		buffer_varint(owners, end - at);
		for (; at < end; at++) {
			uint32_t comm = order->comms[cores[at].owner];

			buffer_varint(owners, comm - 1 - last);
			last = comm;
			buffer_varint(&columns->list[CORE_WORK], cores[at].work);
			buffer_varint(&columns->list[CORE_FUNCTION],
				      cores[at].function ? order->places[cores[at].function - 1] + 1
							 : 0);
			buffer_varint(&columns->list[CORE_OTHER], cores[at].work - cores[at].there);
		}
	}
}

static void digest_put_functions(const struct digest *digest, struct encoding *encoding,
				 const struct digest_order *order, struct columns *columns)
{
	struct string_column names = { 0 }, paths = { 0 };

	for (size_t i = 0; i < digest->functions.count; i++) {
		const struct digest_function *function =
			&digest->functions.items[order->functions[i]];

		string_column_put(&names, encoding, &columns->list[NAMES], function->string);
		buffer_u8(&columns->list[FLAGS], (function->is_module ? FLAG_MODULE : 0) |
							 (function->kernel ? FLAG_KERNEL : 0));
		buffer_varint(&columns->list[SELF], function->self);
		buffer_varint(&columns->list[CALLED], function->total - function->self);
		buffer_varint(&columns->list[NOT_LED],
			      function->led ? function->total - function->led + 1 : 0);
	}
	for (size_t i = 0; i < digest->unnamed.count; i++) {
		const struct digest_unnamed *row = &digest->unnamed.items[i];

		buffer_u8(&columns->list[UNNAMED], row->is_mapped);
		string_column_put(&paths, encoding, &columns->list[UNNAMED], row->path);
		buffer_varint(&columns->list[UNNAMED], row->frames);
	}
}

static int make_columns(struct digest *digest, struct encoding *encoding,
			struct digest_order *order, struct columns *columns)
{
	int r = digest_order_make(digest, encoding, order);

	if (r < 0)
		return r;
	digest_put_head(digest, &columns->list[HEAD]);
	digest_put_intervals(digest, columns);
	digest_put_threads(digest, order, columns);
	segment_digest_put_cores(digest, order, columns);
	digest_put_functions(digest, encoding, order, columns);
	return 0;
}

/* Returns 1 if it left the section out. */
static int put_section(struct digest *digest, struct encoding *encoding)
{
	_cleanup_(digest_order_done) struct digest_order order = { 0 };
	_cleanup_(digest_columns_done) struct columns columns = { 0 };
	struct section_writer writer;
	int r = make_columns(digest, encoding, &order, &columns);

	if (r < 0)
		return r;
	encoding_begin(encoding, &writer);
	for (int i = 0; i < COLUMNS; i++)
		if (section_put(&writer, &columns.list[i]) < 0)
			return -ENOMEM;
	if ((encoding->body.size - writer.start) * SHARE <= encoding->body.size)
		return encoding_end(encoding, &writer, SEGMENT_DIGEST_NAME, 0);
	encoding->body.size = writer.start;
	return 1;
}

/* Stores the outline instead of a digest, if it takes little. */
static int digest_put_outline(const struct digest *digest, struct encoding *encoding)
{
	_cleanup_(outline_done) struct outline outline = { 0 };
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	size_t before = encoding->body.size;
	int r = outline_make(encoding->tape, digest, &outline);

	if (r == 0)
		r = outline_encode(&outline, &bytes);
	return r < 0 || bytes.size * SHARE > before
		       ? r
		       : encoding_column(encoding, &bytes, SEGMENT_OUTLINE_NAME, 0);
}

int digest_encode(struct encoding *encoding, const struct trie *trie)
{
	_cleanup_(digest_done) struct digest digest = { 0 };
	int r = digest_source_make(encoding->tape, trie, &digest), left_out = 1;

	/* interval_ns is 0 if a digest cannot represent the tape */
	if (r == 0 && digest.interval_ns)
		r = left_out = put_section(&digest, encoding);
	if (r >= 0 && left_out && digest.samples)
		r = digest_put_outline(&digest, encoding);
	return MIN(r, 0);
}

static int outline_take(const struct decoding *decoding, struct section_reader *section,
			void *context)
{
	_cleanup_(outline_done) struct outline outline = { 0 };
	struct reader column;
	int r = section_take(section, &column);

	if (r < 0)
		return r;
	r = outline_decode(column.data, column.size, &outline);
	if (r == 0 && context)
		buffer_bytes(context, column.data, column.size);
	reader_take(&column, column.size);
	return r == 0 && context && buffer_failed(context) ? -ENOMEM : r;
}

int outline_read(const struct decoding *decoding, const struct contents_entry *entry,
		 struct buffer *bytes)
{
	return decoding_section(decoding, entry, outline_take, bytes);
}

static int digest_take_head(struct reader *head, struct digest *digest, uint64_t counts[4])
{
	uint64_t interval_s = reader_varint(head), spill;

	counts[0] = reader_varint(head);
	counts[1] = reader_varint(head);
	spill = reader_varint(head);
	counts[2] = reader_varint(head);
	counts[3] = reader_varint(head);
	digest->frames = reader_varint(head);
	digest->named = reader_varint(head);
	digest->ends.whole = reader_varint(head);
	digest->ends.cut = reader_varint(head);
	digest->ends.frame_pointers = reader_varint(head);
	if (reader_failed(head) || reader_left(head) || !interval_s ||
	    interval_s > INTERVAL_MAX_S || spill > SPREAD_FRACTIONS ||
	    digest->named > digest->frames)
		return -EBADMSG;
	digest->spill = spill;
	digest->interval_ns = interval_s * NSEC_PER_SEC;
	return 0;
}

/* Each row takes at least one byte of its column, so the columns bound the memory. */
static int take_intervals(struct reader *intervals, struct reader *cpus, const uint64_t counts[4],
			  struct digest *digest)
{
	uint64_t next = 0, cpu = 0, last = UINT64_MAX / digest->interval_ns - 1;

	if (counts[0] > intervals->size || counts[1] > cpus->size ||
	    array_reserve(&digest->intervals, counts[0] + 1) < 0 ||
	    array_reserve(&digest->cpus, counts[1] + 1) < 0)
		return counts[0] > intervals->size || counts[1] > cpus->size ? -EBADMSG : -ENOMEM;
	for (uint64_t i = 0; i < counts[0]; i++) {
		uint64_t step = reader_varint(intervals);

		if (reader_failed(intervals) || next > last || step > last - next)
			return -EBADMSG;
		digest->intervals.items[digest->intervals.count++] = next + step;
		next += step + 1;
	}
	for (uint64_t i = 0; i < counts[1]; i++) {
		uint64_t step = reader_varint(cpus);

		if (reader_failed(cpus) || step >= TAPE_CPUS_MAX || cpu + step >= TAPE_CPUS_MAX)
			return -EBADMSG;
		digest->cpus.items[digest->cpus.count++] = cpu + step;
		cpu += step + 1;
	}
	return 0;
}

/* Takes the samples of all cells. Their sum is at most the number of samples. */
static int digest_take_cells(struct reader columns[COLUMNS], struct digest *digest)
{
	size_t intervals = digest->intervals.count, cpus = digest->cpus.count;
	uint64_t left = digest->samples;

	/* both counts are below 2^32, because they are below the sizes of columns */
	if (cpus && intervals > columns[IDLE].size / cpus)
		return -EBADMSG;
	if (array_reserve(&digest->cells, intervals * cpus + 1) < 0)
		return -ENOMEM;
	digest->cells.count = intervals * cpus;
	for (size_t i = 0; i < digest->cells.count; i++) {
		struct digest_cell *cell =
			&digest->cells.items[i % intervals * cpus + i / intervals];

		for (int kind = 0; kind < STACK_CLASS_KINDS; kind++) {
			cell->n[kind] = reader_varint(&columns[IDLE + kind]);
			if (cell->n[kind] > left)
				return -EBADMSG;
			left -= cell->n[kind];
		}
	}
	return 0;
}

static int take_spread(struct reader columns[COLUMNS], struct digest *digest)
{
	size_t width = digest->spill ? SPREAD_FRACTIONS + 2 * (size_t)digest->spill : 0;
	size_t count = digest->intervals.count * width;
	uint64_t most = digest->samples * (uint64_t)INTERVAL_MAX_S * SPREAD_SECOND_US;

	if (digest->intervals.count && width > columns[SPREAD_USER].size / digest->intervals.count)
		return -EBADMSG;
	if (array_reserve(&digest->spread, count * SPREAD_PARTS + 1) < 0)
		return -ENOMEM;
	digest->spread.count = count * SPREAD_PARTS;
	for (size_t i = 0; i < digest->spread.count; i++) {
		digest->spread.items[i] = reader_varint(&columns[SPREAD_USER + i % SPREAD_PARTS]);
		if (digest->spread.items[i] > most)
			return -EBADMSG;
	}
	return 0;
}

/* A thread's time elsewhere is a part of its work. */
static int take_thread(struct reader columns[COLUMNS], const struct digest *digest,
		       struct digest_thread *thread, uint64_t *left)
{
	uint64_t work = 0, elsewhere;
	uint32_t cpu;

	for (int kind = 0; kind < STACK_CLASS_KINDS; kind++) {
		thread->n[kind] = reader_varint(&columns[THREAD_IDLE + kind]);
		if (thread->n[kind] > *left)
			return -EBADMSG;
		*left -= thread->n[kind];
		work += kind == STACK_CLASS_IDLE ? 0 : thread->n[kind];
	}
	cpu = column_row(&columns[THREAD_CPU], MAX(digest->cpus.count, (size_t)1));
	elsewhere = reader_varint(&columns[THREAD_ELSEWHERE]);
	if (elsewhere > work || (elsewhere < work && !digest->cpus.count))
		return -EBADMSG;
	thread->there = work - elsewhere;
	thread->cpu = thread->there ? digest->cpus.items[cpu] : 0;
	return 0;
}

static int digest_take_threads(struct reader columns[COLUMNS], const struct tape *tape,
			       uint64_t count, struct digest *digest)
{
	uint64_t left = digest->samples;

	if (count > tape->threads.count || count > columns[THREAD_CPU].size)
		return -EBADMSG;
	if (array_reserve(&digest->threads, count + 1) < 0)
		return -ENOMEM;
	for (uint64_t i = 0; i < count; i++) {
		struct digest_thread thread = { .thread = i, .owner = tape->threads.items[i].comm };
		int r = take_thread(columns, digest, &thread, &left);

		if (r < 0)
			return r;
		digest->threads.items[digest->threads.count++] = thread;
	}
	/* each sample has a thread */
	return left ? -EBADMSG : 0;
}

/* Lists the comms in the order of their first threads. The caller frees *ret_comms. */
static int list_comms(const struct tape *tape, const struct digest *digest, uint32_t **ret_comms,
		      size_t *ret_count)
{
	_cleanup_free_ bool *seen = calloc(strings_count(&tape->strings), sizeof(*seen));
	_cleanup_free_ uint32_t *comms = malloc((digest->threads.count + 1) * sizeof(*comms));
	size_t count = 0;

	if (!seen || !comms)
		return -ENOMEM;
	for (size_t i = 0; i < digest->threads.count; i++) {
		uint32_t comm = digest->threads.items[i].owner;

		if (!seen[comm])
			comms[count++] = comm;
		seen[comm] = true;
	}
	*ret_comms = take_ptr(comms);
	*ret_count = count;
	return 0;
}

static int take_cpu_cores(struct reader columns[COLUMNS], struct digest *digest, uint32_t cpu,
			  const uint32_t *comms, size_t count, uint64_t *left)
{
	struct reader *owners = &columns[CORE_OWNERS];
	uint64_t rows = reader_varint(owners), next = 0;

	if (rows > count || rows > columns[CORE_WORK].size)
		return -EBADMSG;
	for (uint64_t i = 0; i < rows; i++) {
		uint64_t step = reader_varint(owners), other;
		struct digest_core core = { .cpu = cpu,
					    .work = reader_varint(&columns[CORE_WORK]) };

		core.function = column_row(&columns[CORE_FUNCTION], digest->functions.count + 1);
		other = reader_varint(&columns[CORE_OTHER]);
		if (step >= count - next || core.work > *left || other > core.work)
			return -EBADMSG;
		core.owner = comms[next + step];
		next += step + 1;
		core.there = core.work - other;
		*left -= core.work;
		if (array_push(&digest->cores, core) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int digest_take_cores(struct reader columns[COLUMNS], const struct tape *tape,
			     struct digest *digest)
{
	_cleanup_free_ uint32_t *comms = NULL;
	uint64_t left = digest->samples;
	size_t count;
	int r = list_comms(tape, digest, &comms, &count);

	for (size_t i = 0; r == 0 && i < digest->cpus.count; i++)
		r = take_cpu_cores(columns, digest, digest->cpus.items[i], comms, count, &left);
	return r;
}

static int digest_take_functions(struct reader columns[COLUMNS], const struct tape *tape,
				 uint64_t count, struct digest *digest)
{
	struct string_column names = { 0 };
	uint64_t most = digest->samples;

	if (count > columns[FLAGS].size)
		return -EBADMSG;
	if (array_reserve(&digest->functions, count + 1) < 0)
		return -ENOMEM;
	for (uint64_t i = 0; i < count; i++) {
		uint8_t flags = reader_u8(&columns[FLAGS]);
		struct digest_function function = {
			.string = string_column_take(&names, tape, &columns[NAMES]),
			.is_module = flags & FLAG_MODULE,
			.kernel = flags & FLAG_KERNEL,
			.self = reader_varint(&columns[SELF]),
		};
		uint64_t called = reader_varint(&columns[CALLED]);
		uint64_t not_led = reader_varint(&columns[NOT_LED]);

		function.total = function.self + called;
		if (flags & ~FLAGS_ALL || function.self > most || called > most - function.self ||
		    not_led > function.total + 1)
			return -EBADMSG;
		function.led = not_led ? function.total + 1 - not_led : 0;
		digest->functions.items[digest->functions.count++] = function;
	}
	return 0;
}

static int take_unnamed(struct reader *column, const struct tape *tape, struct digest *digest)
{
	struct string_column paths = { 0 };
	uint64_t left = digest->frames - digest->named;

	while (reader_left(column)) {
		uint8_t is_mapped = reader_u8(column);
		struct digest_unnamed row = { string_column_take(&paths, tape, column), is_mapped,
					      reader_varint(column) };

		if (reader_failed(column) || is_mapped > 1 || row.frames > left)
			return -EBADMSG;
		left -= row.frames;
		if (array_push(&digest->unnamed, row) < 0)
			return -ENOMEM;
	}
	return left ? -EBADMSG : 0;
}

static int segment_digest_take_rows(struct reader columns[COLUMNS], const struct tape *tape,
				    unsigned int parts, struct digest *digest)
{
	uint64_t counts[4];
	int r = digest_take_head(&columns[HEAD], digest, counts);

	if (r < 0)
		return r;
	digest->spill = parts & SEGMENT_PICTURE ? digest->spill : 0;
	if (!(parts & SEGMENT_DIGEST))
		return take_unnamed(&columns[UNNAMED], tape, digest);
	r = take_intervals(&columns[INTERVALS], &columns[CPUS], counts, digest);
	if (r < 0)
		return r;
	r = digest_take_cells(columns, digest);
	if (r < 0)
		return r;
	r = take_spread(columns, digest);
	if (r < 0)
		return r;
	r = digest_take_threads(columns, tape, counts[2], digest);
	if (r < 0)
		return r;
	r = digest_take_functions(columns, tape, counts[3], digest);
	if (r < 0)
		return r;
	r = digest_take_cores(columns, tape, digest);
	return r < 0 ? r : take_unnamed(&columns[UNNAMED], tape, digest);
}

static bool segment_digest_wants(unsigned int parts, int column)
{
	if (column >= SPREAD_USER && column <= SPREAD_IRQ)
		return parts & SEGMENT_PICTURE;
	return parts & SEGMENT_DIGEST || column == HEAD || column == UNNAMED;
}

int digest_take(struct section_reader *section, const struct tape *tape, uint64_t samples,
		unsigned int parts, struct digest *digest)
{
	struct reader columns[COLUMNS] = { 0 };
	int r = 0;

	*digest = (struct digest){ .samples = samples };
	for (int i = 0; r == 0 && i < COLUMNS; i++)
		r = segment_digest_wants(parts, i) ? section_take(section, &columns[i])
						   : section_skip(section);
	if (r < 0)
		return r;
	r = segment_digest_take_rows(columns, tape, parts, digest);
	for (int i = 0; r == 0 && i < COLUMNS; i++)
		if (reader_failed(&columns[i]) || reader_left(&columns[i]))
			r = -EBADMSG;
	return r;
}

static int decode_section(const struct decoding *decoding, struct section_reader *section,
			  void *context)
{
	return digest_take(section, decoding->tape, decoding->contents.summary.samples,
			   decoding->whole ? ALL_PARTS : decoding->want->parts, context);
}

int digest_decode(const struct decoding *decoding, const struct contents_entry *entry)
{
	_cleanup_(cleanup_digest) struct digest *digest = calloc(1, sizeof(*digest));
	int r = digest ? decoding_section(decoding, entry, decode_section, digest) : -ENOMEM;

	if (r < 0)
		return r;
	decoding->tape->digest = take_ptr(digest);
	return 0;
}

int digest_check(const struct decoding *decoding, const struct contents_entry *entry)
{
	_cleanup_(digest_done) struct digest digest = { 0 };

	return decoding_section(decoding, entry, decode_section, &digest);
}
