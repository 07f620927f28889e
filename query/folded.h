/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "query/output.h"
#include "query/selection.h"

enum folded_weight {
	FOLDED_SAMPLES,
	FOLDED_PERIOD,
};

/*
 * One line a distinct stack: "comm;outermost;...;leaf COUNT", sorted by text, as flamegraph.pl and speedscope read it.
 * Names are without offset; a `;` or newline in one becomes `:` or `?`. 0 or -ENOMEM.
 */
int folded_write(
	const struct selection *selection, enum folded_weight weight, struct output *output);
