// SPDX-License-Identifier: GPL-2.0-only
/*
 * Plays the perf events of the machine. The file of an event is a memory file, whose pages libperf
 * maps as its ring buffer; records are written there as the kernel writes them. An event is
 * identified by its file's inode, because descriptor numbers are used again.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/played/played.h"

#define EVENTS_MAX 256
#define FILE_NAME "played"
/* The time between the first samples of two CPUs. */
#define APART_NS NSEC_PER_MSEC

long __real_syscall(long number, ...);
ssize_t __real_read(int fd, void *data, size_t size);
int __real_ioctl(int fd, unsigned long request, ...);
void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
int __real_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		 const sigset_t *mask);
ssize_t __real_readlinkat(int dir, const char *path, char *text, size_t size);
int __real_prctl(int option, ...);

long __wrap_syscall(long number, ...);
ssize_t __wrap_read(int fd, void *data, size_t size);
int __wrap_ioctl(int fd, unsigned long request, ...);
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
int __wrap_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		 const sigset_t *mask);
ssize_t __wrap_readlinkat(int dir, const char *path, char *text, size_t size);
int __wrap_prctl(int option, ...);

struct played_event {
	ino_t inode;
	uint32_t cpu;
	struct perf_event_attr attr;
	bool enabled, dead;
	/* how long the event was enabled until the last change, and when that change was */
	uint64_t enabled_ns, since_ns;
	uint64_t count, lost;
	uint64_t next_ns;
	/* NULL: the event's records go to the ring of another event */
	struct perf_event_mmap_page *page;
	size_t ring_bytes;
	struct played_event *output;
	/* a record came that wakes the threads that poll the file */
	bool ready;
	uint64_t woken_at;
	/*
	 * samples that were lost and not reported yet, and samples for which there will be no space
	 */
	uint64_t untold, to_lose;
};

struct played_cpu played_cpus[PLAYED_CPUS];

static struct played_event kernel_events[EVENTS_MAX];
static size_t kernel_count;

static struct played_event *kernel_find(int fd)
{
	struct stat about;

	if (!played() || !kernel_count || fstat(fd, &about) < 0)
		return NULL;
	for (size_t i = kernel_count; i-- > 0;)
		if (kernel_events[i].inode == about.st_ino)
			return &kernel_events[i];
	return NULL;
}

static bool kernel_is_samples(const struct played_event *event)
{
	return event->attr.type == PERF_TYPE_SOFTWARE &&
	       event->attr.config == PERF_COUNT_SW_CPU_CLOCK;
}

static bool kernel_is_sideband(const struct played_event *event)
{
	return event->attr.type == PERF_TYPE_SOFTWARE && event->attr.config == PERF_COUNT_SW_DUMMY;
}

static int kernel_refuses(const struct perf_event_attr *attr, int pid, int cpu)
{
	if (pid >= 0 || attr->type == PERF_TYPE_HARDWARE)
		return ENOENT;
	if (cpu < 0 || cpu >= PLAYED_CPUS || !played_cpus[cpu].online)
		return ENODEV;
	/* the played programs have neither registers nor stacks */
	if (attr->sample_type & PERF_SAMPLE_STACK_USER)
		return EOPNOTSUPP;
	return kernel_count == EVENTS_MAX ? EMFILE : 0;
}

static long kernel_open(const struct perf_event_attr *attr, int pid, int cpu)
{
	struct played_event *event = &kernel_events[kernel_count];
	int code = kernel_refuses(attr, pid, cpu), fd;
	struct stat about;

	if (code) {
		errno = code;
		return -1;
	}
	fd = memfd_create(FILE_NAME, 0);
	if (fd < 0 || fstat(fd, &about) < 0)
		played_fail("memfd_create: %s", strerror(errno));
	kernel_count++;
	*event = (struct played_event){ .inode = about.st_ino, .cpu = cpu, .attr = *attr };
	return fd;
}

long __wrap_syscall(long number, ...)
{
	long words[6];
	va_list args;

	va_start(args, number);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = va_arg(args, long);
	va_end(args);
	if (played() && number == SYS_perf_event_open)
		return kernel_open((const struct perf_event_attr *)words[0], words[1], words[2]);
	return __real_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

/* The ring is mapped twice: by libperf and by this file. */
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	struct played_event *event = fd >= 0 ? kernel_find(fd) : NULL;

	if (event && !event->page) {
		if (ftruncate(fd, size) < 0)
			played_fail("ftruncate: %s", strerror(errno));
		event->page = __real_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (event->page == MAP_FAILED)
			played_fail("mmap: %s", strerror(errno));
		event->ring_bytes = size - sysconf(_SC_PAGESIZE);
	}
	return __real_mmap(at, size, prot, flags, fd, offset);
}

static uint64_t kernel_enabled_ns(const struct played_event *event)
{
	bool runs = event->enabled && !event->dead;

	return event->enabled_ns + (runs ? played_now_ns() - event->since_ns : 0);
}

static void kernel_enable(struct played_event *event, bool enable)
{
	event->enabled_ns = kernel_enabled_ns(event);
	event->since_ns = played_now_ns();
	event->enabled = enable;
	event->next_ns = played_now_ns() + event->attr.sample_period + event->cpu * APART_NS;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	struct played_event *event = kernel_find(fd);
	va_list args;
	long word;

	va_start(args, request);
	word = va_arg(args, long);
	va_end(args);
	if (!event)
		return __real_ioctl(fd, request, word);
	if (request == PERF_EVENT_IOC_ENABLE || request == PERF_EVENT_IOC_DISABLE)
		kernel_enable(event, request == PERF_EVENT_IOC_ENABLE);
	else if (request == PERF_EVENT_IOC_SET_OUTPUT)
		event->output = kernel_find(word);
	else if (request == PERF_EVENT_IOC_ID)
		*(uint64_t *)word = event->inode;
	return 0;
}

/* Values follow each other in the order of the format's bits. */
ssize_t __wrap_read(int fd, void *data, size_t size)
{
	const struct played_event *event = kernel_find(fd);
	uint64_t words[5], format;
	size_t count = 0;

	if (!event)
		return __real_read(fd, data, size);
	format = event->attr.read_format;
	words[count++] = event->count;
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		words[count++] = kernel_enabled_ns(event);
	if (format & PERF_FORMAT_ID)
		words[count++] = event->inode;
	if (format & PERF_FORMAT_LOST)
		words[count++] = event->lost;
	if (format & ~(uint64_t)(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_ID |
				 PERF_FORMAT_LOST) ||
	    size < count * sizeof(*words))
		played_fail("the machine does not know the read format %#llx",
			    (unsigned long long)format);
	memcpy(data, words, count * sizeof(*words));
	return count * sizeof(*words);
}

/* The target of an event's file in /proc/self/fd. */
ssize_t __wrap_readlinkat(int dir, const char *path, char *text, size_t size)
{
	static const char memory[] = "/memfd:" FILE_NAME, event[] = "anon_inode:[perf_event]";
	ssize_t got = __real_readlinkat(dir, path, text, size);

	if (!played() || got < (ssize_t)strlen(memory) || memcmp(text, memory, strlen(memory)) != 0)
		return got;
	memcpy(text, event, MIN(size, strlen(event)));
	return MIN(size, strlen(event));
}

/* ---- records ---- */

struct kernel_record {
	uint8_t bytes[4096];
	size_t size;
};

static void kernel_put(struct kernel_record *record, const void *data, size_t size)
{
	if (record->size + size + 8 > sizeof(record->bytes))
		played_fail("a record is too long");
	memcpy(record->bytes + record->size, data, size);
	record->size += size;
	while (record->size % 8)
		record->bytes[record->size++] = 0;
}

static void kernel_put_u64(struct kernel_record *record, uint64_t value)
{
	kernel_put(record, &value, sizeof(value));
}

static void kernel_put_ids(struct kernel_record *record, uint32_t low, uint32_t high)
{
	kernel_put_u64(record, low | (uint64_t)high << 32);
}

static void kernel_begin(struct kernel_record *record, uint32_t type, uint16_t misc)
{
	record->size = 0;
	kernel_put_u64(record, type | (uint64_t)misc << 32);
}

static void kernel_trail(struct kernel_record *record, const struct played_event *event,
			 int32_t pid, int32_t tid)
{
	uint64_t type = event->attr.sample_type;

	if (type & PERF_SAMPLE_TID)
		kernel_put_ids(record, pid, tid);
	if (type & PERF_SAMPLE_TIME)
		kernel_put_u64(record, played_now_ns());
	if (type & PERF_SAMPLE_CPU)
		kernel_put_ids(record, event->cpu, 0);
}

static bool kernel_write_here(struct played_event *ring, struct kernel_record *record)
{
	uint64_t head = ring->page->data_head;
	uint64_t tail = __atomic_load_n(&ring->page->data_tail, __ATOMIC_ACQUIRE);
	uint8_t *bytes = (uint8_t *)ring->page + sysconf(_SC_PAGESIZE);
	uint16_t size = record->size;

	if (head - tail + record->size > ring->ring_bytes)
		return false;
	memcpy(record->bytes + 6, &size, sizeof(size));
	for (size_t i = 0; i < record->size; i++)
		bytes[(head + i) % ring->ring_bytes] = record->bytes[i];
	__atomic_store_n(&ring->page->data_head, head + record->size, __ATOMIC_RELEASE);
	if (head + record->size - ring->woken_at >= ring->attr.wakeup_watermark) {
		ring->woken_at = head + record->size;
		ring->ready = true;
	}
	return true;
}

/* The kernel reports a loss before the first record for which the ring has space again. */
static bool kernel_tell_lost(struct played_event *event, struct played_event *ring)
{
	struct kernel_record record;

	if (!event->untold)
		return true;
	kernel_begin(&record, PERF_RECORD_LOST, 0);
	kernel_put_u64(&record, 1);
	kernel_put_u64(&record, event->untold);
	kernel_trail(&record, event, 0, 0);
	if (!kernel_write_here(ring, &record))
		return false;
	event->untold = 0;
	return true;
}

static void kernel_write(struct played_event *event, struct kernel_record *record)
{
	struct played_event *ring = event->output ? event->output : event;

	if (!ring->page || !event->enabled || event->dead)
		return;
	if (!event->to_lose && kernel_tell_lost(event, ring) && kernel_write_here(ring, record))
		return;
	event->to_lose -= !!event->to_lose;
	event->lost++;
	event->untold++;
}

static void kernel_put_chain(struct kernel_record *record, const struct played_task *task)
{
	kernel_put_u64(record, task->depth);
	kernel_put(record, task->chain, task->depth * sizeof(*task->chain));
}

/* Fields follow each other in the order of the bits. `raw` belongs to a trace event; NULL: none. */
static void kernel_sample(struct played_event *event, const struct played_task *task,
			  const void *raw, uint32_t raw_size)
{
	uint64_t type = event->attr.sample_type;
	struct kernel_record record;

	kernel_begin(&record, PERF_RECORD_SAMPLE, 1);
	if (type & PERF_SAMPLE_IP)
		kernel_put_u64(&record, task->depth > 1 ? task->chain[1] : 0);
	if (type & PERF_SAMPLE_TID)
		kernel_put_ids(&record, task->pid, task->tid);
	if (type & PERF_SAMPLE_TIME)
		kernel_put_u64(&record, played_now_ns());
	if (type & PERF_SAMPLE_CPU)
		kernel_put_ids(&record, event->cpu, 0);
	if (type & PERF_SAMPLE_PERIOD)
		kernel_put_u64(&record, event->attr.sample_period);
	if (type & PERF_SAMPLE_CALLCHAIN)
		kernel_put_chain(&record, task);
	if (type & PERF_SAMPLE_RAW) {
		uint8_t copy[1024] = { 0 };
		uint32_t padded = (raw_size + 4 + 7) / 8 * 8 - 4;

		if (padded + 4 > sizeof(copy))
			played_fail("a trace event is too long");
		memcpy(copy, &padded, 4);
		memcpy(copy + 4, raw, raw_size);
		kernel_put(&record, copy, padded + 4);
	}
	if (type & PERF_SAMPLE_CGROUP)
		kernel_put_u64(&record, task->cgroup);
	event->count++;
	kernel_write(event, &record);
}

void played_record(uint32_t cpu, uint32_t type, uint16_t misc, int32_t pid, int32_t tid,
		   const void *body, size_t size)
{
	struct kernel_record record;

	for (size_t i = 0; i < kernel_count; i++) {
		struct played_event *event = &kernel_events[i];

		if (event->cpu != cpu || event->dead || !kernel_is_sideband(event))
			continue;
		kernel_begin(&record, type, misc);
		kernel_put(&record, body, size);
		kernel_trail(&record, event, pid, tid);
		kernel_write(event, &record);
	}
}

void played_throttle(uint32_t cpu, bool begin)
{
	for (size_t i = 0; i < kernel_count; i++) {
		struct played_event *event = &kernel_events[i];
		struct kernel_record record;

		if (event->cpu != cpu || event->dead || !kernel_is_samples(event))
			continue;
		kernel_begin(&record, begin ? PERF_RECORD_THROTTLE : PERF_RECORD_UNTHROTTLE, 0);
		for (uint64_t word = 0; word < 3; word++)
			kernel_put_u64(&record, word ? 1 : played_now_ns());
		kernel_trail(&record, event, 0, 0);
		kernel_write(event, &record);
		event->next_ns = begin ? UINT64_MAX : played_now_ns() + event->attr.sample_period;
	}
}

void played_trace(uint32_t cpu, uint16_t id, int32_t pid, int32_t tid, const void *raw, size_t size)
{
	struct played_task task = { .pid = pid,
				    .tid = tid,
				    .cgroup = played_cpus[cpu].task.cgroup };

	for (size_t i = 0; i < kernel_count; i++) {
		struct played_event *event = &kernel_events[i];

		if (event->cpu == cpu && !event->dead && event->attr.config == id &&
		    event->attr.type == PERF_TYPE_TRACEPOINT)
			kernel_sample(event, &task, raw, size);
	}
}

void played_lose(uint32_t cpu, uint64_t count)
{
	for (size_t i = 0; i < kernel_count; i++)
		if (kernel_events[i].cpu == cpu && kernel_is_samples(&kernel_events[i]))
			kernel_events[i].to_lose = count;
}

void played_kill_events(uint32_t cpu)
{
	for (size_t i = 0; i < kernel_count; i++) {
		struct played_event *event = &kernel_events[i];

		if (event->cpu != cpu || event->dead)
			continue;
		event->enabled_ns = kernel_enabled_ns(event);
		event->dead = true;
	}
}

static bool kernel_samples(const struct played_event *event)
{
	return event->enabled && !event->dead && kernel_is_samples(event) && event->page &&
	       event->attr.sample_period;
}

uint64_t played_next_sample_ns(void)
{
	uint64_t next_ns = UINT64_MAX;

	for (size_t i = 0; i < kernel_count; i++)
		if (kernel_samples(&kernel_events[i]))
			next_ns = MIN(next_ns, kernel_events[i].next_ns);
	return next_ns;
}

void played_take_samples(void)
{
	for (size_t i = 0; i < kernel_count; i++) {
		struct played_event *event = &kernel_events[i];

		if (!kernel_samples(event) || event->next_ns > played_now_ns())
			continue;
		event->next_ns += event->attr.sample_period;
		kernel_sample(event, &played_cpus[event->cpu].task, NULL, 0);
	}
}

/* ---- waiting for records ---- */

struct kernel_wait {
	struct pollfd *fds;
	nfds_t count;
};

static bool kernel_is_ready(void *context)
{
	const struct kernel_wait *wait = context;
	bool any = false;

	for (nfds_t i = 0; i < wait->count; i++) {
		struct played_event *event = kernel_find(wait->fds[i].fd);

		wait->fds[i].revents = event && event->ready ? POLLIN : 0;
		any = any || wait->fds[i].revents;
	}
	return any;
}

static bool kernel_is_any_ready(void *unused)
{
	for (size_t i = 0; i < kernel_count; i++)
		if (kernel_events[i].ready)
			return true;
	return false;
}

int __wrap_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		 const sigset_t *mask)
{
	struct kernel_wait wait = { fds, count };
	int ready = 0;

	if (!played() || !played_is_first_thread())
		return __real_ppoll(fds, count, timeout, mask);
	if (!kernel_is_ready(&wait))
		played_pass(played_now_ns() + timeout->tv_sec * NSEC_PER_SEC + timeout->tv_nsec,
			    kernel_is_any_ready, NULL);
	kernel_is_ready(&wait);
	for (nfds_t i = 0; i < count; i++)
		ready += !!fds[i].revents;
	for (size_t i = 0; i < kernel_count; i++)
		kernel_events[i].ready = false;
	return ready;
}

/* The program's first thread is called "perftape". */
int __wrap_prctl(int option, ...)
{
	unsigned long words[4];
	va_list args;

	va_start(args, option);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = va_arg(args, unsigned long);
	va_end(args);
	if (played() && option == PR_SET_NAME && played_is_first_thread() && kernel_count) {
		struct {
			int32_t pid, tid;
			char comm[16];
		} body = { getpid(), gettid(), "" };

		snprintf(body.comm, sizeof(body.comm), "%.15s", (const char *)words[0]);
		played_record(0, PERF_RECORD_COMM, 0, body.pid, body.tid, &body, sizeof(body));
	}
	return __real_prctl(option, words[0], words[1], words[2], words[3]);
}
