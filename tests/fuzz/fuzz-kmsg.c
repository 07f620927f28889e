// SPDX-License-Identifier: GPL-2.0-only
/* Records of /dev/kmsg. Each field must lie within its record. */
#include <assert.h>
#include <errno.h>

#include "incidents/logs/kmsg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *begin = (const char *)data, *value;
	struct buffer text = { 0 };
	struct kmsg_record record;
	size_t value_size;
	int r = kmsg_parse(begin, size, &text, &record);

	assert(r == 0 || r == -EBADMSG);
	if (r == 0) {
		assert(record.text_size <= text.size && text.size <= size);
		assert(record.level < 8);
		value = kmsg_value(&record, "DEVICE", &value_size);
		assert(!value || (value >= begin && value + value_size <= begin + size));
	}
	buffer_done(&text);
	return 0;
}
