// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads any bytes as an answer of systemd. The names that the reader returns must be strings within
 * these bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "audit/systemd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
	const char *begin, *end;
};

static void check(const struct bytes *bytes, const char *text)
{
	if (text < bytes->begin || text + strlen(text) >= bytes->end)
		abort();
}

static int see(void *context, const char *name, const char *active, const char *sub)
{
	check(context, name);
	check(context, active);
	check(context, sub);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes bytes = { (const char *)data, (const char *)data + size };
	uint32_t number;

	systemd_parse_units(data, size, see, &bytes);
	systemd_parse_number(data, size, &number);
	return 0;
}
