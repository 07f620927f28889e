// SPDX-License-Identifier: GPL-2.0-only
#include "store/disk/index-columns.h"

#include "base/bytes.h"

static uint32_t crc_text(uint32_t crc, const char *text)
{
	return crc32c(crc, text, strlen(text) + 1);
}

static uint32_t crc_numbers(uint32_t crc, const uint64_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		crc = crc32c(crc, &(uint64_t){ htole64(numbers[i]) }, 8);
	return crc;
}

void columns_of_segment(const struct store_segment *segment, uint64_t numbers[COLUMNS_OF_SEGMENT])
{
	const uint64_t all[COLUMNS_OF_SEGMENT] = {
		segment->sequence,	segment->begin_ns,    segment->end_ns,
		segment->perf_begin_ns, segment->perf_end_ns, segment->samples,
		segment->lost,		segment->incidents,   segment->bytes,
	};

	memcpy(numbers, all, sizeof(all));
}

uint32_t columns_segment_crc(const struct store_segment *segment)
{
	uint64_t numbers[COLUMNS_OF_SEGMENT];

	columns_of_segment(segment, numbers);
	return crc_numbers(crc_text(crc_text(0, segment->name), segment->boot_id), numbers,
			   COLUMNS_OF_SEGMENT);
}

void columns_of_incident(const struct store_incident *incident,
			 uint64_t numbers[COLUMNS_OF_INCIDENT])
{
	const uint64_t all[COLUMNS_OF_INCIDENT] = {
		incident->id,	    incident->time_ns, incident->stall_ns,
		incident->error_ns, incident->perf_ns, incident->severity,
	};

	memcpy(numbers, all, sizeof(all));
}

void columns_incident_texts(const struct store_incident *incident,
			    const char *texts[COLUMNS_INCIDENT_TEXTS])
{
	const char *const all[COLUMNS_INCIDENT_TEXTS] = {
		incident->kind,	  incident->text,    incident->source,
		incident->fields, incident->boot_id,
	};

	memcpy(texts, all, sizeof(all));
}

uint32_t columns_incident_crc(const struct store_incident *incident, uint64_t number)
{
	uint64_t numbers[COLUMNS_OF_INCIDENT];
	const char *texts[COLUMNS_INCIDENT_TEXTS];
	uint32_t crc = crc_text(0, incident->segment);

	columns_of_incident(incident, numbers);
	columns_incident_texts(incident, texts);
	for (int i = 0; i < COLUMNS_INCIDENT_TEXTS; i++)
		crc = crc_text(crc, texts[i]);
	return crc_numbers(crc_numbers(crc, &number, 1), numbers, COLUMNS_OF_INCIDENT);
}

uint32_t columns_bytes_crc(const char *segment, const void *data, size_t size)
{
	return crc32c(crc_text(0, segment), data, size);
}
