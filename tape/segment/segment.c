// SPDX-License-Identifier: GPL-2.0-only
#include "tape/segment/segment.h"

#include <stdio.h>

#include "tape/clocks.h"
#include "tape/outline.h"
#include "tape/segment/segment-busy.h"
#include "tape/segment/segment-digest.h"
#include "tape/segment/segment-rows.h"
#include "tape/segment/segment-samples.h"
#include "tape/segment/segment-parallel.h"

/* Encodes frames, stacks and samples, which depend on each other. */
static int segment_encode_samples(struct encoding *encoding)
{
	_cleanup_(dictionary_done) struct dictionary dictionary = { 0 };
	_cleanup_(trie_done) struct trie trie = { 0 };
	int r;

	r = dictionary_build(&dictionary, encoding->tape);
	if (r < 0)
		return r;
	r = trie_build(&trie, encoding->tape, &dictionary);
	if (r < 0)
		return r;
	r = dictionary_encode(&dictionary, encoding);
	if (r < 0)
		return r;
	r = trie_encode(&trie, &dictionary, encoding);
	if (r < 0)
		return r;
	r = samples_encode(encoding, &dictionary, &trie);
	return r < 0 ? r : digest_encode(encoding, &trie);
}

static int encode_busy(struct encoding *encoding)
{
	_cleanup_(busy_done) struct busy busy = { 0 };
	int r = busy_make(encoding->tape, &busy);

	return r < 0 ? r : busy_encode(&busy, encoding);
}

static int encode_sections(struct encoding *encoding)
{
	int r = 0;

	/*
	 * encode the samples first, so that their strings get small numbers in the order of the
	 * functions
	 */
	if (encoding->tape->samples.count)
		r = segment_encode_samples(encoding);
	if (r < 0)
		return r;
	if (encoding->tape->samples.count)
		r = encode_busy(encoding);
	if (r < 0)
		return r;
	r = rows_encode_context(encoding);
	if (r < 0)
		return r;
	r = rows_encode_threads(encoding);
	return r < 0 ? r : rows_encode_strings(encoding);
}

int segment_encode(const struct tape *tape, enum segment_effort effort, size_t limit,
		   struct buffer *bytes)
{
	_cleanup_(encoding_done) struct encoding encoding = { 0 };
	size_t start = bytes->size;
	int r;

	r = encoding_init(&encoding, tape, effort, limit);
	if (r < 0)
		return r;
	r = encode_sections(&encoding);
	if (r < 0)
		return r;
	segment_summarize(tape, &encoding.contents.summary);
	contents_encode(&encoding.contents, bytes);
	buffer_bytes(bytes, encoding.body.data, encoding.body.size);
	if (buffer_failed(bytes))
		return -ENOMEM;
	if (bytes->size - start <= limit && contents_fit(&encoding.contents, encoding.string_count))
		return 0;
	bytes->size = start;
	return -EFBIG;
}

static int read_memory(const struct segment_input *input, uint64_t offset, void *to, size_t size)
{
	if (offset > input->size || size > input->size - offset)
		return -EBADMSG;
	memcpy(to, (const uint8_t *)input->data + input->offset + offset, size);
	return 0;
}

static int segment_read_file(const struct segment_input *input, uint64_t offset, void *to,
			     size_t size)
{
	ssize_t got;

	if (offset > input->size || size > input->size - offset)
		return -EBADMSG;
	for (size_t done = 0; done < size; done += got) {
		got = pread(input->fd, (uint8_t *)to + done, size - done,
			    input->offset + offset + done);
		if (got <= 0)
			return got < 0 ? -errno : -EBADMSG;
	}
	return 0;
}

struct segment_input segment_input_memory(const void *data, size_t size)
{
	return (struct segment_input){ .read = read_memory, .data = data, .fd = -1, .size = size };
}

struct segment_input segment_input_file(int fd, uint64_t offset, uint64_t size)
{
	return (struct segment_input){
		.read = segment_read_file, .fd = fd, .offset = offset, .size = size
	};
}

static const char *const row_sections[] = { "strings", "facts",	 "anchors",    "threads",
					    "losses",  "events", "lines",      "incident",
					    "gauges",  "usual",	 SEGMENT_BUSY, NULL };
/* Sections that only a tape with samples has. */
static const char *const sample_sections[] = {
	"modules",	     "function",	   "trie", "blocks", "samples",
	SEGMENT_DIGEST_NAME, SEGMENT_OUTLINE_NAME, NULL
};

static bool is_among(const char *const *names, const char *name)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names;
}

/*
 * Refuses unknown sections that are required. Checks the sections that will not be read, if every
 * byte needs a check.
 */
static int check_sections(const struct decoding *decoding)
{
	for (size_t i = 0; i < decoding->contents.entries.count; i++) {
		const struct contents_entry *entry = &decoding->contents.entries.items[i];
		_cleanup_free_ uint8_t *stored = NULL;
		int r;

		if (is_among(sample_sections, entry->name) && !decoding->contents.summary.samples)
			return error_set(decoding->error, -EBADMSG,
					 "section %s in a segment without samples", entry->name);
		if (is_among(row_sections, entry->name) || is_among(sample_sections, entry->name)) {
			if (decoding_find(decoding, entry->name) != entry &&
			    strcmp(entry->name, "samples") != 0)
				return error_set(decoding->error, -EBADMSG,
						 "section %s occurs twice", entry->name);
			r = decoding->whole && strcmp(entry->name, SEGMENT_BUSY) == 0
				    ? busy_check(decoding, entry)
				    : 0;
			if (r < 0)
				return r;
			if (decoding->whole && strcmp(entry->name, SEGMENT_OUTLINE_NAME) == 0)
				r = outline_read(decoding, entry, NULL);
			if (r < 0)
				return r;
			continue;
		}
		if (entry->flags & CONTENTS_INCOMPATIBLE)
			return error_set(decoding->error, -EPROTONOSUPPORT,
					 "section %s is required but unknown; use a newer perftape",
					 entry->name);
		r = decoding->whole ? decoding_read(decoding, entry, &stored) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

/* Decodes the digest if it is wanted, and checks it with everything else. */
static int decode_digest(struct decoding *decoding)
{
	const struct contents_entry *entry = decoding_find(decoding, SEGMENT_DIGEST_NAME);

	if (entry && decoding->want->parts & (SEGMENT_DIGEST | SEGMENT_FRAMES))
		return digest_decode(decoding, entry);
	return entry && decoding->whole ? digest_check(decoding, entry) : 0;
}

static int decode_sections(struct decoding *decoding, unsigned int threads)
{
	const struct segment_want *want = decoding->want;
	const struct segment_summary *summary = &decoding->contents.summary;
	int r = contents_read(&decoding->contents, decoding->input, decoding->error);

	decoding->whole = (want->parts & SEGMENT_ALL) == SEGMENT_ALL && !want->from_ns &&
			  want->to_ns == UINT64_MAX;
	if (r == 0)
		r = check_sections(decoding);
	decoding->tape->sequence = summary->sequence;
	decoding->tape->begin_ns = summary->perf_begin_ns;
	decoding->tape->end_ns = summary->perf_end_ns;
	if (r < 0)
		return r;
	r = rows_decode(decoding);
	if (r < 0)
		return r;
	if (summary->samples && want->parts & (SEGMENT_SAMPLES | SEGMENT_SUMS))
		r = segment_parallel_decode(decoding, threads);
	return r < 0 ? r : decode_digest(decoding);
}

static void decoding_done(struct decoding *decoding)
{
	contents_done(&decoding->contents);
	zstd_unpacker_free(decoding->unpacker);
}

static int decode_tape(const struct segment_input *input, const struct segment_want *want,
		       unsigned int threads, struct tape **ret_tape, struct error *error)
{
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct error said = { 0 };
	_cleanup_(decoding_done) struct decoding decoding = {
		.input = input,
		.want = want,
		.error = error ? error : &said,
	};
	int r = tape_new(&tape);

	if (r < 0)
		return r;
	r = zstd_unpacker_new(&decoding.unpacker);
	if (r < 0)
		return r;
	decoding.tape = tape;
	r = decode_sections(&decoding, threads);
	if (r < 0)
		return r;
	tape_freeze(tape);
	*ret_tape = take_ptr(tape);
	return 0;
}

int segment_decode(const struct segment_input *input, const struct segment_want *want,
		   struct tape **ret_tape, struct error *error)
{
	int r = want->threads > 1 ? decode_tape(input, want, want->threads, ret_tape, NULL)
				  : -EAGAIN;

	/* one thread needs less memory, and reports the first damage in the file */
	return r < 0 ? decode_tape(input, want, 1, ret_tape, error) : r;
}

int segment_busy(const struct segment_input *input, struct buffer *bytes, struct error *error)
{
	_cleanup_(decoding_done) struct decoding decoding = { .input = input, .error = error };
	_cleanup_free_ uint8_t *stored = NULL;
	const struct contents_entry *entry;
	int r = contents_read(&decoding.contents, input, error);

	if (r < 0)
		return r;
	entry = decoding_find(&decoding, SEGMENT_BUSY);
	if (!entry)
		return 0;
	r = decoding_read(&decoding, entry, &stored);
	if (r < 0)
		return r;
	buffer_bytes(bytes, stored, entry->stored);
	return buffer_failed(bytes) ? -ENOMEM : 1;
}

/* Reads the section of the outline. Returns 1, or 0 without the section. */
static int segment_stored_outline(const struct segment_input *input, struct buffer *bytes,
				  struct error *error)
{
	struct error said = { 0 };
	_cleanup_(decoding_done) struct decoding decoding = {
		.input = input,
		.error = error ? error : &said,
	};
	const struct contents_entry *entry;
	int r = contents_read(&decoding.contents, input, decoding.error);

	if (r < 0)
		return r;
	entry = decoding_find(&decoding, SEGMENT_OUTLINE_NAME);
	if (!entry)
		return 0;
	r = zstd_unpacker_new(&decoding.unpacker);
	if (r < 0)
		return r;
	r = outline_read(&decoding, entry, bytes);
	return r < 0 ? r : 1;
}

int segment_outline(const struct segment_input *input, struct buffer *bytes, struct error *error)
{
	static const struct segment_want want = { 0, UINT64_MAX, SEGMENT_DIGEST, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	_cleanup_(outline_done) struct outline outline = { 0 };
	int r = segment_stored_outline(input, bytes, error);

	if (r != 0)
		return r;
	r = segment_decode(input, &want, &tape, error);
	if (r < 0 || !tape->digest)
		return r;
	r = outline_make(tape, tape->digest, &outline);
	if (r < 0)
		return r;
	r = outline_encode(&outline, bytes);
	return r < 0 ? r : 1;
}

/*
 * Estimates of the memory that `perftape top` takes; tests/attacks/hostile-stores.py checks the
 * sum.
 */
#define MEMORY_A_SAMPLE 48
#define MEMORY_A_BYTE 3
#define MEMORY_A_BYTE_OF_STRINGS 8

uint64_t segment_memory(const struct segment_input *input)
{
	struct contents contents = { 0 };
	uint64_t bytes = 0;

	if (contents_read(&contents, input, NULL) == 0)
		bytes = MIN(contents.summary.samples, (uint64_t)UINT32_MAX) * MEMORY_A_SAMPLE;
	for (size_t i = 0; i < contents.entries.count; i++) {
		const struct contents_entry *entry = &contents.entries.items[i];
		bool strings = strcmp(entry->name, "strings") == 0;

		bytes += MIN(entry->raw, (uint64_t)UINT32_MAX) *
			 (strings ? MEMORY_A_BYTE_OF_STRINGS : MEMORY_A_BYTE);
	}
	contents_done(&contents);
	return bytes;
}

int segment_peek(const void *data, size_t size, uint64_t file_bytes,
		 struct segment_summary *ret_summary, struct error *error)
{
	uint32_t sections;
	int r = contents_decode_header(data, size, ret_summary, &sections, error);

	if (r < 0 || ret_summary->bytes <= file_bytes)
		return r;
	return error_set(error, 1, "the file is truncated: it has %llu of %llu bytes",
			 (unsigned long long)file_bytes, (unsigned long long)ret_summary->bytes);
}

static bool segment_is_of_samples(uint32_t kind)
{
	return kind == TAPE_LOSS_SAMPLES || kind == TAPE_LOSS_DAMAGED || kind == TAPE_LOSS_UNSAVED;
}

void segment_summarize(const struct tape *tape, struct segment_summary *ret_summary)
{
	uint64_t begin_ns = tape->begin_ns / TAPE_TIME_UNIT_NS * TAPE_TIME_UNIT_NS;
	uint64_t end_ns = tape->end_ns + TAPE_TIME_UNIT_NS - 1;

	*ret_summary = (struct segment_summary){
		.sequence = tape->sequence,
		.perf_begin_ns = begin_ns,
		.perf_end_ns = end_ns / TAPE_TIME_UNIT_NS * TAPE_TIME_UNIT_NS,
		.samples = tape->samples.count,
		.incidents = tape->incidents.count,
	};

	clocks_span(tape, tape->begin_ns, tape->end_ns, &ret_summary->begin_ns,
		    &ret_summary->end_ns);
	for (size_t i = 0; i < tape->losses.count; i++)
		if (segment_is_of_samples(tape->losses.items[i].kind))
			ret_summary->lost += tape->losses.items[i].count;
	snprintf(ret_summary->boot_id, sizeof(ret_summary->boot_id), "%s",
		 tape_fact(tape, "boot_id"));
}
