// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads any bytes as the position in the kernel's log. A position must be the same after writing
 * and reading it again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "store/disk/log-position.h"
#include "tests/fuzz/root.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *text, size_t size)
{
	struct log_position once, twice;
	struct error error = { 0 };

	put("/kernel-log", text, size);
	if (log_position_read(root, &once, &error) < 0)
		return;
	if (!memchr(once.boot_id, 0, sizeof(once.boot_id)))
		abort();
	if (log_position_keep(root, &once, &error) < 0 ||
	    log_position_read(root, &twice, &error) < 0 || strcmp(once.boot_id, twice.boot_id) ||
	    once.sequence != twice.sequence || once.stamp_ns != twice.stamp_ns ||
	    once.next_id != twice.next_id || once.below_id != twice.below_id)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(buffer_done) struct buffer line = { 0 };

	if (!*root)
		make_root(NULL, 0);
	check((const char *)data, size);
	/* a fuzzer does not find the checksum */
	buffer_bytes(&line, data, size);
	buffer_printf(&line, " %08x\n", crc32c(0, data, size));
	if (!buffer_failed(&line))
		check((const char *)line.data, line.size);
	return 0;
}
