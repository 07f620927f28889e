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
