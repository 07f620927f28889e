// SPDX-License-Identifier: GPL-2.0-only
/* The lock of a store whose file somebody replaces again and again. */
#include "tests/tapes.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "store/disk/files.h"
#include "store/write/store-writer.h"

#define TURNS 30

struct status_thread {
	struct store_writer *writer;
	atomic_bool done;
	atomic_uint told;
};

/* Writes the status all the time, as the recorder's thread does beside the sealer. */
static void *tell(void *context)
{
	struct status_thread *telling = context;

	while (!atomic_load(&telling->done)) {
		int r = store_writer_set_status(telling->writer, "{}", NULL);

		/* the lock may be the old one at this moment */
		CHECK(r == 0 || r == -EBUSY);
		atomic_fetch_add(&telling->told, 1);
	}
	return NULL;
}

static void test_threads(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct status_thread telling = { 0 };
	struct error error = { 0 };
	char file[PATH_MAX];
	pthread_t thread;

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	CHECK_EQ(store_file(store.path, STORE_LOCK, file, NULL), 0);
	telling.writer = writer;
	CHECK_EQ(pthread_create(&thread, NULL, tell, &telling), 0);
	for (unsigned int i = 0; i < TURNS; i++) {
		unsigned int told = atomic_load(&telling.told);

		CHECK_EQ(unlink(file), 0);
		/* 1: the tape began in the old store */
		CHECK(store_writer_spool(writer, store_writer_number(writer), "x", 1, &error) >= 0);
		while (atomic_load(&telling.told) < told + 2)
			usleep(100);
	}
	atomic_store(&telling.done, true);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(store_writer_set_status(writer, "{}", NULL), 0);
}

CHECK_MAIN({ "one thread locks a new file while another compares", test_threads })
