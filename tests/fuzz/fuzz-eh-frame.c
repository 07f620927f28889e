// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads any bytes as .eh_frame. The walk must end, and every function must consume some of the
 * bytes.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "symbolizer/eh-frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (size_t word_size = 4; word_size <= 8; word_size += 4) {
		struct file_window source = file_window_of_memory(data, size);
		_cleanup_(eh_frame_done) struct eh_frame frame = { 0 };
		struct eh_function function;
		size_t count = 0;

		eh_frame_init(&frame, &source, 0x402000, word_size);
		while (eh_frame_next(&frame, &function))
			if (!function.size || ++count > size / 8)
				abort();
	}
	return 0;
}
