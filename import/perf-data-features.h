/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The parts of perf.data that perf-file.c has split off: attributes, and the features that tell
 * about host, clock, names. */

#include "base/bytes.h"
#include "import/perf-data.h"

/* Bytes of the file. -EBADMSG when they are not all there. */
int perf_data_load(const struct perf_data *file, uint64_t offset, uint64_t size,
		   struct buffer *bytes);

int perf_data_read_attr(struct reader *attr, struct perf_data_event *event);
/* Adds an event with its ids. */
int perf_data_add_event(struct perf_data *file, const struct perf_data_event *event,
			struct reader *ids);

bool perf_feature_wanted(unsigned int feature);
/* 0, -EBADMSG when it does not hold what it should, -ENOMEM. */
int perf_feature_read(struct perf_data *file, unsigned int feature, const uint8_t *bytes,
		      size_t size);
/* The same out of a record: attribute, feature, build-id or the name of an event. */
int perf_feature_record(struct perf_data *file, uint32_t type, const uint8_t *record, size_t size);
