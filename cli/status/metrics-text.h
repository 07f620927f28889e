/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The text of metrics, in the two forms that monitoring systems read: OpenMetrics 1.0, and the
 * older text format of Prometheus, which node-exporter reads from files. The two forms differ in
 * the names of counters and in the last line.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

enum metrics_form {
	METRICS_PROMETHEUS,
	METRICS_OPENMETRICS,
};

enum metrics_type {
	METRICS_GAUGE,
	/* The name of each sample is the name of the family and "_total". */
	METRICS_COUNTER,
};

/* A longer label value is cut. */
#define METRICS_LABEL_BYTES 128

struct metrics_text {
	struct buffer *text;
	enum metrics_form form;
	/* The family that began last. Borrowed. */
	const char *family;
	enum metrics_type type;
	/* Number of labels so far of the current sample. */
	unsigned int labels;
	/* Where the samples of the family begin in the text, and where the current sample begins.
	 */
	size_t family_begin;
	size_t sample_begin;
};

/* Begins a family of samples. `help` is a text of the program, in one line. */
void metrics_family(struct metrics_text *metrics, const char *family, enum metrics_type type,
		    const char *help);
/*
 * Puts a label of the current sample. Others may have chosen the value: hidden characters become
 * `?` (base/foreign), and special characters are escaped.
 */
void metrics_label(struct metrics_text *metrics, const char *name, const char *value);
/*
 * End a sample with its value. Others may choose labels that are equal once they are cut and clean,
 * and a reader refuses the whole text for two equal samples. So later ones get the label `repeat`.
 */
void metrics_number(struct metrics_text *metrics, uint64_t value);
void metrics_seconds(struct metrics_text *metrics, uint64_t ns);
/* Ends the text. */
void metrics_end(struct metrics_text *metrics);

/* Puts a family with one sample without labels. */
void metrics_put_number(struct metrics_text *metrics, const char *family, enum metrics_type type,
			uint64_t value, const char *help);
void metrics_put_seconds(struct metrics_text *metrics, const char *family, enum metrics_type type,
			 uint64_t ns, const char *help);
