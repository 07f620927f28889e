/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The columns of the index's rows, in their order, and the checksums of rows. */

#include <stdint.h>

#include "store/disk/incident-rows.h"
#include "store/disk/segment-row.h"

/* The numeric columns of a segment's row, which begin at the third column. */
#define COLUMNS_OF_SEGMENT 9
void columns_of_segment(const struct store_segment *segment, uint64_t numbers[COLUMNS_OF_SEGMENT]);
uint32_t columns_segment_crc(const struct store_segment *segment);

/*
 * The numeric columns of an incident's row, which begin at the third column. The columns of texts
 * follow them.
 */
#define COLUMNS_OF_INCIDENT 6
#define COLUMNS_INCIDENT_TEXTS 5
void columns_of_incident(const struct store_incident *incident,
			 uint64_t numbers[COLUMNS_OF_INCIDENT]);
void columns_incident_texts(const struct store_incident *incident,
			    const char *texts[COLUMNS_INCIDENT_TEXTS]);
/* `number` is the incident's position in its segment. */
uint32_t columns_incident_crc(const struct store_incident *incident, uint64_t number);

/* Returns the checksum of a row that has bytes. */
uint32_t columns_bytes_crc(const char *segment, const void *data, size_t size);
