// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures the CPU time to encode and decode one segment: reads it, decodes it as a whole, encodes
 * it with both efforts, and decodes parts of it. Prints a line of JSON. Memory is the growth of the
 * peak resident size, so each encoding runs in a process of its own.
 *
 *   bench-segment FILE.tape
 *   bench-segment FILE.tape COMM...     encodes only the samples of threads with these names
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/file.h"
#include "tape/segment/contents.h"
#include "tape/segment/segment.h"
#include "tape/slice.h"

#define ROUNDS 5

static uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static long resident_kb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static void fail(const char *what)
{
	fprintf(stderr, "bench-segment: %s\n", what);
	exit(1);
}

/* Returns the stored size of the section with the digest. */
static unsigned long long digest_bytes(const struct buffer *bytes)
{
	struct segment_input input = segment_input_memory(bytes->data, bytes->size);
	struct contents contents = { 0 };
	unsigned long long stored = 0;

	if (contents_read(&contents, &input, NULL) < 0)
		fail("cannot read back");
	for (size_t i = 0; i < contents.entries.count; i++)
		if (strcmp(contents.entries.items[i].name, "digest") == 0)
			stored = contents.entries.items[i].stored;
	contents_done(&contents);
	return stored;
}

/* Encodes in a child process, so that the parent's memory does not change. */
static void encode(const struct tape *tape, enum segment_effort effort, const char *name)
{
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		struct buffer bytes = { 0 };
		long before_kb = resident_kb();
		uint64_t start_ns = cpu_ns();

		if (segment_encode(tape, effort, 1 << 30, &bytes) < 0)
			fail("cannot encode");
		printf(", \"%s_digest_bytes\": %llu", name, digest_bytes(&bytes));
		printf(", \"%s_bytes\": %zu, \"%s_s\": %.3f, \"%s_mb\": %.1f", name, bytes.size,
		       name, (double)(cpu_ns() - start_ns) / 1e9, name,
		       (double)(resident_kb() - before_kb) / 1024);
		exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
		fail("the encoding failed");
}

static void decode(const struct segment_input *input, const struct segment_want *want,
		   const char *name)
{
	uint64_t best_ns = UINT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start_ns = cpu_ns();
		struct tape *tape;

		if (segment_decode(input, want, &tape, NULL) < 0)
			fail("cannot decode");
		best_ns = MIN(best_ns, cpu_ns() - start_ns);
		tape_free(tape);
	}
	printf(", \"%s_ms\": %.2f", name, (double)best_ns / 1e6);
}

static bool is_named(const struct tape *tape, const struct tape_sample *sample, char **comms)
{
	const char *comm = tape_string(tape, tape->threads.items[sample->thread].comm);

	while (*comms && strcmp(*comms, comm) != 0)
		comms++;
	return *comms;
}

/* Encodes the samples of some threads, with the rows that they need. */
static void encode_part(struct tape *tape, char **comms)
{
	struct tape *part = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < tape->samples.count; i++)
		if (is_named(tape, &tape->samples.items[i], comms))
			tape->samples.items[kept++] = tape->samples.items[i];
	tape->samples.count = kept;
	if (tape_slice(tape, 0, INT64_MAX, &part) < 0 || !part)
		fail("cannot select");
	printf("{\"samples\": %zu, \"stacks\": %zu, \"frames\": %zu", kept, part->stacks.count,
	       part->frames.count);
	encode(part, SEGMENT_USUAL, "usual");
	encode(part, SEGMENT_HASTY, "hasty");
	printf("}\n");
	tape_free(part);
}

int main(int argc, char **argv)
{
	struct segment_want whole = { 0, UINT64_MAX, SEGMENT_ALL, 1 }, sums = whole, window = whole,
			    digest = whole;
	struct segment_summary summary;
	struct segment_input input;
	struct tape *tape;
	char *data;
	size_t size;

	if (argc < 2 || file_read(argv[1], 1 << 30, &data, &size) < 0)
		fail("no such file");
	input = segment_input_memory(data, size);
	if (segment_peek(data, size, size, &summary, NULL) != 0 ||
	    segment_decode(&input, &whole, &tape, NULL) < 0)
		fail("not a sound segment");
	if (argc > 2) {
		encode_part(tape, argv + 2);
		tape_free(tape);
		free(data);
		return 0;
	}
	sums.parts = SEGMENT_SUMS;
	digest.parts = SEGMENT_DIGEST | SEGMENT_PICTURE | SEGMENT_LOSSES;
	window.parts = SEGMENT_SAMPLES | SEGMENT_LOSSES;
	window.from_ns = summary.begin_ns + (summary.end_ns - summary.begin_ns) / 2;
	window.to_ns = window.from_ns + 10 * NSEC_PER_SEC;
	printf("{\"samples\": %" PRIu64 ", \"bytes\": %zu", summary.samples, size);
	encode(tape, SEGMENT_USUAL, "usual");
	encode(tape, SEGMENT_HASTY, "hasty");
	decode(&input, &whole, "whole");
	decode(&input, &window, "window");
	decode(&input, &sums, "sums");
	decode(&input, &digest, "digest");
	printf("}\n");
	tape_free(tape);
	free(data);
	return 0;
}
