// SPDX-License-Identifier: GPL-2.0-only
#include "audit/crashes.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "gauges/cgroups.h"

#define HOUR_NS (3600 * NSEC_PER_SEC)
#define PROGRAMS_MAX 256
/*
 * A priority is eight times the facility, plus the level. Lines with a facility above 0 come from
 * programs.
 */
#define LEVELS 8

/* In every form, the program and its pid, "worker[1234", stand between `before` and `after`. */
static const struct {
	const char *before, *after;
} forms[] = {
	{ "", "]: segfault at " },
	{ "", "]: segfault (" },
	{ "", "]: bus error at " },
	{ "", "]: unhandled " },
	{ "traps: ", "] general protection" },
	{ "traps: ", "] trap " },
};

static struct crash_program *crashes_find(struct crashes *crashes, const char *comm, size_t size)
{
	for (size_t i = 0; i < crashes->list.count; i++) {
		struct crash_program *program = &crashes->list.items[i];

		if (strlen(program->comm) == size && memcmp(program->comm, comm, size) == 0)
			return program;
	}
	return NULL;
}

/* Counts a crash from "worker[1234" and the text after it. */
static int crashes_count(struct crashes *crashes, struct words name, struct words text,
			 uint64_t stamp_ns)
{
	const char *bracket = memrchr(name.at, '[', name.end - name.at);
	struct words number = { bracket ? bracket + 1 : name.end, name.end };
	size_t size = bracket ? bracket - name.at : 0;
	struct crash_program *program;
	int64_t pid;
	char *cpu;

	if (!size || size >= CRASHES_COMM_SIZE || !words_number(&number, &pid) ||
	    number.at != number.end)
		return 0;
	program = crashes_find(crashes, name.at, size);
	if (!program && crashes->list.count < PROGRAMS_MAX) {
		if (array_push(&crashes->list, (struct crash_program){ .pid = 0 }) < 0)
			return -ENOMEM;
		program = &crashes->list.items[crashes->list.count - 1];
		memcpy(program->comm, name.at, size);
	}
	if (!program)
		return 0;
	program->pid = pid;
	program->last_ns = stamp_ns;
	program->hour++;
	program->now += stamp_ns >= crashes->watched_ns;
	snprintf(program->text, sizeof(program->text), "%.*s", (int)(text.end - text.at), text.at);
	cpu = strstr(program->text, " likely on CPU ");
	if (cpu)
		*cpu = 0;
	return 0;
}

static int crashes_take_text(struct crashes *crashes, struct words text, uint64_t stamp_ns)
{
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		size_t before = strlen(forms[i].before), size = text.end - text.at;
		const char *after;

		if (size <= before || memcmp(text.at, forms[i].before, before) != 0)
			continue;
		after = memmem(text.at + before, size - before, forms[i].after,
			       strlen(forms[i].after));
		if (after)
			return crashes_count(
				crashes, (struct words){ text.at + before, after },
				(struct words){ after + strcspn(forms[i].after, " ") + 1,
						text.end },
				stamp_ns);
	}
	return 0;
}

/* Parses "4,1729,15188142684,-;TEXT": priority, sequence number, microseconds, flags. */
static int crashes_take_record(struct crashes *crashes, struct words record)
{
	struct words head = record;
	int64_t priority, sequence, stamp_us;
	uint64_t stamp_ns;
	const char *text = memchr(record.at, ';', record.end - record.at);

	if (!text || !words_number(&head, &priority) || !words_skip(&head, ",") ||
	    !words_number(&head, &sequence) || !words_skip(&head, ",") ||
	    !words_number(&head, &stamp_us) || priority >= LEVELS)
		return 0;
	stamp_ns = (uint64_t)stamp_us * 1000;
	if (stamp_ns > crashes->now_ns || crashes->now_ns - stamp_ns > HOUR_NS)
		return 0;
	return crashes_take_text(crashes, (struct words){ text + 1, record.end }, stamp_ns);
}

int crashes_take(struct crashes *crashes, const char *records, size_t size)
{
	struct words text = { records, records + size }, line;
	int r = 0;

	while (r == 0 && words_line(&text, &line))
		r = crashes_take_record(crashes, line);
	return r;
}

void crashes_done(struct crashes *crashes)
{
	array_done(&crashes->list);
}
