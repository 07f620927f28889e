// SPDX-License-Identifier: GPL-2.0-only
#include "cli/answer/host-name.h"

#include <stdio.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "draw/lines.h"

const char *host_name_prefix(const struct recorded_facts *facts, char text[HOST_NAME_SIZE])
{
	if (*facts->host)
		snprintf(text, HOST_NAME_SIZE, "host %s, ", facts->host);
	else
		*text = 0;
	return text;
}

void host_name_own(struct recorded_facts *facts)
{
	struct utsname names;

	if (uname(&names) == 0)
		recorded_facts_add_host(facts, names.nodename);
}

const char *host_name_own_prefix(char text[HOST_NAME_SIZE])
{
	struct recorded_facts facts = { 0 };

	host_name_own(&facts);
	return host_name_prefix(&facts, text);
}

unsigned int host_name_put_head(const struct invocation *invocation,
				const struct recorded_facts *facts, const struct window *window,
				const struct terminal *terminal, struct buffer *text)
{
	_cleanup_(buffer_done) struct buffer line = { 0 };
	char host[HOST_NAME_SIZE];

	if (!*facts->host && !window)
		return 0;
	if (window) {
		buffer_printf(&line, "%swindow ", host_name_prefix(facts, host));
		window_describe(window, option_given(invocation, "utc"), &line);
	} else {
		buffer_printf(&line, "host %s", facts->host);
	}
	buffer_u8(&line, 0);
	if (!buffer_failed(&line))
		return lines_put(terminal, (struct lines_shape){ .indent = HEAD_INDENT },
				 (const char *)line.data, text);
	text->failed = true;
	return 0;
}

void host_name_live(const char *root, char *name, size_t size)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	size_t at = 0;

	*name = 0;
	if (asprintf(&path, "%s/proc/sys/kernel/hostname", root) < 0) {
		path = NULL;
		return;
	}
	if (file_read(path, size - 1, &text, NULL) < 0)
		return;
	for (; text[at] && text[at] != '\n' && at + 1 < size; at++)
		name[at] = text[at] > ' ' && text[at] < 0x7f ? text[at] : '?';
	name[at] = 0;
}

/* Adds the facts of a segment. Returns 1, or 0 if the segment cannot be read. */
static int host_name_add(struct store_reader *reader, const struct store_segment *segment,
			 struct recorded_facts *facts, struct error *error)
{
	static const struct segment_want want = { 0, UINT64_MAX, 0, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	/* the error of a skipped segment must not become the error of a later failure */
	struct error own = { 0 };
	int r = store_reader_load(reader, segment, &want, &tape, &own);

	if (error_is_exhaustion(r) && error)
		*error = own;
	if (r < 0)
		return error_is_exhaustion(r) ? r : 0;
	recorded_facts_add(facts, tape);
	return 1;
}

static int host_name_add_ends(struct store_reader *reader, const struct store_segments *segments,
			      bool unsealed, struct recorded_facts *facts, struct error *error)
{
	const struct store_segment *items = segments->list.items;
	size_t first = 0, end = segments->list.count;
	int r = 0;

	for (; r == 0 && first < end; first++)
		if (items[first].unsealed == unsealed)
			r = host_name_add(reader, &items[first], facts, error);
	if (r < 0)
		return r;
	for (r = 0; r == 0 && end > first; end--)
		if (items[end - 1].unsealed == unsealed)
			r = host_name_add(reader, &items[end - 1], facts, error);
	return MIN(r, 0);
}

int host_name_find(struct store_reader *reader, const struct window *window,
		   struct recorded_facts *facts, struct error *error)
{
	struct store_segments segments = { 0 };
	int r = store_reader_list(reader, window->from_ns, window->to_ns, &segments, error);

	if (r == 0)
		r = host_name_add_ends(reader, &segments, false, facts, error);
	/* use unsealed segments only if necessary, because they must be decoded completely */
	if (r == 0 && !*facts->host)
		r = host_name_add_ends(reader, &segments, true, facts, error);
	array_done(&segments.list);
	return r;
}

int host_name_find_all(struct store_reader *reader, struct recorded_facts *facts,
		       struct error *error)
{
	static const struct window all = { .to_ns = UINT64_MAX };

	return host_name_find(reader, &all, facts, error);
}
