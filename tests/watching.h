/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A watch of the kernel's log in a new store. A socket that keeps records apart stands for
 * /dev/kmsg. All functions CHECK.
 */

#include <sys/socket.h>

#include "base/clock.h"
#include "recorder/kmsg/kmsg-watch.h"
#include "tests/tapes.h"
#include "tests/wait.h"

#define BOOT "11111111-2222-3333-4444-555555555555"
#define BEGIN_NS TAPES_PERF
#define STALL                                                                                   \
	"ena 0000:20:03.0 eth0: TX q 5 is paused for too long (threshold 5000000). Time since " \
	"last napi 6596000 usec. napi scheduled: 1"

struct watching {
	struct tapes_store store;
	struct catalogue *catalogue;
	struct kmsg_options options;
	struct kmsg_watch *watch;
	struct tape_anchor anchor;
	struct tape *tape;
	/* the end of the socket that stands for the kernel */
	int log;
};

static inline struct store_writer *open_writer(const struct watching *watching)
{
	struct store_writer *writer = NULL;

	CHECK_EQ(store_writer_open(watching->store.path, &writer, NULL), 0);
	return writer;
}

/* Makes the store, and a tape of ten seconds. */
static inline void init(struct watching *watching)
{
	*watching = (struct watching){ 0 };
	tapes_store_init(&watching->store);
	store_writer_close(open_writer(watching));
	CHECK_EQ(catalogue_new(NULL, &watching->catalogue, NULL), 0);
	watching->tape = tapes_new(0, 10);
	watching->anchor = watching->tape->anchors.items[0];
	watching->log = -1;
}

static inline void start(struct watching *watching, bool trust)
{
	int ends[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
	watching->log = ends[0];
	watching->options = (struct kmsg_options){
		.root = watching->options.root,
		.found = watching->options.found,
		.context = watching->options.context,
		.named = watching->options.named,
		.named_context = watching->options.named_context,
		.catalogue = watching->catalogue,
		.store = watching->store.path,
		.boot_id = BOOT,
		.trust_users = trust,
		.fd = ends[1],
	};
	CHECK_EQ(kmsg_watch_start(&watching->options, BEGIN_NS, &watching->watch), 0);
}

/* Logs a record with a time in milliseconds after the tape's begin. */
static inline void log_as(const struct watching *watching, unsigned int priority,
			  unsigned int sequence, int ms, const char *text)
{
	char record[512];
	int size = snprintf(record, sizeof(record), "%u,%u,%llu,-;%s\n", priority, sequence,
			    (unsigned long long)(BEGIN_NS / 1000 + ms * 1000), text);

	while (send(watching->log, record, size, MSG_NOSIGNAL) < 0)
		usleep(1000);
}

static inline void log_line(const struct watching *watching, unsigned int sequence, int ms,
			    const char *text)
{
	log_as(watching, 3, sequence, ms, text);
}

static inline void take(struct watching *watching)
{
	CHECK_EQ(kmsg_watch_take(watching->watch, watching->tape, &watching->anchor), 0);
}

static inline void take_lines(struct watching *watching, size_t count)
{
	WAIT_UNTIL((take(watching), watching->tape->lines.count >= count));
	CHECK_EQ(watching->tape->lines.count, count);
}

static inline void take_incident(struct watching *watching)
{
	WAIT_UNTIL((take(watching), watching->tape->incidents.count));
}

static inline void stop(struct watching *watching, bool sealed)
{
	CHECK_EQ(kmsg_watch_stop(watching->watch, 60 * NSEC_PER_SEC), 0);
	take(watching);
	watching->watch = kmsg_watch_close(watching->watch, sealed);
	close(watching->log);
	close(watching->options.fd);
}

static inline void done(struct watching *watching)
{
	tape_free(watching->tape);
	catalogue_free(watching->catalogue);
	tapes_store_done(&watching->store);
}

static inline const char *text_of(const struct watching *watching, size_t line)
{
	return tape_string(watching->tape, watching->tape->lines.items[line].text);
}

static inline const char *field_of(const struct watching *watching, size_t number, const char *name)
{
	const struct tape *tape = watching->tape;
	const struct tape_fields *fields = &tape->incidents.items[number].fields;

	for (uint32_t i = fields->first; i < fields->first + fields->count; i++)
		if (strcmp(tape_string(tape, tape->fields.items[i].key), name) == 0)
			return tape_string(tape, tape->fields.items[i].value);
	return "";
}
