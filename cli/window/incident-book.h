/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* All incidents that a store knows of, and the episodes that they make. */

#include "base/intern.h"
#include "incidents/logs/episode.h"
#include "incidents/logs/incident-json.h"
#include "store/read/store-reader.h"

struct book_row {
	uint64_t id;
	/* of the wall clock */
	uint64_t time_ns;
	/* when its stall began */
	uint64_t stall_ns;
	uint64_t error_ns;
	/* 0: not known */
	uint64_t perf_ns;
	/* of the book's */
	uint32_t kind;
	/* strings */
	uint32_t text, source, fields, boot_id;
	/* no segment has it */
	bool noted;
	size_t episode;
};

struct book {
	/* by time */
	array_of(struct book_row) rows;
	/* with name and severity alone */
	array_of(struct kind) kinds;
	struct strings strings;
	struct episodes episodes;
	/* that there are incidents of, by their begin */
	struct store_segments segments;
};

int book_open(struct store_reader *reader, struct book *ret_book, struct error *error);
void book_done(struct book *book);

/* A row as an incident, which borrows from the book and from `names`. 0 or -ENOMEM. */
int book_incident(const struct book *book, const struct book_row *row, struct buffer *names,
		  char device[64], struct incident *ret_incident);

static inline const char *book_text(const struct book *book, uint32_t text)
{
	return strings_at(&book->strings, text);
}

/* Journals write a boot id without its dashes. */
bool same_boot(const char *a, const char *b);

/* How much of [from, to) of the wall clock was recorded, of that boot; "": of any. */
uint64_t segments_recorded(const struct store_segments *segments, const char *boot_id,
			   uint64_t from_ns, uint64_t to_ns);
/* The same of [from, to], in words. */
enum covered segments_covered(const struct store_segments *segments, const char *boot_id,
			      uint64_t from_ns, uint64_t to_ns);

/* "ena_reset" is "ena.reset", and all kinds that go on from there with another word. */
bool book_kind_is(const char *kind, const char *asked, size_t size);
