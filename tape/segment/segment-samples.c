// SPDX-License-Identifier: GPL-2.0-only
#include "tape/segment/segment-samples.h"

#include "tape/clocks.h"

/*
 * A block spans at least this time and this number of samples. Smaller blocks would spend too much
 * on headers and on the starts of columns.
 */
#define BLOCK_US 10000000ull
#define BLOCK_SAMPLES 16384
/* Returns the number of samples in the block that begins at `first`. */
static size_t block_size(const struct tape *tape, size_t first)
{
	const struct tape_sample *samples = tape->samples.items;
	uint64_t begin_us = microseconds(samples[first].time_ns), last_us = begin_us;
	size_t end;

	for (end = first + 1; end < tape->samples.count; end++) {
		uint64_t time_us = microseconds(samples[end].time_ns);

		if (time_us == last_us)
			/* a block does not end within one moment */
			continue;
		if (time_us - begin_us >= BLOCK_US_MAX ||
		    (time_us - begin_us >= BLOCK_US && end - first >= BLOCK_SAMPLES))
			break;
		last_us = time_us;
	}
	return end - first;
}

int samples_encode(struct encoding *encoding, const struct dictionary *dictionary,
		   const struct trie *trie)
{
	_cleanup_(buffer_done) struct buffer directory = { 0 };
	_cleanup_(block_done) struct block block = { 0 };
	const struct tape *tape = encoding->tape;
	uint64_t last_us = microseconds(tape->begin_ns), begin_us;
	size_t largest = 0, count;
	int r;

	for (size_t first = 0; first < tape->samples.count; first += count) {
		count = block_size(tape, first);
		largest = MAX(largest, count);
	}
	r = block_init(&block, largest);
	for (size_t first = 0; r == 0 && first < tape->samples.count; first += count) {
		const struct tape_sample *samples = &tape->samples.items[first];

		count = block_size(tape, first);
		begin_us = microseconds(samples[0].time_ns);
		buffer_varint(&directory, begin_us - last_us);
		last_us = microseconds(samples[count - 1].time_ns);
		buffer_varint(&directory, last_us - begin_us);
		buffer_varint(&directory, count);
		r = block_encode(&block, encoding, dictionary, trie, samples,
				 trie->sample_path + first, count);
	}
	return r < 0 ? r : encoding_column(encoding, &directory, "blocks", CONTENTS_INCOMPATIBLE);
}

static int decode_directory(const struct decoding *decoding, struct section_reader *section,
			    void *context)
{
	struct blocks *blocks = context;
	uint64_t last_us = microseconds(decoding->tape->begin_ns), sum = 0;
	struct reader column;
	int r = section_take(section, &column);

	while (r == 0 && reader_left(&column)) {
		struct block_place place = { 0 };
		uint64_t span_us;

		if (__builtin_add_overflow(last_us, reader_varint(&column), &place.begin_us))
			return -EBADMSG;
		span_us = reader_varint(&column);
		place.count = reader_varint(&column);
		if (reader_failed(&column) || span_us >= BLOCK_US_MAX ||
		    __builtin_add_overflow(place.begin_us, span_us, &place.last_us) ||
		    place.last_us >= microseconds(decoding->tape->end_ns) ||
		    __builtin_add_overflow(sum, place.count, &sum))
			return -EBADMSG;
		last_us = place.last_us;
		r = array_push(&blocks->places, place);
	}
	return r < 0 ? r : sum == decoding->contents.summary.samples ? 0 : -EBADMSG;
}

/* Finds the entries: the i-th section "samples" is the i-th block. */
static int find_entries(const struct decoding *decoding, struct blocks *blocks)
{
	size_t found = 0;

	for (size_t i = 0; i < decoding->contents.entries.count; i++) {
		const struct contents_entry *entry = &decoding->contents.entries.items[i];

		if (strcmp(entry->name, "samples") != 0)
			continue;
		if (found == blocks->places.count)
			return -EBADMSG;
		blocks->places.items[found++].entry = entry;
	}
	return found == blocks->places.count ? 0 : -EBADMSG;
}

static bool segment_samples_overlaps(const struct decoding *decoding,
				     const struct block_place *place)
{
	uint64_t from_ns, to_ns;

	clocks_span(decoding->tape, place->begin_us * TAPE_TIME_UNIT_NS,
		    place->last_us * TAPE_TIME_UNIT_NS, &from_ns, &to_ns);
	return from_ns < decoding->want->to_ns && to_ns >= decoding->want->from_ns;
}

static void keep_wanted(const struct decoding *decoding, struct blocks *blocks)
{
	size_t kept = 0;

	for (size_t i = 0; i < blocks->places.count; i++)
		if (segment_samples_overlaps(decoding, &blocks->places.items[i]))
			blocks->places.items[kept++] = blocks->places.items[i];
	blocks->places.count = kept;
}

int blocks_find(const struct decoding *decoding, struct blocks *blocks)
{
	const struct contents_entry *entry = decoding_find(decoding, "blocks");
	int r = entry ? decoding_section(decoding, entry, decode_directory, blocks) : -EBADMSG;

	if (r == 0)
		r = find_entries(decoding, blocks);
	if (r == -EBADMSG && !decoding->error->text[0])
		error_set(decoding->error, r, "section blocks disagrees with the other sections");
	if (r < 0)
		return r;
	keep_wanted(decoding, blocks);
	blocks->incoming = calloc(MAX(blocks->places.count, (size_t)1), sizeof(*blocks->incoming));
	return blocks->incoming ? 0 : -ENOMEM;
}

void blocks_done(struct blocks *blocks)
{
	for (size_t i = 0; blocks->incoming && i < blocks->places.count; i++)
		incoming_free(blocks->incoming[i]);
	free(blocks->incoming);
	free(blocks->comms);
	array_done(&blocks->places);
}

int blocks_read(const struct decoding *decoding, struct blocks *blocks, size_t block)
{
	return incoming_read(decoding, &blocks->places.items[block], &blocks->incoming[block]);
}

int blocks_know_stacks(const struct decoding *decoding, const struct functions *functions,
		       const struct leaves *leaves, struct blocks *blocks)
{
	size_t strings = strings_count(&decoding->tape->strings);
	uint32_t *comms = malloc(strings * sizeof(*comms));

	if (!comms)
		return -ENOMEM;
	memset(comms, 0xff, strings * sizeof(*comms));
	for (size_t i = 0; i < leaves->comms.count; i++)
		comms[leaves->comms.items[i]] = i;
	blocks->comms = comms;
	blocks->source = (struct block_source){ functions, leaves, comms };
	return 0;
}

int blocks_make_room(const struct decoding *decoding, struct blocks *blocks, size_t first,
		     size_t end)
{
	struct tape *tape = decoding->tape;
	size_t count = tape->samples.count;

	for (size_t i = first; i < end; i++) {
		blocks->places.items[i].first = count;
		count += blocks->places.items[i].count;
	}
	if (array_reserve(&tape->samples, count) < 0)
		return -ENOMEM;
	tape->samples.count = count;
	return 0;
}

int blocks_place(const struct decoding *decoding, struct blocks *blocks, size_t block)
{
	const struct block_place *place = &blocks->places.items[block];
	struct tape *tape = decoding->tape;
	int r = incoming_place(blocks->incoming[block], tape, &blocks->source,
			       tape->samples.items + place->first);

	blocks->incoming[block] = incoming_free(blocks->incoming[block]);
	return r == -EBADMSG ? decoding_bad_value(decoding, place->entry) : r;
}
