// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/perf/dump-event.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct dump_event {
	int fd;
	/*
	 * One page, then the ring. The kernel keeps both out of core dumps and of forked children.
	 */
	struct perf_event_mmap_page *page;
	size_t page_bytes, ring_bytes;
};

/* Returns -ENOBUFS where the kernel reports -EPERM, because it means too little locked memory. */
static int dump_event_map(struct dump_event *event, size_t ring_bytes)
{
	void *memory;

	event->page_bytes = sysconf(_SC_PAGESIZE);
	memory = mmap(NULL, event->page_bytes + ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		      event->fd, 0);
	if (memory == MAP_FAILED)
		return errno == EPERM ? -ENOBUFS : -errno;
	event->page = memory;
	event->ring_bytes = ring_bytes;
	return 0;
}

int dump_event_open(const struct perf_event_attr *attr, uint32_t cpu, int leader, size_t ring_bytes,
		    struct dump_event **ret_event)
{
	struct dump_event *event = calloc(1, sizeof(*event));
	int r;

	if (!event)
		return -ENOMEM;
	event->fd = syscall(SYS_perf_event_open, attr, -1, cpu, leader, 0);
	r = event->fd < 0 ? -errno : dump_event_map(event, ring_bytes);
	if (r < 0) {
		dump_event_close(event);
		return r;
	}
	*ret_event = event;
	return 0;
}

struct dump_event *dump_event_close(struct dump_event *event)
{
	if (!event)
		return NULL;
	if (event->page)
		munmap(event->page, event->page_bytes + event->ring_bytes);
	if (event->fd >= 0)
		close(event->fd);
	free(event);
	return NULL;
}

void dump_event_enable(const struct dump_event *event)
{
	ioctl(event->fd, PERF_EVENT_IOC_ENABLE, 0);
}

void dump_event_disable(const struct dump_event *event)
{
	ioctl(event->fd, PERF_EVENT_IOC_DISABLE, 0);
}

/*
 * The rest of the present period differs between the two timers; setting a period starts a whole
 * new one. Stopping the leader stops the group, and starting the leader starts both timers at once.
 * PERF_IOC_FLAG_GROUP would start one after the other, so that the second timer fires some
 * microseconds later, in an interrupt of its own.
 */
int dump_event_align(const struct dump_event *event, int leader, uint64_t period)
{
	int r = 0;

	if (ioctl(leader, PERF_EVENT_IOC_DISABLE, 0) < 0)
		return -errno;
	if (ioctl(leader, PERF_EVENT_IOC_PERIOD, &period) < 0 ||
	    ioctl(event->fd, PERF_EVENT_IOC_PERIOD, &period) < 0)
		r = -errno;
	if (ioctl(leader, PERF_EVENT_IOC_ENABLE, 0) < 0)
		r = -errno;
	return r;
}

struct ring_view dump_event_view(const struct dump_event *event)
{
	return (struct ring_view){
		.bytes = (const uint8_t *)event->page + event->page_bytes,
		.size = event->ring_bytes,
		.tail = event->page->data_tail,
		.head = __atomic_load_n(&event->page->data_head, __ATOMIC_ACQUIRE),
	};
}

void dump_event_release(const struct dump_event *event, uint64_t tail)
{
	__atomic_store_n(&event->page->data_tail, tail, __ATOMIC_RELEASE);
}
