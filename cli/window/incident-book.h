/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* All incidents that a store knows, and the episodes that they form. */

#include "base/intern.h"
#include "incidents/logs/episode.h"
#include "incidents/logs/incident-json.h"
#include "store/read/store-reader.h"

struct book_row {
	uint64_t id;
	/* Wall clock. */
	uint64_t time_ns;
	/* The start of the stall on the wall clock. */
	uint64_t stall_ns;
	uint64_t error_ns;
	/* 0: unknown. */
	uint64_t perf_ns;
	/* Index of the kind in book.kinds. */
	uint32_t kind;
	/* Ids of strings. */
	uint32_t text, source, fields, boot_id;
	/* The incident comes from the store's notes, not from a segment. */
	bool noted;
	size_t episode;
};

struct book {
	/* Sorted by time. */
	array_of(struct book_row) rows;
	/* Only names and severities are set. */
	array_of(struct kind) kinds;
	struct strings strings;
	struct episodes episodes;
	/* The segments around the incidents, sorted by their begin. */
	struct store_segments segments;
};

int book_open(struct store_reader *reader, struct book *ret_book, struct error *error);
/* Reads only the incidents after a moment of the wall clock. Their episodes begin there, too. */
int book_open_since(struct store_reader *reader, uint64_t since_ns, struct book *ret_book,
		    struct error *error);
/* Reads all incidents and their episodes, but not the segments around them. */
int book_open_bare(struct store_reader *reader, struct book *ret_book, struct error *error);
void book_done(struct book *book);

/*
 * Appends "NAME: DAMAGE; incidents in it may be missing" for the first segment that cannot be read,
 * and the number of the other unreadable ones. Appends nothing if all segments can be read. Returns
 * 0 or a negative errno.
 */
int book_describe_unread(struct store_reader *reader, struct buffer *text, struct error *error);

/*
 * Makes an incident from a row. The incident borrows from the book and from `names`. Returns 0 or
 * -ENOMEM.
 */
int book_incident(const struct book *book, const struct book_row *row, struct buffer *names,
		  char device[64], struct incident *ret_incident);

static inline const char *book_text(const struct book *book, uint32_t text)
{
	return strings_at(&book->strings, text);
}

/* Compares boot IDs. Ignores dashes, because journals leave them out. */
bool same_boot(const char *a, const char *b);

/* Returns the recorded time within [from, to) of the wall clock in a boot; "": in any boot. */
uint64_t segments_recorded(const struct store_segments *segments, const char *boot_id,
			   uint64_t from_ns, uint64_t to_ns);
/* Returns whether all, a part or nothing of [from, to] was recorded. */
enum covered segments_covered(const struct store_segments *segments, const char *boot_id,
			      uint64_t from_ns, uint64_t to_ns);

/*
 * Returns whether a kind matches: "ena_reset" matches "ena.reset" and every kind that continues
 * this name with another word.
 */
bool book_kind_is(const char *kind, const char *asked, size_t size);
