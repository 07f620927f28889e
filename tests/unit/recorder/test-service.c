// SPDX-License-Identifier: GPL-2.0-only
/* The recorder's messages to its service manager. Only the test moves the clock. */
#include "tests/check.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "recorder/run/service.h"
#include "tests/fake-clock.h"

/* Opens a manager's socket in the abstract namespace, and puts its name into the environment. */
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

/* Returns whether the service pings its manager when this time has passed since the last ping. */
static bool pings(struct service *service, int manager, uint64_t age_ns)
{
	bool pinged = false;
	char text[1024];
	ssize_t size;

	service->alive_ns = clock_ns(CLOCK_MONOTONIC) - age_ns;
	service_tick(service);
	while ((size = recv(manager, text, sizeof(text) - 1, 0)) >= 0) {
		text[size] = 0;
		pinged |= strcmp(text, "WATCHDOG=1") == 0;
	}
	return pinged;
}

/*
 * The recorder calls once per second, so a ping that will be due before the next call is sent now.
 */
static void test_within_half(void)
{
	_cleanup_close_ int manager = listen_as_manager();
	struct service service;

	setenv("WATCHDOG_USEC", "20000000", 1);
	service_init(&service);
	CHECK(pings(&service, manager, 20 * NSEC_PER_SEC));
	CHECK(pings(&service, manager, 9 * NSEC_PER_SEC + 1));
	CHECK(!pings(&service, manager, 9 * NSEC_PER_SEC));
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

/* A service of which a part hangs is not alive, although its main thread runs. */
static void test_hangs(void)
{
	_cleanup_close_ int manager = listen_as_manager();
	struct service service;

	setenv("WATCHDOG_USEC", "2000000", 1);
	service_init(&service);
	service.hangs = true;
	CHECK(!pings(&service, manager, 3600 * NSEC_PER_SEC));
	service.hangs = false;
	CHECK(pings(&service, manager, 3600 * NSEC_PER_SEC));
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

CHECK_MAIN({ "a watchdog gets a ping within half of its time", test_within_half },
	   { "a watchdog with a short time gets a ping each second", test_short },
	   { "a service that hangs sends no ping", test_hangs },
	   { "without a watchdog the recorder sends no ping", test_nobody_watches })
