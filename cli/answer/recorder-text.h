/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What a recorder told of itself, for people and for programs. */

#include "base/bytes.h"
#include "base/error.h"
#include "recorder/run/progress.h"
#include "store/read/store-reader.h"

struct recorder_text {
	/* it told something that can be understood */
	bool there;
	/* it still holds the store's lock */
	bool running;
	int pid;
	/* wall clock */
	uint64_t told_ns;
	struct recorder_progress progress;
};

/* `pid` is of who holds the store's lock, 0: nobody. 0 or -ENOMEM. */
int recorder_text_read(const struct store_reader *reader, int pid,
		       struct recorder_text *ret_status);
void recorder_text_print(const struct recorder_text *status, uint64_t now_ns, bool utc);
/* An object, or null. */
void recorder_text_json(const struct recorder_text *status, uint64_t now_ns, struct buffer *json);
