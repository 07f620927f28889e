// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/kmsg/kmsg-watch.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "recorder/kmsg/kmsg-intake.h"
#include "base/worker.h"
#include "store/disk/incident-notes.h"

/*
 * Invariants:
 * (1) the lock guards the members below it. The members above belong to the thread while the thread
 *     runs. The draining thread only tries the lock;
 * (2) the drain takes entries in the order of the log, and does not pass an incident that wants a
 *     note;
 * (3) all lines up to the position in the store are on the disk or were dropped.
 */

/*
 * The greatest number of entries that wait for the drain, which comes once per second. Further
 * lines stay in the kernel's buffer, which is larger.
 */
#define QUEUE_MAX 8192

#define NOTES_AT_ONCE 64

/*
 * The greatest number of trace events' lines that wait for the thread; in a storm, further ones are
 * dropped.
 */
#define REPORTED_MAX 64

/* Time between two writes of the position. */
#define KEEP_NS (10 * NSEC_PER_SEC)

/*
 * The system slews clocks at most at this rate, so the error of a wall clock from an older anchor
 * is at most distance / SLEW.
 */
#define SLEW 2000

struct kmsg_watch {
	const struct kmsg_options *options;
	pthread_t thread;
	int fd, wake;
	bool own_fd, running;
	struct kmsg_intake intake;
	/* monotonic clock */
	uint64_t kept_ns;
	uint64_t kept_sequence;
	uint64_t kept_ids_end;
	char text[KMSG_RECORD_MAX];
	/*
	 * lines of trace events that the draining thread has not handed over yet; this and the next
	 * member belong to that thread
	 */
	struct kmsg_chain unsent;
	bool unsent_starved;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct kmsg_chain queue, reported;
	bool ending;
	/* set right before the thread returns */
	bool ended;
	struct error trouble;
	/* lines were dropped, because memory was short */
	bool starved;
	/*
	 * positions in the log: of the last line in a tape, of that for which the spool waits, and
	 * of that on the disk; boot_id "": none
	 */
	struct log_position taken, pending, durable;
	uint64_t pending_until_ns;
};

static void kmsg_watch_set_trouble(void *context, const struct error *trouble)
{
	struct kmsg_watch *watch = context;

	pthread_mutex_lock(&watch->lock);
	watch->trouble = *trouble;
	pthread_mutex_unlock(&watch->lock);
}

static void kmsg_watch_put(void *context, struct kmsg_entry *entry)
{
	struct kmsg_watch *watch = context;

	pthread_mutex_lock(&watch->lock);
	kmsg_chain_put(&watch->queue, entry);
	pthread_mutex_unlock(&watch->lock);
}

/* Sets the first position of a new store, so that the next recorder knows where to continue. */
static void begin_here(struct kmsg_watch *watch)
{
	struct kmsg_intake *intake = &watch->intake;
	struct log_position here = { .sequence = intake->next_sequence - 1,
				     .stamp_ns = intake->last_ns };

	if (intake->continues || !intake->next_sequence)
		return;
	intake->continues = true;
	snprintf(here.boot_id, sizeof(here.boot_id), "%s", watch->options->boot_id);
	pthread_mutex_lock(&watch->lock);
	/* if entries wait in the queue, the drain sets the position when it takes them */
	if (!watch->queue.first)
		watch->taken = watch->durable = here;
	pthread_mutex_unlock(&watch->lock);
}

static bool kmsg_watch_is_full(struct kmsg_watch *watch)
{
	bool full;

	pthread_mutex_lock(&watch->lock);
	full = watch->queue.count >= QUEUE_MAX;
	pthread_mutex_unlock(&watch->lock);
	return full;
}

static void stop_reading(struct kmsg_watch *watch)
{
	if (watch->own_fd && watch->fd >= 0)
		close(watch->fd);
	watch->fd = -1;
}

/* Stops reading the log, and reports that the recorder does not detect incidents any more. */
static void give_up_reading(struct kmsg_watch *watch, int r)
{
	struct error error = { 0 };

	error_set(&error, r,
		  "the kernel's log cannot be read (%s), so incidents are not detected%s",
		  strerror(-r),
		  r == -EPERM || r == -EACCES
			  ? "; it needs CAP_SYSLOG, and a kernel without printk.devkmsg=off"
			  : "");
	kmsg_watch_set_trouble(watch, &error);
	stop_reading(watch);
}

/* Tells of incidents beyond the first `found`, and of the thread that the last one names. */
static void kmsg_watch_tell(struct kmsg_watch *watch, uint64_t found)
{
	const struct kmsg_options *options = watch->options;
	uint32_t named = watch->intake.named;

	watch->intake.named = 0;
	if (watch->intake.found == found)
		return;
	if (options->found)
		options->found(options->context);
	if (named && options->named)
		options->named(options->named_context, named);
}

static void kmsg_watch_take_record(struct kmsg_watch *watch, size_t size)
{
	uint64_t found = watch->intake.found;

	kmsg_intake_take(&watch->intake, watch->text, size);
	kmsg_watch_tell(watch, found);
}

/*
 * Reads all records. EPIPE: the kernel overwrote some records; the sequence numbers show how many.
 * EINVAL: one record was too long and is also lost.
 */
static void read_records(struct kmsg_watch *watch)
{
	while (watch->fd >= 0 && !kmsg_watch_is_full(watch)) {
		ssize_t got = read(watch->fd, watch->text, sizeof(watch->text));

		if (got > 0)
			kmsg_watch_take_record(watch, got);
		else if (got == 0)
			stop_reading(watch);
		else if (errno == EAGAIN)
			return;
		else if (errno != EPIPE && errno != EINTR && errno != EINVAL)
			give_up_reading(watch, -errno);
	}
}

/* Clears the last trouble after a successful write. */
static void kmsg_watch_clear_trouble(struct kmsg_watch *watch)
{
	struct error none = { 0 };

	if (watch->fd >= 0)
		kmsg_watch_set_trouble(watch, &none);
}

/* Adds the lines that trace events reported. */
static void take_reported(struct kmsg_watch *watch)
{
	uint64_t found = watch->intake.found;
	struct kmsg_chain reported;

	pthread_mutex_lock(&watch->lock);
	reported = watch->reported;
	watch->reported = (struct kmsg_chain){ 0 };
	pthread_mutex_unlock(&watch->lock);
	while (reported.first)
		kmsg_intake_report(&watch->intake, kmsg_chain_take(&reported));
	kmsg_watch_tell(watch, found);
}

static void tell_starved(struct kmsg_watch *watch)
{
	pthread_mutex_lock(&watch->lock);
	watch->starved |= watch->intake.starved;
	pthread_mutex_unlock(&watch->lock);
}

/*
 * Finds the first entries that want a note. These entries stay in the queue, and the drain does not
 * take them until write_notes() has noted them.
 */
static size_t find_wanting(struct kmsg_watch *watch, struct kmsg_entry *wanting[NOTES_AT_ONCE])
{
	size_t count = 0;

	pthread_mutex_lock(&watch->lock);
	for (struct kmsg_entry *entry = watch->queue.first; entry && count < NOTES_AT_ONCE;
	     entry = entry->next)
		if (entry->wants_note)
			wanting[count++] = entry;
	pthread_mutex_unlock(&watch->lock);
	return count;
}

static int kmsg_watch_note(struct kmsg_watch *watch, struct kmsg_entry **wanting, size_t count)
{
	struct store_incident incidents[NOTES_AT_ONCE];
	struct error error = { 0 };
	int r;

	for (size_t i = 0; i < count; i++)
		incidents[i] = kmsg_entry_incident(wanting[i], watch->options->boot_id);
	r = incident_notes_add(watch->options->store, incidents, count, &error);
	if (r < 0) {
		kmsg_watch_set_trouble(watch, &error);
		return r;
	}
	kmsg_watch_clear_trouble(watch);
	pthread_mutex_lock(&watch->lock);
	for (size_t i = 0; i < count; i++) {
		wanting[i]->noted = true;
		wanting[i]->wants_note = false;
	}
	pthread_mutex_unlock(&watch->lock);
	return 0;
}

/*
 * Writes notes of incidents that are too late for their segment. Returns false when a note cannot
 * be written now.
 */
static bool write_notes(struct kmsg_watch *watch)
{
	struct kmsg_entry *wanting[NOTES_AT_ONCE];
	size_t count;
	int r = 0;

	while (r == 0 && (count = find_wanting(watch, wanting)))
		r = kmsg_watch_note(watch, wanting, count);
	return r == 0;
}

static void keep_position(struct kmsg_watch *watch, const struct log_position *durable)
{
	struct log_position position = *durable;
	struct error error = { 0 };

	snprintf(position.boot_id, sizeof(position.boot_id), "%s", watch->options->boot_id);
	position.next_id = watch->intake.id;
	position.below_id = watch->intake.ids_end;
	watch->kept_ns = clock_ns(CLOCK_MONOTONIC);
	if (log_position_keep(watch->options->store, &position, &error) < 0) {
		kmsg_watch_set_trouble(watch, &error);
	} else {
		kmsg_watch_clear_trouble(watch);
		watch->kept_sequence = position.sequence;
	}
	watch->kept_ids_end = position.below_id;
}

/*
 * Writes the position to the store when that is due. Returns true if the store's position was not
 * up to date.
 */
static bool keep_when_due(struct kmsg_watch *watch)
{
	bool reserved = watch->intake.ids_end != watch->kept_ids_end;
	struct log_position durable;

	pthread_mutex_lock(&watch->lock);
	durable = watch->durable;
	pthread_mutex_unlock(&watch->lock);
	/* the position of an earlier recorder of this boot is valid, too */
	if (!*durable.boot_id &&
	    strcmp(watch->intake.before.position.boot_id, watch->options->boot_id) == 0)
		durable = watch->intake.before.position;
	if (!*durable.boot_id || (durable.sequence == watch->kept_sequence && !reserved))
		return false;
	/* write new reservations at once, because the store must know the reserved ids */
	if (reserved || clock_ns(CLOCK_MONOTONIC) - watch->kept_ns >= KEEP_NS)
		keep_position(watch, &durable);
	return true;
}

/* Waits until there is something to read, or the draining thread wakes us. */
static void wait_for_more(struct kmsg_watch *watch, bool soon)
{
	struct pollfd fds[] = {
		{ .fd = watch->wake, .events = POLLIN },
		{ .fd = kmsg_watch_is_full(watch) ? -1 : watch->fd, .events = POLLIN },
	};
	eventfd_t count;

	if (poll(fds, ARRAY_SIZE(fds), soon ? 1000 : -1) > 0 && fds[0].revents)
		eventfd_read(watch->wake, &count);
	/* poll() would always return at once for a descriptor that was hung up */
	if (fds[1].revents && !(fds[1].revents & POLLIN) && !(fds[1].revents & POLLPRI))
		give_up_reading(watch, -EIO);
}

static void *kmsg_watch_main(void *context)
{
	struct kmsg_watch *watch = context;
	struct kmsg_intake *intake = &watch->intake;
	struct error error = { 0 };
	uint64_t dropped = 0;
	bool ending = false;

	prctl(PR_SET_NAME, "perftape-log");
	if (kmsg_intake_find(intake, watch->options->boot_id, &error) < 0)
		kmsg_watch_set_trouble(watch, &error);
	watch->kept_sequence = intake->before.position.sequence;
	watch->kept_ids_end = intake->ids_end;
	if (watch->own_fd)
		watch->fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (watch->fd < 0)
		give_up_reading(watch, -errno);
	while (!ending) {
		bool soon;

		pthread_mutex_lock(&watch->lock);
		ending = watch->ending;
		pthread_mutex_unlock(&watch->lock);
		read_records(watch);
		begin_here(watch);
		take_reported(watch);
		tell_starved(watch);
		soon = !write_notes(watch);
		/* if no line was dropped for a second, the burst is over */
		if (dropped && dropped == intake->dropped)
			kmsg_intake_report_dropped(intake);
		dropped = intake->dropped;
		soon |= keep_when_due(watch) || dropped;
		if (!ending)
			wait_for_more(watch, soon);
	}
	kmsg_intake_report_dropped(intake);
	tell_starved(watch);
	pthread_mutex_lock(&watch->lock);
	watch->ended = true;
	pthread_cond_broadcast(&watch->changed);
	pthread_mutex_unlock(&watch->lock);
	return NULL;
}

int kmsg_watch_start(const struct kmsg_options *options, uint64_t begin_ns,
		     struct kmsg_watch **ret_watch)
{
	struct kmsg_watch *watch = calloc(1, sizeof(*watch));
	int r;

	if (!watch)
		return -ENOMEM;
	watch->options = options;
	watch->fd = options->fd;
	watch->own_fd = options->fd < 0;
	watch->intake = (struct kmsg_intake){
		.store = options->store,
		.trust_users = options->trust_users,
		.begin_ns = begin_ns,
		.root = options->root ? options->root : "",
		.put = kmsg_watch_put,
		.trouble = kmsg_watch_set_trouble,
		.context = watch,
	};
	kmsg_intake_init(&watch->intake, options->catalogue);
	worker_lock_init(&watch->lock, &watch->changed);
	watch->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = watch->wake < 0 ? -errno : worker_start(&watch->thread, kmsg_watch_main, watch);
	watch->running = r == 0;
	if (r < 0)
		kmsg_watch_close(watch, false);
	else
		*ret_watch = watch;
	return r;
}

/* Sets the wall clock of a late incident, computed from the last anchor. */
static void want_note(struct kmsg_entry *entry, const struct tape_anchor *anchor)
{
	uint64_t ago_ns = anchor->perf_ns - MIN(entry->stamp_ns, anchor->perf_ns);

	entry->wants_note = true;
	entry->realtime_ns = anchor->realtime_ns - ago_ns;
	entry->error_ns = anchor->error_ns + NSEC_PER_USEC + ago_ns / SLEW;
}

static bool want_notes(struct kmsg_watch *watch, const struct tape *tape,
		       const struct tape_anchor *anchor)
{
	bool any = false;

	for (struct kmsg_entry *entry = watch->queue.first; entry; entry = entry->next) {
		if (!entry->id || entry->noted || entry->stamp_ns >= tape->begin_ns)
			continue;
		if (!entry->wants_note)
			want_note(entry, anchor);
		any = true;
	}
	return any;
}

/* Puts the entries of the tape's time into the tape. The caller holds the lock. */
static int kmsg_watch_take_entries(struct kmsg_watch *watch, struct tape *tape)
{
	struct kmsg_chain *queue = &watch->queue;
	int r = 0;

	while (r == 0 && queue->first && !queue->first->wants_note &&
	       queue->first->stamp_ns < tape->end_ns) {
		_cleanup_(cleanup_kmsg_entry) struct kmsg_entry *entry = kmsg_chain_take(queue);

		r = kmsg_entry_put(entry, tape);
		snprintf(watch->taken.boot_id, sizeof(watch->taken.boot_id), "%s",
			 watch->options->boot_id);
		watch->taken.sequence = entry->sequence;
		watch->taken.stamp_ns = entry->stamp_ns;
	}
	return r;
}

int kmsg_watch_take(struct kmsg_watch *watch, struct tape *tape, const struct tape_anchor *anchor)
{
	bool full, wanting, moved;
	int r;

	if (!watch || pthread_mutex_trylock(&watch->lock) != 0)
		return 0;
	moved = watch->unsent.first;
	while (watch->unsent.first && watch->reported.count < REPORTED_MAX)
		kmsg_chain_put(&watch->reported, kmsg_chain_take(&watch->unsent));
	watch->starved |= watch->unsent_starved;
	full = watch->queue.count >= QUEUE_MAX;
	wanting = want_notes(watch, tape, anchor);
	r = kmsg_watch_take_entries(watch, tape);
	pthread_mutex_unlock(&watch->lock);
	if (full || wanting || moved)
		eventfd_write(watch->wake, 1);
	return r;
}

void kmsg_watch_report(struct kmsg_watch *watch, uint64_t stamp_ns, const char *line)
{
	struct kmsg_entry *entry;

	if (!watch || watch->unsent.count >= REPORTED_MAX)
		return;
	entry = kmsg_entry_new(stamp_ns, 0, 0, line, strlen(line));
	watch->unsent_starved |= !entry;
	if (entry)
		kmsg_chain_put(&watch->unsent, entry);
}

void kmsg_watch_spooled(struct kmsg_watch *watch, uint64_t until_ns, uint64_t spooled_ns)
{
	bool first;

	if (!watch || pthread_mutex_trylock(&watch->lock) != 0)
		return;
	first = !*watch->durable.boot_id;
	if (*watch->pending.boot_id && spooled_ns >= watch->pending_until_ns) {
		watch->durable = watch->pending;
		watch->pending.boot_id[0] = 0;
	}
	first &= *watch->durable.boot_id != 0;
	if (!*watch->pending.boot_id && watch->taken.sequence != watch->durable.sequence) {
		watch->pending = watch->taken;
		watch->pending_until_ns = until_ns;
	}
	pthread_mutex_unlock(&watch->lock);
	if (first)
		eventfd_write(watch->wake, 1);
}

void kmsg_watch_trouble(struct kmsg_watch *watch, struct error *trouble)
{
	if (!watch || pthread_mutex_trylock(&watch->lock) != 0)
		return;
	*trouble = watch->trouble;
	if (!*trouble->text && watch->starved)
		error_set(trouble, 0, "out of memory for lines of the kernel's log; some are lost");
	pthread_mutex_unlock(&watch->lock);
}

int kmsg_watch_stop(struct kmsg_watch *watch, uint64_t patience_ns)
{
	if (!watch || !watch->running)
		return 0;
	pthread_mutex_lock(&watch->lock);
	watch->ending = true;
	eventfd_write(watch->wake, 1);
	watch->running = !worker_await(&watch->lock, &watch->changed, &watch->ended, patience_ns);
	pthread_mutex_unlock(&watch->lock);
	if (watch->running)
		return -ETIMEDOUT;
	pthread_join(watch->thread, NULL);
	return 0;
}

struct kmsg_watch *kmsg_watch_close(struct kmsg_watch *watch, bool sealed)
{
	struct kmsg_intake *intake;

	if (!watch)
		return NULL;
	intake = &watch->intake;
	write_notes(watch);
	/*
	 * the watch has read lines of users, although it ignores them: the next watch begins behind
	 * them
	 */
	if (!watch->queue.first && intake->continues && intake->next_sequence) {
		watch->taken.sequence = intake->next_sequence - 1;
		watch->taken.stamp_ns = intake->last_ns;
	}
	if (sealed && (watch->taken.sequence || watch->taken.stamp_ns))
		keep_position(watch, &watch->taken);
	while (watch->queue.first)
		kmsg_entry_free(kmsg_chain_take(&watch->queue));
	while (watch->reported.first)
		kmsg_entry_free(kmsg_chain_take(&watch->reported));
	while (watch->unsent.first)
		kmsg_entry_free(kmsg_chain_take(&watch->unsent));
	if (watch->own_fd && watch->fd >= 0)
		close(watch->fd);
	if (watch->wake >= 0)
		close(watch->wake);
	kmsg_intake_done(&watch->intake);
	worker_lock_done(&watch->lock, &watch->changed);
	free(watch);
	return NULL;
}
