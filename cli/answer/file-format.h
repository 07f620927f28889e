/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The format that the name of an output promises. If the name does not have a known ending, the
 * command uses its usual format.
 */

enum file_format {
	/* No known ending, such as "night" or "night.stacks", or no file at all. */
	FILE_FORMAT_ANY,
	/* ".txt" */
	FILE_FORMAT_TEXT,
	/* ".folded" and ".collapsed" */
	FILE_FORMAT_FOLDED,
	/* ".json", ".jsonl" and ".ndjson" */
	FILE_FORMAT_JSON,
	/* ".svg" and ".svgz" */
	FILE_FORMAT_SVG,
	/* ".tape" */
	FILE_FORMAT_TAPE,
	/* The endings of other profilers, tables, pages and pictures. */
	FILE_FORMAT_OTHER,
};

/* Returns the format by the name's ending, in any case, below ".gz". `path` may be NULL. */
enum file_format file_format_of(const char *path);
