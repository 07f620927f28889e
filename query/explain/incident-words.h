/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What an incident means, in words. */

#include "base/bytes.h"
#include "query/explain/evidence.h"

/* Appends sentences without a newline, such as "ENA Tx stall: queue 5 of eth0 ...". */
void incident_words_put(const struct evidence *evidence, struct buffer *text);
