// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/service.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define STATUS_NS (10 * NSEC_PER_SEC)
/* Time between two calls of service_tick(). */
#define TICK_NS (1 * NSEC_PER_SEC)

/* Connects to a path, or to a name in the abstract namespace, which begins with @. */
static int connect_socket(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t size = strlen(name);
	_cleanup_close_ int fd = -1;

	if ((name[0] != '/' && name[0] != '@') || size < 2 || size >= sizeof(address.sun_path))
		return -1;
	memcpy(address.sun_path, name, size);
	if (name[0] == '@')
		address.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address,
			      offsetof(struct sockaddr_un, sun_path) + size) < 0)
		return -1;
	return take_fd(fd);
}

/* Returns half of the time after which the manager considers us dead; 0: never. */
static uint64_t watchdog_ns(void)
{
	const char *pid = secure_getenv("WATCHDOG_PID"), *usec = secure_getenv("WATCHDOG_USEC");

	if (!usec || (pid && atoi(pid) != getpid()))
		return 0;
	return strtoull(usec, NULL, 10) * NSEC_PER_USEC / 2;
}

void service_init(struct service *service)
{
	const char *name = secure_getenv("NOTIFY_SOCKET");

	*service = (struct service){ .fd = name ? connect_socket(name) : -1 };
	if (service->fd >= 0)
		service->watchdog_ns = watchdog_ns();
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

void service_done(struct service *service)
{
	if (service->fd >= 0)
		close(take_fd(service->fd));
}

void service_send(struct service *service, const char *format, ...)
{
	char text[1024];
	va_list args;
	int size;

	if (service->fd < 0)
		return;
	va_start(args, format);
	size = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	(void)!send(service->fd, text, MIN(size, (int)sizeof(text) - 1),
		    MSG_NOSIGNAL | MSG_DONTWAIT);
}

void service_reloading(struct service *service)
{
	service_send(service, "RELOADING=1\nMONOTONIC_USEC=%llu",
		     (unsigned long long)(clock_ns(CLOCK_MONOTONIC) / NSEC_PER_USEC));
}

bool service_tick(struct service *service)
{
	uint64_t now_ns;

	if (service->fd < 0)
		return false;
	now_ns = clock_ns(CLOCK_MONOTONIC);
	/* send the sign of life now if it would be due before the next call */
	if (service->watchdog_ns && !service->hangs &&
	    now_ns - service->alive_ns + TICK_NS > service->watchdog_ns) {
		service->alive_ns = now_ns;
		service_send(service, "WATCHDOG=1");
	}
	if (now_ns - service->status_ns < STATUS_NS)
		return false;
	service->status_ns = now_ns;
	return true;
}
