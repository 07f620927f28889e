// SPDX-License-Identifier: GPL-2.0-only
#include "symbolizer/eh-frame.h"

#include <string.h>

#include "base/cleanup.h"

/* An encoding byte: its low half is the format of a number, its high half is the number's base. */
#define FORMAT(encoding) ((encoding)&0x0f)
#define RELATIVE(encoding) ((encoding)&0xf0)
#define FORMAT_WORD 0x00
#define RELATIVE_NOTHING 0x00
#define RELATIVE_PLACE 0x10
#define ENCODING_NONE 0xff

#define STEP (64u << 10)
#define COMMON_STEP 64
/* Number of bytes to read of an entry: the longest augmentations have a dozen bytes. */
#define HEAD_MAX 64
#define LETTERS_MAX 8

void eh_frame_init(struct eh_frame *frame, const struct file_window *source, uint64_t address,
		   size_t word_size)
{
	*frame = (struct eh_frame){
		.entries = { .source = *source, .step = STEP },
		.common = { .source = *source, .step = COMMON_STEP },
		.address = address,
		.common_at = UINT64_MAX,
		.word_size = word_size,
	};
}

void eh_frame_done(struct eh_frame *frame)
{
	window_done(&frame->entries);
	window_done(&frame->common);
}

static size_t format_size(uint8_t encoding, size_t word_size)
{
	switch (FORMAT(encoding)) {
	case FORMAT_WORD:
		return word_size;
	case 0x02: /* unsigned and signed */
	case 0x0a:
		return 2;
	case 0x03:
	case 0x0b:
		return 4;
	case 0x04:
	case 0x0c:
		return 8;
	default:
		return 0;
	}
}

static uint64_t eh_frame_read_number(struct reader *reader, uint8_t encoding, size_t size)
{
	bool is_signed = FORMAT(encoding) > 0x08;

	switch (size) {
	case 2: {
		uint16_t value = reader_u16_host(reader);

		return is_signed ? (uint64_t)(int16_t)value : value;
	}
	case 4: {
		uint32_t value = reader_u32_host(reader);

		return is_signed ? (uint64_t)(int32_t)value : value;
	}
	default:
		return reader_u64_host(reader);
	}
}

/*
 * Returns the encoding of addresses, which is the data of the letter R in an augmentation such as
 * "zPLR". Skips the data of the letters before R.
 */
static uint8_t read_augmentation(struct reader *reader, const char *letters, size_t word_size)
{
	if (letters[0] != 'z')
		return letters[0] ? ENCODING_NONE : FORMAT_WORD;
	reader_varint(reader);
	for (size_t i = 1; letters[i]; i++) {
		uint8_t encoding;

		switch (letters[i]) {
		case 'R':
			return reader_u8(reader);
		case 'L':
			reader_u8(reader);
			break;
		case 'P':
			encoding = reader_u8(reader);
			if (!format_size(encoding, word_size))
				return ENCODING_NONE;
			reader_take(reader, format_size(encoding, word_size));
			break;
		case 'S': /* without data */
		case 'B':
			break;
		default:
			return ENCODING_NONE;
		}
	}
	return FORMAT_WORD;
}

/* Returns false if the first LETTERS_MAX bytes lack a NUL. */
static bool read_letters(struct reader *reader, char letters[LETTERS_MAX])
{
	for (size_t i = 0; i < LETTERS_MAX; i++) {
		letters[i] = reader_u8(reader);
		if (!letters[i])
			return true;
	}
	return false;
}

/*
 * Returns the encoding of addresses that a common entry states, and sets whether the entry is for
 * signal trampolines.
 */
static uint8_t read_common(struct eh_frame *frame, uint64_t at, bool *ret_signal)
{
	uint64_t left = at < frame->common.source.size ? frame->common.source.size - at : 0;
	struct reader reader = window_reader(&frame->common, at, MIN(left, HEAD_MAX));
	uint32_t size = reader_u32_host(&reader), id = reader_u32_host(&reader);
	uint8_t version = reader_u8(&reader), encoding;
	char letters[LETTERS_MAX];

	*ret_signal = false;
	if (!size || id || (version != 1 && version != 3) || !read_letters(&reader, letters))
		return ENCODING_NONE;
	/* skip two alignments, and the register of the return address */
	reader_varint(&reader);
	reader_varint(&reader);
	if (version == 1)
		reader_u8(&reader);
	else
		reader_varint(&reader);
	encoding = read_augmentation(&reader, letters, frame->word_size);
	*ret_signal = strchr(letters, 'S');
	return reader_failed(&reader) ? ENCODING_NONE : encoding;
}

static uint8_t common_encoding(struct eh_frame *frame, uint64_t at)
{
	if (at != frame->common_at) {
		frame->common_encoding = read_common(frame, at, &frame->common_signal);
		frame->common_at = at;
	}
	return frame->common_encoding;
}

/* Reads the function of an entry. `at` is the place after the entry's size. */
static bool read_function(struct eh_frame *frame, uint64_t at, uint32_t common,
			  struct eh_function *ret_function)
{
	uint8_t encoding = common <= at ? common_encoding(frame, at - common) : ENCODING_NONE;
	size_t size = format_size(encoding, frame->word_size);
	struct reader reader;

	if (encoding == ENCODING_NONE || !size ||
	    (RELATIVE(encoding) != RELATIVE_NOTHING && RELATIVE(encoding) != RELATIVE_PLACE))
		return false;
	reader = window_reader(&frame->entries, at + 4, 2 * size);
	ret_function->signal = frame->common_signal;
	ret_function->start = eh_frame_read_number(&reader, encoding, size);
	/* the size has the same format as the start, but is unsigned and lacks a base */
	ret_function->size = eh_frame_read_number(&reader, FORMAT_WORD, size);
	if (RELATIVE(encoding) == RELATIVE_PLACE)
		ret_function->start += frame->address + at + 4;
	if (frame->word_size == 4)
		ret_function->start = (uint32_t)ret_function->start;
	return !reader_failed(&reader) && ret_function->size;
}

int eh_frame_next(struct eh_frame *frame, struct eh_function *ret_function)
{
	for (;;) {
		struct reader reader = window_reader(&frame->entries, frame->at, 8);
		uint32_t size = reader_u32_host(&reader), common = reader_u32_host(&reader);
		uint64_t body = frame->at + 4;

		/* a size of 0 ends a part of the section; 64-bit sizes do not occur in practice */
		if (reader_failed(&reader) || size == UINT32_MAX)
			return 0;
		frame->at = body + size;
		if (size >= 4 && common && read_function(frame, body, common, ret_function))
			return 1;
	}
}
