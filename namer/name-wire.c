// SPDX-License-Identifier: GPL-2.0-only
#include "namer/name-wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define ROW_SIZE 12
#define LABEL (1u << 31)
/*
 * The limit of the length of all rows' names together. Each row costs time for its name, and all
 * rows may have the same long name.
 */
#define ROWS_TEXT_MAX (64u << 20)

void name_question_encode(const struct name_question *question, const uint64_t *addresses,
			  struct buffer *bytes)
{
	buffer_u8(bytes, question->task);
	buffer_u8(bytes, question->files);
	buffer_u16(bytes, 0);
	buffer_u32(bytes, question->count);
	for (size_t i = 0; i < question->count; i++)
		buffer_u64(bytes, addresses[i]);
}

int name_question_decode(const uint8_t head[NAME_QUESTION_SIZE], struct name_question *ret_question)
{
	struct reader reader;

	reader_init(&reader, head, NAME_QUESTION_SIZE);
	ret_question->task = reader_u8(&reader);
	ret_question->files = reader_u8(&reader);
	reader_u16(&reader);
	ret_question->count = reader_u32(&reader);
	return ret_question->task < NAME_TASKS && ret_question->count <= NAME_ADDRESSES_MAX
		       ? 0
		       : -EBADMSG;
}

void name_answer_put_head(int result, size_t size, struct buffer *bytes)
{
	buffer_u32(bytes, -result);
	buffer_u32(bytes, size);
}

static size_t body_max(const struct name_question *question)
{
	switch (question->task) {
	case NAME_IDENTITY:
		return NAME_IDENTITY_MAX;
	case NAME_CRC:
		return 0;
	case NAME_UNWIND:
		return 4;
	default:
		return (size_t)question->count * ROW_SIZE + NAME_TEXTS_MAX;
	}
}

int name_answer_head(const uint8_t head[NAME_ANSWER_SIZE], const struct name_question *question,
		     int *ret_result, size_t *ret_size)
{
	struct reader reader;
	uint32_t result, size;

	reader_init(&reader, head, NAME_ANSWER_SIZE);
	result = reader_u32(&reader);
	size = reader_u32(&reader);
	if (result > 4095 || size > body_max(question))
		return -EPROTO;
	*ret_result = -(int)result;
	*ret_size = size;
	return 0;
}

/* ---- names ---- */

void name_answer_put_names(const struct addresses *addresses, const bool *labels,
			   struct buffer *bytes)
{
	const struct strings *names = &addresses->names;
	bool fits = names->text.size <= NAME_TEXTS_MAX;

	for (size_t i = 0; i < addresses->list.count; i++) {
		const struct address *address = &addresses->list.items[i];
		bool named = fits && address->state == ADDRESSES_NAMED;

		buffer_u32(bytes, named ? address->name | (labels[i] ? LABEL : 0) : 0);
		buffer_u64(bytes, named ? address->start : 0);
	}
	if (fits)
		buffer_bytes(bytes, names->text.data, names->text.size);
}

/* The texts of an answer, by their numbers in it. */
struct answer_texts {
	const char *file_name;
	array_of(const char *) items;
	/* Each text is the name of at least one address. */
	size_t count_max;
	/* The rest of ROWS_TEXT_MAX. */
	size_t left;
};

static int answer_texts_take(struct answer_texts *texts, struct reader *reader)
{
	int r = array_push(&texts->items, NULL);

	while (r == 0 && reader_left(reader)) {
		const char *text = reader_string(reader);

		if (!text || texts->items.count > texts->count_max)
			return -EPROTO;
		r = array_push(&texts->items, text);
	}
	return r;
}

/* Puts the file's name into a label: "[+0x10]" becomes "[file+0x10]". */
static int answer_texts_add(const struct answer_texts *texts, const char *text, bool label,
			    struct strings *names, uint32_t *ret_id)
{
	_cleanup_(buffer_done) struct buffer whole = { 0 };

	if (!label)
		return strings_add(names, text, strlen(text), ret_id);
	buffer_printf(&whole, "[%.255s%s", texts->file_name, text + (*text == '['));
	if (buffer_failed(&whole))
		return -ENOMEM;
	return strings_add(names, (const char *)whole.data, whole.size, ret_id);
}

static int answer_texts_name(struct answer_texts *texts, uint32_t name, uint64_t start,
			     struct addresses *addresses, struct address *address)
{
	const char *text;
	size_t size;
	int r;

	if ((name & ~LABEL) >= texts->items.count)
		return -EPROTO;
	text = texts->items.items[name & ~LABEL];
	size = text ? strlen(text) : 0;
	if (!size || size > NAME_TEXT_MAX || size > texts->left)
		return 0;
	if (name & LABEL && !texts->file_name)
		return 0;
	/* a trampoline may start one byte behind the address of the question */
	if (start && start - 1 > address->address)
		return -EPROTO;
	texts->left -= size;
	r = answer_texts_add(texts, text, name & LABEL, &addresses->names, &address->name);
	if (r < 0)
		return r;
	address->start = start;
	address->state = ADDRESSES_NAMED;
	/*
	 * a label marked as cached does not enter the cache, because a debug file may give a better
	 * name
	 */
	address->cached = name & LABEL;
	addresses->open--;
	return 0;
}

int name_answer_take_names(const void *bytes, size_t size, const char *file_name,
			   struct addresses *addresses)
{
	struct answer_texts texts = { .file_name = file_name,
				      .count_max = addresses->open,
				      .left = ROWS_TEXT_MAX };
	struct reader rows, reader;
	int r;

	reader_init(&reader, bytes, size);
	reader_init(&rows, bytes, size);
	if (!reader_take(&reader, addresses->open * ROW_SIZE))
		return -EPROTO;
	r = answer_texts_take(&texts, &reader);
	for (size_t i = 0; r == 0 && i < addresses->list.count; i++) {
		uint32_t name;
		uint64_t start;

		if (addresses->list.items[i].state != ADDRESSES_OPEN)
			continue;
		name = reader_u32(&rows);
		start = reader_u64(&rows);
		r = answer_texts_name(&texts, name, start, addresses, &addresses->list.items[i]);
	}
	array_done(&texts.items);
	return r;
}

/* ---- identities ---- */

void name_answer_put_identity(const struct name_identity *identity, struct buffer *bytes)
{
	buffer_u32(bytes, identity->debuglink_crc);
	buffer_u8(bytes, identity->build_id_size);
	buffer_bytes(bytes, identity->build_id, identity->build_id_size);
	buffer_bytes(bytes, identity->debuglink, strlen(identity->debuglink) + 1);
}

int name_answer_take_identity(const void *bytes, size_t size, struct name_identity *ret_identity)
{
	struct name_identity identity = { 0 };
	const void *build_id;
	const char *link;
	struct reader reader;

	reader_init(&reader, bytes, size);
	identity.debuglink_crc = reader_u32(&reader);
	identity.build_id_size = reader_u8(&reader);
	if (identity.build_id_size > ELF_BUILD_ID_MAX)
		return -EPROTO;
	build_id = reader_take(&reader, identity.build_id_size);
	link = reader_string(&reader);
	/* accept only a plain name, because a path could lead anywhere */
	if (!build_id || !link || reader_left(&reader) || strlen(link) >= ELF_DEBUGLINK_MAX ||
	    strchr(link, '/') || strcmp(link, ".") == 0 || strcmp(link, "..") == 0)
		return -EPROTO;
	memcpy(identity.build_id, build_id, identity.build_id_size);
	strcpy(identity.debuglink, link);
	*ret_identity = identity;
	return 0;
}
