// SPDX-License-Identifier: GPL-2.0-only
#include "cli/answer/recovered-text.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/number.h"

/* A recorder that was killed just after it sealed a segment leaves a spool without samples. */
static void recovered_tapes(const struct store_recovered *recovered, char *text, size_t size)
{
	char length[32];

	if (!recovered->samples) {
		snprintf(text, size, "an interrupted recording left no samples to recover");
		return;
	}
	duration_format(recovered->end_ns - recovered->begin_ns, length, sizeof(length));
	snprintf(text, size, "recovered %s of an interrupted recording: %llu sample%s", length,
		 (unsigned long long)recovered->samples, plural(recovered->samples));
}

void recovered_text(const struct store_recovered *recovered, char *text, size_t size)
{
	char tapes[128];

	recovered_tapes(recovered, tapes, sizeof(tapes));
	snprintf(text, size, "%s%s%s", tapes,
		 recovered->damaged ? "; a part of it was damaged" : "",
		 recovered->unread ? "; a part of it cannot be read now and stays in the spool"
				   : "");
}
