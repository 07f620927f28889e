/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Questions to the naming helper, and its answers, as bytes. Parent and helper are the same
 * program, so the bytes do not need a version. A file of others may take over the helper, so the
 * parent does not trust the bytes of an answer. Its decoder gives at most one name per address of
 * the question. The time and memory of the decoder depend only on the size of the answer.
 *
 * A question is a head of NAME_QUESTION_SIZE bytes, with the open files, and the addresses, a u64
 * each. The head is u8 task, u8 files (bit 0: a file, bit 1: another file), u16 0, u32 number of
 * addresses.
 *
 * An answer is a head of NAME_ANSWER_SIZE bytes and a body. The head is u32 result (0 or an errno),
 * u32 size of the body. The body of names has a u32 name and a u64 start for each address. A name
 * is the number of a text, from 1, or 0 for none. If the highest bit is set, the text is a label
 * that lacks the file's name. The texts follow the rows, each with its NUL. The body of an identity
 * is a u32 CRC-32, a u8 size and the build-id, and the name of the debug file with a NUL. The body
 * of an unwind table is its u32 size.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "symbolizer/addresses.h"
#include "symbolizer/elf.h"

enum name_task {
	/* The identity of an ELF file. */
	NAME_IDENTITY,
	/* Whether a file has a CRC-32, which the question contains instead of the first address. */
	NAME_CRC,
	/* Names from an ELF file and its debug file. */
	NAME_ELF,
	/* Names from a perf map and a jitdump. */
	NAME_JIT,
	/* The unwind table of an ELF file, which the helper writes into the other file, a memfd. */
	NAME_UNWIND,
};
#define NAME_TASKS 5

#define NAME_QUESTION_SIZE 8
#define NAME_ANSWER_SIZE 8
#define NAME_HAS_FILE 1
#define NAME_HAS_OTHER 2

/* Limits of one question and its answer. */
#define NAME_ADDRESSES_MAX (1u << 22)
#define NAME_TEXTS_MAX (16u << 20)
/* The decoder ignores a longer name; demangling stops at the same length. */
#define NAME_TEXT_MAX ((64u << 10) + 64)
#define NAME_IDENTITY_MAX (4 + 1 + ELF_BUILD_ID_MAX + ELF_DEBUGLINK_MAX)

/* The build-id and the debug link of an ELF file. */
struct name_identity {
	size_t build_id_size;
	uint8_t build_id[ELF_BUILD_ID_MAX];
	/* The name of the debug file without a folder; "" without a debug link. */
	char debuglink[ELF_DEBUGLINK_MAX];
	uint32_t debuglink_crc;
};

struct name_question {
	enum name_task task;
	/* Flags: NAME_HAS_FILE, NAME_HAS_OTHER. */
	unsigned int files;
	uint32_t count;
};

void name_question_encode(const struct name_question *question, const uint64_t *addresses,
			  struct buffer *bytes);
/* Decodes the head. Returns 0 or -EBADMSG. */
int name_question_decode(const uint8_t head[NAME_QUESTION_SIZE],
			 struct name_question *ret_question);

/* Decodes the head of an answer. Returns 0, or -EPROTO if it exceeds the limits of the question. */
int name_answer_head(const uint8_t head[NAME_ANSWER_SIZE], const struct name_question *question,
		     int *ret_result, size_t *ret_size);
void name_answer_put_head(int result, size_t size, struct buffer *bytes);

/*
 * Encodes the names of all addresses; labels[i] states that the i-th name is a label. Encodes 0 for
 * all names if the texts exceed their limit.
 */
void name_answer_put_names(const struct addresses *addresses, const bool *labels,
			   struct buffer *bytes);
/*
 * Names the open addresses; the answer has a row for each, in order. `file_name` completes labels;
 * if it is NULL, labels are ignored. Returns 0, -EPROTO if the bytes are not an answer, or -ENOMEM.
 */
int name_answer_take_names(const void *bytes, size_t size, const char *file_name,
			   struct addresses *addresses);

void name_answer_put_identity(const struct name_identity *identity, struct buffer *bytes);
/* Returns 0 or -EPROTO. */
int name_answer_take_identity(const void *bytes, size_t size, struct name_identity *ret_identity);
