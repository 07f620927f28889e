/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What was recorded of the host's figures in the hours before, and what the recorder told of
 * cgroups that are dying. */

#include "audit/host-figures.h"

/* Adds it to the host's figures. 0 also where nothing was recorded; a negative errno, with a text,
 * when the store cannot be read. */
int history_read(struct host *host, struct error *error);
