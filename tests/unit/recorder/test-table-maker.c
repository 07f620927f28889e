// SPDX-License-Identifier: GPL-2.0-only
/*
 * The order in which unwind tables are made, when a finder is slow. The files do not exist: the
 * finder notes who asks, and waits for the test.
 */
#include "tests/check.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/files/table-maker.h"
#include "tests/helpers.h"
#include "tests/wait.h"

enum owner { HOSTILE = 1, HONEST = 2 };

struct host {
	struct table_maker *maker;
	sem_t begun, go_on;
	/* The owner of each request, in the order in which the finder gets them. */
	uint64_t owners[2 * TABLE_REQUESTS_MAX];
	size_t count;
};

static int host_find(void *context, const struct finder *finder, struct finder_request *request,
		     struct finder_files *ret_files)
{
	struct host *host = context;

	host->owners[host->count++] = request->owner;
	sem_post(&host->begun);
	sem_wait(&host->go_on);
	return -ENOENT;
}

static void host_init(struct host *host)
{
	struct finder finder = { .live = true, .delegate = host_find, .context = host };

	memset(host, 0, sizeof(*host));
	CHECK_EQ(sem_init(&host->begun, 0, 0), 0);
	CHECK_EQ(sem_init(&host->go_on, 0, 0), 0);
	CHECK_EQ(table_maker_new(&finder, 0, false, &host->maker), 0);
}

static void host_done(struct host *host)
{
	for (size_t i = 0; i < ARRAY_SIZE(host->owners); i++)
		sem_post(&host->go_on);
	table_maker_free(host->maker);
	sem_destroy(&host->begun);
	sem_destroy(&host->go_on);
}

/* Asks until the maker's thread does not hold the lock. Returns whether the maker has a place. */
static bool ask(struct host *host, uint64_t owner, bool urgent)
{
	struct table_request request = { .path = strdup("/nothing"),
					 .owner = owner,
					 .urgent = urgent };

	/* the maker's thread is in the finder, so it does not hold the lock */
	if (table_maker_ask(host->maker, &request))
		return true;
	free(request.path);
	return false;
}

/* Lets the thread begin with one request of the hostile owner, and keeps it there. */
static void occupy(struct host *host)
{
	WAIT_UNTIL(ask(host, HOSTILE, true));
	CHECK_EQ(sem_wait(&host->begun), 0);
}

static void let_pass(struct host *host, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		CHECK_EQ(sem_post(&host->go_on), 0);
		CHECK_EQ(sem_wait(&host->begun), 0);
	}
}

static void test_turns(void)
{
	_cleanup_(host_done) struct host host;

	host_init(&host);
	occupy(&host);
	for (int i = 0; i < 5; i++)
		CHECK(ask(&host, HOSTILE, true));
	CHECK(ask(&host, HONEST, false));
	CHECK(ask(&host, HONEST, false));
	let_pass(&host, 5);
	CHECK_EQ(host.owners[1], HOSTILE);
	CHECK_EQ(host.owners[2], HONEST);
	CHECK_EQ(host.owners[3], HOSTILE);
	CHECK_EQ(host.owners[4], HONEST);
	CHECK_EQ(host.owners[5], HOSTILE);
}

static void test_places(void)
{
	_cleanup_(host_done) struct host host;

	host_init(&host);
	occupy(&host);
	for (int i = 0; i < TABLE_REQUESTS_OWN / 2; i++)
		CHECK(ask(&host, HOSTILE, false));
	CHECK(!ask(&host, HOSTILE, false));
	for (int i = 0; i < TABLE_REQUESTS_OWN / 2; i++)
		CHECK(ask(&host, HOSTILE, true));
	CHECK(!ask(&host, HOSTILE, true));
	CHECK(ask(&host, HONEST, false));
	let_pass(&host, 2);
	CHECK_EQ(host.owners[2], HONEST);
}

static void test_answers(void)
{
	_cleanup_(host_done) struct host host;
	struct table_answer answer;

	host_init(&host);
	occupy(&host);
	for (int i = 0; i < TABLE_REQUESTS_OWN; i++)
		CHECK(ask(&host, HOSTILE, true));
	/* the last request is in the finder, and the others are answers that nobody took */
	let_pass(&host, TABLE_REQUESTS_OWN);
	CHECK(!ask(&host, HOSTILE, true));
	CHECK(ask(&host, HONEST, false));
	CHECK(table_maker_take(host.maker, &answer));
	CHECK_EQ(answer.owner, HOSTILE);
	CHECK(ask(&host, HOSTILE, true));
}

CHECK_MAIN({ "owners take turns, also before urgent requests of others", test_turns },
	   { "one owner does not take all places, nor do files that no walk needs", test_places },
	   { "an owner's answers keep places, so that failures leave some to others",
	     test_answers })
