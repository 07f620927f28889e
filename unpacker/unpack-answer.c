// SPDX-License-Identifier: GPL-2.0-only
#include "unpacker/unpack-answer.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "unpacker/unpack-server.h"

/* Reads bytes of an i32. Returns how many it took. */
static size_t unpack_answer_take_number(struct unpack_answer *answer, const uint8_t *bytes,
					size_t size)
{
	size_t taken = MIN(size, sizeof(answer->number) - answer->number_size);

	memcpy(answer->number + answer->number_size, bytes, taken);
	answer->number_size += taken;
	return taken;
}

/* Only these results are those of a decoder; a helper that was taken over may send others. */
static bool unpack_answer_may_result(int32_t result)
{
	return result == 0 || result == -EBADMSG || result == -ENOBUFS || result == -ENOMEM;
}

/* Uses a whole i32. Returns 1 if it is a result, 0 if it is the size of a part, or -EPROTO. */
static int unpack_answer_use_number(struct unpack_answer *answer)
{
	int32_t number;

	memcpy(&number, answer->number, sizeof(number));
	answer->number_size = 0;
	if (number > 0) {
		answer->left = number;
		return number <= (int32_t)UNPACK_PART_MAX ? 0 : -EPROTO;
	}
	answer->result = number;
	return unpack_answer_may_result(number) ? 1 : -EPROTO;
}

int unpack_answer_take(struct unpack_answer *answer, const uint8_t *bytes, size_t size,
		       int (*give)(void *context, const uint8_t *data, size_t size), void *context)
{
	while (size) {
		size_t taken;
		int r = 0;

		if (answer->left) {
			taken = MIN(size, answer->left);
			answer->left -= taken;
			r = give(context, bytes, taken);
		} else {
			taken = unpack_answer_take_number(answer, bytes, size);
			if (answer->number_size == sizeof(answer->number))
				r = unpack_answer_use_number(answer);
		}
		bytes += taken;
		size -= taken;
		if (r != 0)
			return r > 0 && size ? -EPROTO : r;
	}
	return 0;
}
