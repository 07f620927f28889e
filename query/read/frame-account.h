/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Enters the frames of samples into the coverage: how many, and why some have no name. */

#include "query/coverage/coverage.h"
#include "tape/digest.h"
#include "tape/frame-count.h"

/* Enters counted frames. Call it once, after all stacks were counted. Returns 0 or -ENOMEM. */
int frame_account_add(struct frame_count *count, struct coverage *coverage);
/* Enters the frames of a tape's digest. Returns 0 or -ENOMEM. */
int frame_account_add_digest(const struct tape *tape, const struct digest *digest,
			     struct coverage *coverage);
/* Adds the frames of one coverage to another. */
void frame_account_merge(struct coverage *coverage, const struct coverage *other);
