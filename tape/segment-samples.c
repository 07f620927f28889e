// SPDX-License-Identifier: GPL-2.0-only
#include "tape/segment-samples.h"

#include "tape/clocks.h"
#include "tape/segment-block.h"

/* Blocks are of so much time, but not smaller: their headers and the starts of their columns would be dear. */
#define BLOCK_US 10000000ull
#define BLOCK_SAMPLES 16384
/* How many samples from `first` are a block. */
static size_t block_size(const struct tape *tape, size_t first)
{
	const struct tape_sample *samples = tape->samples.items;
	uint64_t begin_us = microseconds(samples[first].time_ns), last_us = begin_us;
	size_t end;

	for (end = first + 1; end < tape->samples.count; end++) {
		uint64_t time_us = microseconds(samples[end].time_ns);

		if (time_us == last_us)
			continue; /* one moment is not cut in two */
		if (time_us - begin_us >= BLOCK_US_MAX ||
			(time_us - begin_us >= BLOCK_US && end - first >= BLOCK_SAMPLES))
			break;
		last_us = time_us;
	}
	return end - first;
}

int samples_encode(
	struct encoding *encoding, const struct dictionary *dictionary, const struct trie *trie)
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

struct directory {
	array_of(struct block_place) places;
};

static int decode_directory(
	const struct decoding *decoding, struct section_reader *section, void *context)
{
	struct directory *directory = context;
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
		r = array_push(&directory->places, place);
	}
	return r < 0 ? r : sum == decoding->contents.summary.samples ? 0 : -EBADMSG;
}

/* The i-th section "samples" is the i-th block. */
static int find_entries(const struct decoding *decoding, struct directory *directory)
{
	size_t found = 0;

	for (size_t i = 0; i < decoding->contents.entries.count; i++) {
		const struct contents_entry *entry = &decoding->contents.entries.items[i];

		if (strcmp(entry->name, "samples") != 0)
			continue;
		if (found == directory->places.count)
			return -EBADMSG;
		directory->places.items[found++].entry = entry;
	}
	return found == directory->places.count ? 0 : -EBADMSG;
}

static bool overlaps(const struct decoding *decoding, const struct block_place *place)
{
	uint64_t from_ns, to_ns;

	clocks_span(decoding->tape, place->begin_us * TAPE_TIME_UNIT_NS,
		place->last_us * TAPE_TIME_UNIT_NS, &from_ns, &to_ns);
	return from_ns < decoding->want->to_ns && to_ns >= decoding->want->from_ns;
}

static int decode_blocks(const struct decoding *decoding, const struct directory *directory,
	const struct block_source *source)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < directory->places.count; i++)
		if (overlaps(decoding, &directory->places.items[i]))
			r = block_decode(decoding, source, &directory->places.items[i]);
	return r;
}

int samples_decode(const struct decoding *decoding, const struct functions *functions,
	const struct leaves *leaves)
{
	const struct contents_entry *entry = decoding_find(decoding, "blocks");
	size_t strings = strings_count(&decoding->tape->strings);
	_cleanup_free_ uint32_t *comms = malloc(strings * sizeof(*comms));
	struct block_source source = { functions, leaves, comms };
	struct directory directory = { 0 };
	int r;

	if (!comms)
		return -ENOMEM;
	memset(comms, 0xff, strings * sizeof(*comms));
	for (size_t i = 0; i < leaves->comms.count; i++)
		comms[leaves->comms.items[i]] = i;
	r = entry ? decoding_section(decoding, entry, decode_directory, &directory) : -EBADMSG;
	if (r == 0)
		r = find_entries(decoding, &directory);
	if (r == -EBADMSG && !decoding->error->text[0])
		error_set(decoding->error, r, "section blocks does not fit the rest");
	if (r == 0)
		r = decode_blocks(decoding, &directory, &source);
	array_done(&directory.places);
	return r;
}
