// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads any bytes as the answer of an unpacking helper that a file has taken over, in pieces of the
 * size that the first byte chooses, and at once. Both must give the same bytes and the same result.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "unpacker/unpack-answer.h"
#include "unpacker/unpack-server.h"

/* The caller refuses more; 0xff as the first byte makes that happen. */
#define LIMIT 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct given {
	uint64_t sum;
	size_t size, limit;
};

static int take(void *context, const uint8_t *data, size_t size)
{
	struct given *given = context;

	if (!size || size > UNPACK_PART_MAX)
		abort();
	if (size > given->limit - given->size)
		return -EFBIG;
	given->size += size;
	for (size_t i = 0; i < size; i++)
		given->sum = given->sum * 31 + data[i];
	return 0;
}

static int read_answer(const uint8_t *data, size_t size, size_t piece, struct given *ret_given,
		       int32_t *ret_result)
{
	struct unpack_answer answer = { 0 };
	int r = 0;

	for (size_t done = 0; r == 0 && done < size; done += piece)
		r = unpack_answer_take(&answer, data + done, MIN(piece, size - done), take,
				       ret_given);
	*ret_result = answer.result;
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct given whole = { .limit = SIZE_MAX }, pieces = { .limit = SIZE_MAX };
	int32_t result, other;
	int r, again;

	if (size < 2)
		return 0;
	if (data[0] == 0xff)
		whole.limit = LIMIT;
	r = read_answer(data + 1, size - 1, size - 1, &whole, &result);
	if (r != 0 && r != 1 && r != -EPROTO && (r != -EFBIG || data[0] != 0xff))
		abort();
	if (r == 1 && result != 0 && result != -EBADMSG && result != -ENOBUFS && result != -ENOMEM)
		abort();
	if (whole.size >= size)
		abort();
	if (data[0] == 0xff)
		return 0;
	again = read_answer(data + 1, size - 1, 1 + data[0], &pieces, &other);
	/* the end of a piece may hide what comes behind the answer */
	if (again != r && (again != 1 || r != -EPROTO))
		abort();
	if (result != other || whole.size != pieces.size || whole.sum != pieces.sum)
		abort();
	return 0;
}
