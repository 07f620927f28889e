/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The title of a picture, and the lines under it. People show a picture far from the host and the
 * store. The lines therefore name the host, the time, the sampled event and the incidents.
 */

#include "cli/options/command.h"
#include "query/sums/fold.h"
#include "query/window/window.h"
#include "store/read/store-reader.h"

/* picture_head_put() ends both texts with a NUL. A zeroed head is empty. */
struct picture_head {
	struct buffer title;
	struct buffer lines;
};

/*
 * Puts the title, or the text of --title, and lines about the host, the window, the coverage, the
 * incidents and the filter. Returns 0, or a negative errno with a message.
 */
int picture_head_put(const struct invocation *invocation, struct store_reader *reader,
		     const struct question *question, const struct fold *fold,
		     struct picture_head *head, struct error *error);
void picture_head_done(struct picture_head *head);
