/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Parts of perf.data that perf-data.c leaves to other files: attributes, and features with host,
 * clock and names.
 */

#include "base/bytes.h"
#include "import/perf-data.h"

/*
 * Reads bytes of the file. Returns 0, -EBADMSG when the file ends before them, or another negative
 * errno.
 */
int perf_data_load(const struct perf_data *file, uint64_t offset, uint64_t size,
		   struct buffer *bytes);

int perf_data_read_attr(struct reader *attr, struct perf_data_event *event);
/* Adds an event with its ids. Returns 0 or -ENOMEM. */
int perf_data_add_event(struct perf_data *file, const struct perf_data_event *event,
			struct reader *ids);

bool perf_feature_wanted(unsigned int feature);
/* Reads one feature. Returns 0, -EBADMSG when its bytes are wrong, or -ENOMEM. */
int perf_feature_read(struct perf_data *file, unsigned int feature, const uint8_t *bytes,
		      size_t size);
/*
 * Reads one record: an attribute, a feature, a build-id or the name of an event. Returns what
 * perf_feature_read() returns.
 */
int perf_feature_record(struct perf_data *file, uint32_t type, const uint8_t *record, size_t size);
