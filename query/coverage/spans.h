/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Joins tapes and unsaved spans that meet on the perf clock. Each tape or span converts its ends to
 * the wall clock with its own anchors. If somebody set the wall clock, the converted ends are far
 * apart.
 */

#include "query/coverage/coverage.h"

/* Covers the time between tapes that meet on the perf clock. Returns 0 or -ENOMEM. */
int spans_join(struct coverage_parts *parts);
/*
 * Adds the reason for uncovered time whose samples are unsaved. The process that reports such a
 * span did not run at the span's begin, so the converted begin may be off. The span therefore
 * begins where the previous tape ends, if that end is in the window too. Returns 0 or -ENOMEM.
 */
int spans_explain_unsaved(struct coverage_parts *parts);
