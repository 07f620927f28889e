/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What the index's rows hold, in the order of their columns, and the checksums over it. */

#include <stdint.h>

#include "store/disk/incident-rows.h"
#include "store/disk/segment-row.h"

/* The numbers of a segment, from the third column on. */
#define COLUMNS_OF_SEGMENT 9
void columns_of_segment(const struct store_segment *segment, uint64_t numbers[COLUMNS_OF_SEGMENT]);
uint32_t columns_segment_crc(const struct store_segment *segment);

/* The numbers of an incident, from the third column on, and then its texts. */
#define COLUMNS_OF_INCIDENT 6
#define COLUMNS_INCIDENT_TEXTS 5
void columns_of_incident(const struct store_incident *incident,
			 uint64_t numbers[COLUMNS_OF_INCIDENT]);
void columns_incident_texts(const struct store_incident *incident,
			    const char *texts[COLUMNS_INCIDENT_TEXTS]);
/* number: which one of its segment it is. */
uint32_t columns_incident_crc(const struct store_incident *incident, uint64_t number);

/* Of the row that says which CPUs were busy. */
uint32_t columns_busy_crc(const char *segment, const void *data, size_t size);
