// SPDX-License-Identifier: GPL-2.0-only
#include "cli/commands/fleet-window.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "fleet/access.h"
#include "fleet/window-ask.h"

int fleet_window_check(const struct invocation *invocation)
{
	static const char *const of_store[] = { "incident", "line", "boot", "events" };

	if (!option_given(invocation, "fleet")) {
		if (option_given(invocation, "host"))
			return usage_error("--host goes with --fleet");
		if (option_given(invocation, "access"))
			return usage_error("--access goes with --fleet");
		return EXIT_DONE;
	}
	if (!option_given(invocation, "host"))
		return usage_error("--fleet needs --host: the window of one host is shown");
	if (option_typed(invocation, "store"))
		return usage_error("--fleet and --store exclude each other; give one");
	for (size_t i = 0; i < ARRAY_SIZE(of_store); i++)
		if (option_given(invocation, of_store[i]))
			return usage_error("--%s needs a store; with --fleet, give --at or --from",
					   of_store[i]);
	return EXIT_DONE;
}

/* Puts the tapes into a file that ends with this process. */
static int fleet_window_store(const struct buffer *tapes, char path[FLEET_WINDOW_PATH],
			      struct error *error)
{
	_cleanup_close_ int fd = memfd_create("fleet.tape", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : file_write_all(fd, tapes->data, tapes->size);

	if (r < 0)
		return error_set(error, r, "no memory for the window: %s", strerror(-r));
	snprintf(path, FLEET_WINDOW_PATH, "/proc/self/fd/%d", take_fd(fd));
	return 0;
}

static int fleet_window_ask(const struct invocation *invocation, const struct access *access,
			    const struct window *window, struct buffer *tapes, struct error *error)
{
	_cleanup_(cleanup_server) struct server *server = NULL;
	int r = server_open(option_value(invocation, "fleet"), &access->http, &server, error);

	return r < 0 ? r
		     : window_ask(server, option_value(invocation, "host"), window->from_ns,
				  window->to_ns, tapes, error);
}

int fleet_window_fetch(const struct invocation *invocation, const struct window *window,
		       char path[FLEET_WINDOW_PATH])
{
	const char *host = option_value(invocation, "host");
	_cleanup_(buffer_done) struct buffer tapes = { 0 };
	_cleanup_(access_done) struct access access = { 0 };
	struct error error = { 0 };
	int r = access_read(option_value(invocation, "access"), &access, &error);

	if (r == 0)
		r = fleet_window_ask(invocation, &access, window, &tapes, &error);
	if (r == -EINVAL && *error.text)
		return usage_error("%s", error.text);
	if (r == WINDOW_HELD_SUMS) {
		warn("the fleet holds only sums per minute of %s in this window, and no samples",
		     host);
		return EXIT_NOTHING;
	}
	if (r == WINDOW_HELD_NOTHING) {
		warn("the fleet holds nothing of %s in this window", host);
		return EXIT_NOTHING;
	}
	if (r > 0)
		r = fleet_window_store(&tapes, path, &error);
	return r < 0 ? fail(r, &error) : EXIT_DONE;
}
