// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads any bytes as the answer of a naming helper that a file has taken over. The first byte
 * chooses the number of addresses. Names have bounded sizes, and each address gets at most one
 * name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "namer/name-wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_names(const uint8_t *data, size_t size, size_t count)
{
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	size_t open = 0;
	int r;

	for (size_t i = 0; i < count; i++)
		if (addresses_add(&addresses, 0x1000 + 16 * i) < 0)
			abort();
	r = name_answer_take_names(data, size, "file", &addresses);
	if (r != 0 && r != -EPROTO)
		abort();
	for (size_t i = 0; i < count; i++) {
		const struct address *address = &addresses.list.items[i];
		size_t length = strlen(addresses_name(&addresses, address));

		open += address->state == ADDRESSES_OPEN;
		if (length > NAME_TEXT_MAX + 300 || (address->state == ADDRESSES_NAMED) != !!length)
			abort();
	}
	if (open != addresses.open)
		abort();
}

static void check_identity(const uint8_t *data, size_t size)
{
	struct name_identity identity;

	if (name_answer_take_identity(data, size, &identity) == 0 &&
	    (identity.build_id_size > ELF_BUILD_ID_MAX ||
	     strnlen(identity.debuglink, ELF_DEBUGLINK_MAX) == ELF_DEBUGLINK_MAX ||
	     strchr(identity.debuglink, '/')))
		abort();
}

static void check_head(const uint8_t *data)
{
	const struct name_question question = { data[0] % NAME_TASKS, NAME_HAS_FILE, data[1] };
	struct name_question decoded;
	size_t size;
	int result;

	if (name_answer_head(data, &question, &result, &size) == 0 &&
	    (result > 0 || result < -4095 || size > NAME_TEXTS_MAX + 256 * 12))
		abort();
	if (name_question_decode(data, &decoded) == 0 && decoded.count > NAME_ADDRESSES_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 + NAME_ANSWER_SIZE)
		return 0;
	check_head(data + 1);
	check_names(data + 1, size - 1, data[0]);
	check_identity(data + 1, size - 1);
	return 0;
}
