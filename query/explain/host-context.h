/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What the host's gauges, the recorder's events about cgroups and the kernel's other messages say
 * about a stall: context that moved, and threads that waited for a CPU. The usual values are those
 * of the hour before the stall.
 */

#include "base/error.h"
#include "query/explain/evidence.h"
#include "query/read/loader.h"
#include "store/read/store-reader.h"

/*
 * Sets `host`, the victims, and what the gauges say about the cores. A store without gauges leaves
 * the figures unknown. Returns 0 or a negative errno.
 */
int host_context_read(struct store_reader *reader, const struct question *question,
		      struct evidence *evidence, struct error *error);
