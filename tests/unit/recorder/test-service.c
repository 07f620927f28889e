// SPDX-License-Identifier: GPL-2.0-only
/* What a service manager is told, and when. */
#include "tests/check.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "recorder/run/service.h"

/* A manager's socket, in the abstract namespace, and its name in the environment. */
static int listen_as_manager(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int size = snprintf(address.sun_path, sizeof(address.sun_path), "@perftape-test-service-%d",
			    getpid());

	setenv("NOTIFY_SOCKET", address.sun_path, 1);
	address.sun_path[0] = 0;
	CHECK_EQ(bind(fd, (struct sockaddr *)&address,
		      offsetof(struct sockaddr_un, sun_path) + size),
		 0);
	return fd;
}

/* So long after it was told last: is it told that we live? */
static bool pings(struct service *service, int manager, uint64_t age_ns)
{
	bool pinged = false;
	char text[1024];
	ssize_t size;

	service->alive_ns = clock_ns(CLOCK_MONOTONIC) - age_ns;
	service_alive(service);
	while ((size = recv(manager, text, sizeof(text) - 1, 0)) >= 0) {
		text[size] = 0;
		pinged |= strcmp(text, "WATCHDOG=1") == 0;
	}
	return pinged;
}

/* We come by once a second: what would be due before the next time is due now. */
static void test_within_half(void)
{
	_cleanup_close_ int manager = listen_as_manager();
	struct service service;

	setenv("WATCHDOG_USEC", "20000000", 1);
	service_init(&service);
	CHECK(pings(&service, manager, 20 * NSEC_PER_SEC));
	CHECK(pings(&service, manager, 9100 * NSEC_PER_MSEC));
	CHECK(!pings(&service, manager, 7 * NSEC_PER_SEC));
	service_done(&service);
}

static void test_short(void)
{
	_cleanup_close_ int manager = listen_as_manager();
	struct service service;

	setenv("WATCHDOG_USEC", "2000000", 1);
	service_init(&service);
	CHECK(pings(&service, manager, 990 * NSEC_PER_MSEC));
	service_done(&service);
}

static void test_nobody_watches(void)
{
	_cleanup_close_ int manager = listen_as_manager();
	struct service service;

	service_init(&service);
	CHECK(!pings(&service, manager, 3600 * NSEC_PER_SEC));
	service_done(&service);
}

CHECK_MAIN({ "the watchdog hears of us within half of its time", test_within_half },
	   { "each time where that is short", test_short },
	   { "without one it is not told", test_nobody_watches })
