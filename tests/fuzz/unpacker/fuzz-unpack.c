// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bytes that claim to be packed, in pieces of any size. Unpacking must end, and the caller can end
 * it at any time.
 */
#include <errno.h>
#include <stdlib.h>

#include "unpacker/unpack-helper.h"

#define LIMIT (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count(void *context, const uint8_t *data, size_t size)
{
	size_t *left = context;

	if (size > *left)
		return -EFBIG;
	*left -= size;
	return 0;
}

static void check(int r)
{
	if (r > 0 || (r < 0 && r != -EBADMSG && r != -ENOBUFS && r != -EFBIG && r != -ENOMEM))
		abort();
}

/* The first byte chooses the size of the pieces. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(cleanup_unpack_helper) struct unpack_helper *helper = NULL;
	size_t left = LIMIT, piece;
	int r;

	if (size < 1 + UNPACK_HEAD)
		return 0;
	piece = 1 + data[0] * 257u;
	data++;
	size--;
	r = unpack_helper_new_here(data, &helper);
	if ((r == 0) != unpack_is_packed(data) || r > 0)
		abort();
	for (size_t done = 0; r == 0 && done < size; done += piece) {
		r = unpack_helper_feed(helper, data + done, MIN(piece, size - done), count, &left);
		check(r);
	}
	if (r == 0)
		check(unpack_helper_finish(helper, count, &left));
	return 0;
}
