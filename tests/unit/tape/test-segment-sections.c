// SPDX-License-Identifier: GPL-2.0-only
/* Segments with changed sections: unknown, duplicate, missing, too large. */
#include "tests/check.h"

#include <errno.h>

#include "pack/zstd.h"
#include "tape/segment/contents.h"
#include "tests/coded.h"
#include "tests/random-tape.h"
#include "tests/tapes.h"

/* The parts of a segment, which the test puts together in another way. */
struct parts {
	struct contents contents;
	struct buffer bodies[64];
};

static void parts_done(struct parts *parts)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts->bodies); i++)
		buffer_done(&parts->bodies[i]);
	contents_done(&parts->contents);
}

static void parts_take(struct parts *parts, const struct tape *tape)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	struct segment_input input;

	*parts = (struct parts){ 0 };
	encode(tape, SEGMENT_HASTY, &bytes);
	input = segment_input_memory(bytes.data, bytes.size);
	CHECK_EQ(contents_read(&parts->contents, &input, NULL), 0);
	for (size_t i = 0; i < parts->contents.entries.count; i++)
		buffer_bytes(&parts->bodies[i],
			     bytes.data + parts->contents.entries.items[i].offset,
			     parts->contents.entries.items[i].stored);
}

static size_t parts_find(const struct parts *parts, const char *name)
{
	size_t at = 0;

	while (at < parts->contents.entries.count &&
	       strcmp(parts->contents.entries.items[at].name, name) != 0)
		at++;
	return at;
}

static void parts_add(struct parts *parts, const char *name, uint32_t flags, const char *body)
{
	struct contents_entry entry = { .flags = flags, .raw = strlen(body) };

	snprintf(entry.name, sizeof(entry.name), "%s", name);
	buffer_text(&parts->bodies[parts->contents.entries.count], body);
	CHECK_EQ(array_push(&parts->contents.entries, entry), 0);
}

static void parts_put(struct parts *parts, struct buffer *bytes)
{
	for (size_t i = 0; i < parts->contents.entries.count; i++) {
		parts->contents.entries.items[i].stored = parts->bodies[i].size;
		parts->contents.entries.items[i].crc =
			crc32c(0, parts->bodies[i].data, parts->bodies[i].size);
	}
	contents_encode(&parts->contents, bytes);
	for (size_t i = 0; i < parts->contents.entries.count; i++)
		buffer_bytes(bytes, parts->bodies[i].data, parts->bodies[i].size);
}

static int parts_decode(struct parts *parts, struct tape **ret_tape, struct error *error)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };

	parts_put(parts, &bytes);
	return decode(bytes.data, bytes.size, ret_tape, error);
}

static void test_unknown_sections(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = small_tape(), *back = NULL, *none = NULL;
	_cleanup_(parts_done) struct parts parts;
	struct error error = { 0 };

	parts_take(&parts, tape);
	parts_add(&parts, "colours", 0, "red");
	CHECK_EQ(parts_decode(&parts, &back, &error), 0);
	check_same(tape, back);
	parts_add(&parts, "tastes", CONTENTS_INCOMPATIBLE, "sour");
	CHECK_EQ(parts_decode(&parts, &none, &error), -EPROTONOSUPPORT);
	CHECK(strstr(error.text, "tastes"));
}

static void test_a_section_twice(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = small_tape(), *back = NULL;
	_cleanup_(parts_done) struct parts parts;
	struct error error = { 0 };

	parts_take(&parts, tape);
	parts_add(&parts, "facts", 0, "");
	CHECK_EQ(parts_decode(&parts, &back, &error), -EBADMSG);
	CHECK(strstr(error.text, "facts"));
}

/*
 * Without one of its sections, a segment is damaged or lacks the section's data, but never gives
 * other data.
 */
static void test_a_section_missing(void)
{
	static const char *const needed[] = { "strings", "threads", "modules", "function",
					      "trie",	 "blocks",  "samples" };

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		_cleanup_(cleanup_tape) struct tape *tape = small_tape(), *back = NULL;
		_cleanup_(parts_done) struct parts parts;
		struct error error = { 0 };

		parts_take(&parts, tape);
		strcpy(parts.contents.entries.items[parts_find(&parts, needed[i])].name, "other");
		parts.contents.entries.items[parts_find(&parts, "other")].flags = 0;
		CHECK_EQ(parts_decode(&parts, &back, &error), -EBADMSG);
		CHECK(error.text[0]);
	}
}

/* The sizes that a section states are not trusted: 4 KB must not become gigabytes. */
static void test_claims(void)
{
	static const uint64_t sizes[] = { 1u << 21, 1u << 30, 1ull << 40, UINT64_MAX };
	_cleanup_(cleanup_tape) struct tape *tape = small_tape();

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (size_t section = 0; section < 20; section++) {
			_cleanup_(cleanup_tape) struct tape *back = NULL;
			_cleanup_(parts_done) struct parts parts;
			struct buffer *body;

			parts_take(&parts, tape);
			if (section >= parts.contents.entries.count)
				continue;
			body = &parts.bodies[section];
			body->size = 0;
			buffer_varint(body, sizes[i]);
			buffer_varint(body, 20);
			buffer_bytes(body, "twenty bytes of junk", 20);
			CHECK_EQ(parts_decode(&parts, &back, NULL), -EBADMSG);
		}
	}
}

/* A valid zstd frame of very many zeros. */
static void test_bomb(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = small_tape(), *back = NULL;
	_cleanup_(buffer_done) struct buffer frame = { 0 };
	_cleanup_free_ uint8_t *zeros = calloc(1, 64 << 20);
	_cleanup_(parts_done) struct parts parts;
	struct buffer *body;

	CHECK_EQ(zstd_append(&frame, zeros, 64 << 20, 1), 0);
	parts_take(&parts, tape);
	body = &parts.bodies[parts_find(&parts, "losses")];
	body->size = 0;
	buffer_varint(body, 64 << 20);
	buffer_varint(body, frame.size);
	buffer_bytes(body, frame.data, frame.size);
	parts.contents.entries.items[parts_find(&parts, "losses")].raw = 64 << 20;
	CHECK(frame.size < 10000);
	CHECK_EQ(parts_decode(&parts, &back, NULL), -EBADMSG);
}

/* Decodes a segment with `count` additional strings. */
static int decode_strings(size_t count)
{
	_cleanup_(cleanup_tape) struct tape *tape = small_tape(), *back = NULL;
	_cleanup_(buffer_done) struct buffer texts = { 0 }, frame = { 0 };
	_cleanup_(parts_done) struct parts parts;
	struct buffer *body;

	parts_take(&parts, tape);
	for (uint32_t i = 1; i < strings_count(&tape->strings); i++)
		buffer_bytes(&texts, tape_string(tape, i), strlen(tape_string(tape, i)) + 1);
	for (size_t i = 0; i < count; i++) {
		buffer_printf(&texts, "%zx", i + 0x1000);
		buffer_u8(&texts, 0);
	}
	CHECK_EQ(zstd_append(&frame, texts.data, texts.size, 3), 0);
	body = &parts.bodies[parts_find(&parts, "strings")];
	body->size = 0;
	buffer_varint(body, texts.size);
	buffer_varint(body, frame.size);
	buffer_bytes(body, frame.data, frame.size);
	parts.contents.entries.items[parts_find(&parts, "strings")].raw = texts.size;
	return parts_decode(&parts, &back, NULL);
}

/* A string of few bytes takes many bytes in the tables of a reader. */
static void test_many_strings(void)
{
	CHECK_EQ(decode_strings(1000), 0);
	CHECK_EQ(decode_strings(1000000), -EBADMSG);
}

CHECK_MAIN({ "unknown sections are skipped, or refused by name", test_unknown_sections },
	   { "a section that is there twice", test_a_section_twice },
	   { "a section that is missing", test_a_section_missing },
	   { "a section's claims are not trusted", test_claims },
	   { "a bomb is refused", test_bomb },
	   { "too many strings for the file's size are refused", test_many_strings })
