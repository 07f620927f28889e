// SPDX-License-Identifier: GPL-2.0-only
#include "cli/service/snapshot-keeper.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mutation.h"
#include "cli/service/snapshot-shelf.h"
#include "cli/options/command.h"
#include "cli/window/incident-book.h"
#include "query/window/window.h"
#include "store/disk/files.h"

/*
 * Invariants:
 * (1) The lock guards the members below it. Only the thread uses the members above it while the
 *     thread runs.
 * (2) An entry of `taken` is in its file before the next snapshot begins.
 */

/*
 * A file in the store's folder. It has a line for each snapshot, with the ID of the snapshot's
 * incident and the time of its end.
 */
#define TAKEN_FILE "snapshots"
/*
 * The same file in a follower's folder. Its name begins with a dot, so the shelf does not treat it
 * as a snapshot.
 */
#define FOLLOWED_FILE ".followed"
#define TAKEN_MAX 1000
#define TAKEN_FILE_MAX (1u << 20)

/* The spool contains the end of the window only a second or two later. */
#define QUIET_NS (WINDOW_AFTER_NS + 3 * NSEC_PER_SEC)
#define SPOOLED_NS (2 * NSEC_PER_SEC)
/* When a segment is sealed, the wall clock times of its stamps change slightly. */
#define SAME_NS NSEC_PER_SEC
/*
 * If an episode goes on, the keeper takes another snapshot after AGAIN_NS. A snapshot contains at
 * most LONGEST_NS of the episode.
 */
#define AGAIN_NS (60 * NSEC_PER_SEC)
#define LONGEST_NS (600 * NSEC_PER_SEC)
#define TRIES 5
#define LAST_CHANCE_NS (30 * NSEC_PER_SEC)
#define GLANCE_NS (200 * NSEC_PER_MSEC)

struct taken {
	uint64_t id;
	/* The wall clock of the last line in the snapshot. */
	uint64_t until_ns;
	/* The time of the last attempt on CLOCK_MONOTONIC; 0: no attempt in this run. */
	uint64_t at_ns;
	unsigned int failed;
};

struct snapshot_keeper {
	struct snapshot_keeper_options options;
	pthread_t thread;
	array_of(struct taken) taken;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool news, ending;
	/* The deadline after the end of the recording, on CLOCK_MONOTONIC. */
	uint64_t end_ns;
};

/*
 * Waits until the recording ends, until `ns` have passed, or, with `for_news`, until somebody
 * reports an incident. Sets *ret_news if somebody reported one. Returns true if the recording ends.
 */
static bool snapshot_keeper_wait(struct snapshot_keeper *keeper, uint64_t ns, bool for_news,
				 bool *ret_news)
{
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + MIN(ns, LONGEST_NS);
	struct timespec until = { until_ns / NSEC_PER_SEC, until_ns % NSEC_PER_SEC };
	bool ending;
	int r = 0;

	pthread_mutex_lock(&keeper->lock);
	while (r == 0 && !keeper->ending && !(for_news && keeper->news))
		r = ns == UINT64_MAX
			    ? pthread_cond_wait(&keeper->changed, &keeper->lock)
			    : pthread_cond_timedwait(&keeper->changed, &keeper->lock, &until);
	*ret_news = keeper->news;
	keeper->news = false;
	ending = keeper->ending;
	pthread_mutex_unlock(&keeper->lock);
	return ending;
}

static const char *taken_folder(const struct snapshot_keeper *keeper)
{
	return keeper->options.follows ? keeper->options.folder : keeper->options.store;
}

static const char *taken_file(const struct snapshot_keeper *keeper)
{
	return keeper->options.follows ? FOLLOWED_FILE : TAKEN_FILE;
}

static void read_taken(struct snapshot_keeper *keeper)
{
	_cleanup_free_ char *text = NULL;
	char file[PATH_MAX], *at;
	struct taken taken = { 0 };
	int size;

	if (snprintf(file, sizeof(file), "%s/%s", taken_folder(keeper), taken_file(keeper)) >=
		    (int)sizeof(file) ||
	    file_read_own(file, TAKEN_FILE_MAX, &text, NULL) < 0)
		return;
	for (at = text;
	     sscanf(at, "%" SCNu64 " %" SCNu64 "%n", &taken.id, &taken.until_ns, &size) == 2;
	     at += size)
		if (array_push(&keeper->taken, taken) < 0)
			return;
}

static int write_taken(struct snapshot_keeper *keeper)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	size_t count = keeper->taken.count;

	for (size_t i = count > TAKEN_MAX ? count - TAKEN_MAX : 0; i < count; i++)
		if (keeper->taken.items[i].until_ns)
			buffer_printf(&text, "%" PRIu64 " %" PRIu64 "\n", keeper->taken.items[i].id,
				      keeper->taken.items[i].until_ns);
	if (buffer_failed(&text))
		return -ENOMEM;
	return file_replace(taken_folder(keeper), taken_file(keeper), text.data, text.size);
}

static struct taken *find_taken(struct snapshot_keeper *keeper, uint64_t id)
{
	for (size_t i = 0; i < keeper->taken.count; i++)
		if (keeper->taken.items[i].id == id)
			return &keeper->taken.items[i];
	if (array_push(&keeper->taken, (struct taken){ .id = id }) < 0)
		return NULL;
	return &keeper->taken.items[keeper->taken.count - 1];
}

/* Waits for a process until the deadline. Returns false after killing a process that hangs. */
static bool snapshot_keeper_wait_for_process(struct snapshot_keeper *keeper, pid_t pid,
					     int *ret_status)
{
	for (;;) {
		bool late;

		if (waitpid(pid, ret_status, WNOHANG) != 0)
			return true;
		pthread_mutex_lock(&keeper->lock);
		late = keeper->ending && clock_ns(CLOCK_MONOTONIC) >= keeper->end_ns;
		pthread_mutex_unlock(&keeper->lock);
		if (late) {
			kill(pid, SIGKILL);
			return false;
		}
		nanosleep(&(struct timespec){ 0, GLANCE_NS }, NULL);
	}
}

/*
 * Runs this program with other arguments, and with its output in a new file if `output` is not
 * NULL. Returns 0 also if nothing is recorded in the window.
 */
static int snapshot_keeper_spawn(struct snapshot_keeper *keeper, const char *const words[],
				 const char *output)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int status = 0, r;
	pid_t pid;

	/*
	 * Ctrl-C is meant for the recorder, which then sets our deadline. The new process group
	 * keeps Ctrl-C from the child.
	 */
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
	/* drop the child's message about the coverage, because the file contains it, too */
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (output)
		posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output,
						 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	r = -posix_spawn(&pid, "/proc/self/exe", &files, &attributes, (char *const *)words,
			 environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	if (r < 0)
		return r;
	setpriority(PRIO_PROCESS, pid, 10);
	if (!snapshot_keeper_wait_for_process(keeper, pid, &status))
		return -ETIMEDOUT;
	/* Exit code 3: nothing is recorded in the window. */
	return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3) ? 0
											   : -EIO;
}

static void snapshot_keeper_moment(uint64_t ns, char text[40])
{
	snprintf(text, 40, "@%llu.%09llu", (unsigned long long)(ns / NSEC_PER_SEC),
		 (unsigned long long)(ns % NSEC_PER_SEC));
}

/* Writes the snapshot in a separate process. */
static int snapshot_keeper_write(struct snapshot_keeper *keeper, const char *file, uint64_t from_ns,
				 uint64_t to_ns)
{
	char from[40], to[40];
	const char *const words[] = {
		"perftape", "snapshot", "-q",	"--store", keeper->options.store,
		"--from",   from,	"--to", to,	   "-o",
		file,	    NULL
	};

	snapshot_keeper_moment(from_ns, from);
	snapshot_keeper_moment(to_ns, to);
	return snapshot_keeper_spawn(keeper, words, NULL);
}

/* Writes the text of a snapshot beside it: FILE.txt in place of FILE.tape. */
static int snapshot_keeper_write_text(struct snapshot_keeper *keeper, const char *file)
{
	const char *const words[] = { "perftape", "top", "--utc", "--store", file, NULL };
	char text[PATH_MAX], hidden[PATH_MAX];
	const char *name = strrchr(file, '/') + 1;
	int folder = name - file, stem = strlen(name) - strlen(STORE_SUFFIX), r;

	if (!file_exists(file))
		return 0;
	if (snprintf(text, sizeof(text), "%.*s%.*s" SNAPSHOT_SHELF_TEXT, folder, file, stem,
		     name) >= (int)sizeof(text) ||
	    snprintf(hidden, sizeof(hidden), "%.*s.%.*s.new", folder, file, stem, name) >=
		    (int)sizeof(hidden))
		return -ENAMETOOLONG;
	unlink(hidden);
	r = snapshot_keeper_spawn(keeper, words, hidden);
	if (r == 0 && rename(hidden, text) < 0)
		r = -errno;
	if (r < 0)
		unlink(hidden);
	return r;
}

/*
 * Makes the file name HOST-TIME-KIND-ID.tape, so that files sort by time. The kind is that of the
 * first line, because the episode's kind may change.
 */
static bool name_file(const struct snapshot_keeper *keeper, const struct book *book,
		      const struct episode *episode, char file[PATH_MAX])
{
	time_t second = episode->first.realtime_ns / NSEC_PER_SEC;
	const char *kind = episode->kind->name;
	char host[HOST_NAME_MAX + 1] = "", time[32];
	struct tm parts;

	for (size_t i = 0; i < book->rows.count; i++)
		if (book->rows.items[i].id == episode->id)
			kind = book->kinds.items[book->rows.items[i].kind].name;
	gethostname(host, sizeof(host) - 1);
	gmtime_r(&second, &parts);
	strftime(time, sizeof(time), "%Y%m%dT%H%M%SZ", &parts);
	/* the user's patterns may give a kind any name, also a name with a slash */
	return !strchr(kind, '/') && !strchr(host, '/') &&
	       snprintf(file, PATH_MAX, "%s/%s-%s-%s-%llu.tape", keeper->options.folder, host, time,
			kind, (unsigned long long)episode->id) < PATH_MAX;
}

static void snapshot_keeper_removed(void *context, const char *name)
{
	const struct snapshot_keeper *keeper = context;

	warn("removed the oldest snapshot, %s/%s; --%s sets the limit", keeper->options.folder,
	     name, keeper->options.limit_option);
}

static void snapshot_keeper_take(struct snapshot_keeper *keeper, const struct book *book,
				 const struct episode *episode, uint64_t until_ns,
				 struct taken *taken, bool ending)
{
	uint64_t from_ns = episode->start_ns - WINDOW_BEFORE_NS;
	char file[PATH_MAX];
	int r = 0;

	if (mutated("cut-snapshots-short"))
		from_ns = until_ns;
	if (name_file(keeper, book, episode, file))
		r = snapshot_keeper_write(keeper, file, from_ns, until_ns + WINDOW_AFTER_NS);
	else
		*file = 0;
	if (r == 0 && *file && keeper->options.texts)
		r = snapshot_keeper_write_text(keeper, file);
	taken->at_ns = clock_ns(CLOCK_MONOTONIC);
	taken->failed = r < 0 ? taken->failed + 1 : 0;
	if (r < 0 && taken->failed < TRIES && !ending)
		return;
	if (r < 0)
		warn("cannot write a snapshot of incident %llu to %s%s",
		     (unsigned long long)episode->id, keeper->options.folder,
		     r == -ETIMEDOUT ? " before the end" : "");
	if (r < 0 && ending)
		return;
	taken->until_ns = until_ns;
	taken->failed = 0;
	write_taken(keeper);
	snapshot_shelf_trim(keeper->options.folder, keeper->options.max_bytes, SNAPSHOT_SHELF_FILES,
			    snapshot_keeper_removed, keeper);
}

/*
 * Returns how long to wait before the snapshot of the episode; 0: take it now; UINT64_MAX: the
 * episode gets no snapshot, or no further one.
 */
static uint64_t due_in(const struct snapshot_keeper *keeper, const struct episode *episode,
		       const struct taken *taken, uint64_t until_ns, bool ending)
{
	uint64_t now_ns = clock_ns(CLOCK_REALTIME), wait_ns = 0;
	uint64_t passed_ns = clock_ns(CLOCK_MONOTONIC) - taken->at_ns;

	if (!episode->id || episode->kind->severity <= SEVERITY_NOTICE ||
	    episode->last.realtime_ns < keeper->options.since_ns ||
	    taken->until_ns + SAME_NS >= until_ns)
		return UINT64_MAX;
	if (ending)
		return taken->failed ? UINT64_MAX : 0;
	if (until_ns + QUIET_NS > now_ns)
		wait_ns = until_ns + QUIET_NS - now_ns;
	if (taken->at_ns && passed_ns < AGAIN_NS)
		wait_ns = MAX(wait_ns, AGAIN_NS - passed_ns);
	/* the clock may have been set back, so limit the wait */
	return MIN(wait_ns, LONGEST_NS);
}

static uint64_t snapshot_keeper_take_if_due(struct snapshot_keeper *keeper, const struct book *book,
					    const struct episode *episode, bool ending)
{
	uint64_t until_ns = MIN(episode->last.realtime_ns, episode->first.realtime_ns + LONGEST_NS);
	struct taken *taken = find_taken(keeper, episode->id);
	uint64_t wait_ns = taken ? due_in(keeper, episode, taken, until_ns, ending) : UINT64_MAX;

	if (!wait_ns) {
		snapshot_keeper_take(keeper, book, episode, until_ns, taken, ending);
		return taken->failed ? AGAIN_NS : UINT64_MAX;
	}
	return wait_ns;
}

/* Takes the snapshots that are due. Returns how long to wait for the next one. */
static uint64_t snapshot_keeper_take_due(struct snapshot_keeper *keeper, bool ending)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	uint64_t wait_ns = UINT64_MAX;
	struct book book = { 0 };

	if (store_reader_open(keeper->options.store, &reader, NULL) < 0 ||
	    book_open(reader, &book, NULL) < 0)
		return AGAIN_NS;
	for (size_t i = 0; i < book.episodes.list.count; i++) {
		const struct episode *episode = &book.episodes.list.items[i];

		if (episode->last.realtime_ns >= keeper->options.since_ns)
			wait_ns = MIN(wait_ns,
				      snapshot_keeper_take_if_due(keeper, &book, episode, ending));
	}
	book_done(&book);
	return wait_ns;
}

static void *snapshot_keeper_main(void *context)
{
	struct snapshot_keeper *keeper = context;
	uint64_t wait_ns = 0, news_ns = 0;
	bool news;

	prctl(PR_SET_NAME, "perftape-keep");
	while (!snapshot_keeper_wait(keeper, wait_ns, true, &news)) {
		if (news) {
			news_ns = clock_ns(CLOCK_MONOTONIC);
			if (snapshot_keeper_wait(keeper, SPOOLED_NS, false, &news))
				break;
		}
		wait_ns = MAX(snapshot_keeper_take_due(keeper, false), GLANCE_NS);
		/* look again soon, because on a slow disk the new line reaches the store late */
		if (news_ns && clock_ns(CLOCK_MONOTONIC) - news_ns < AGAIN_NS)
			wait_ns = MIN(wait_ns, QUIET_NS);
	}
	snapshot_keeper_take_due(keeper, true);
	return NULL;
}

void snapshot_keeper_found(void *context)
{
	struct snapshot_keeper *keeper = context;

	if (!keeper)
		return;
	pthread_mutex_lock(&keeper->lock);
	keeper->news = true;
	pthread_cond_broadcast(&keeper->changed);
	pthread_mutex_unlock(&keeper->lock);
}

static int start_thread(struct snapshot_keeper *keeper)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&keeper->thread, NULL, snapshot_keeper_main, keeper);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

int snapshot_keeper_start(const struct snapshot_keeper_options *options,
			  struct snapshot_keeper **ret_keeper, struct error *error)
{
	struct snapshot_keeper *keeper = calloc(1, sizeof(*keeper));
	pthread_condattr_t clock;
	int r;

	if (!keeper)
		return -ENOMEM;
	keeper->options = *options;
	pthread_mutex_init(&keeper->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&keeper->changed, &clock);
	pthread_condattr_destroy(&clock);
	read_taken(keeper);
	r = start_thread(keeper);
	if (r < 0) {
		free(keeper);
		return error_set(error, r, "cannot start a thread: %s", strerror(-r));
	}
	*ret_keeper = keeper;
	r = snapshot_shelf_make(options->folder);
	return r < 0 ? error_set(
			       error, 1,
			       "no snapshots in %s: %s; perftape tries again at the next incident",
			       options->folder, strerror(-r))
		     : 0;
}

struct snapshot_keeper *snapshot_keeper_stop(struct snapshot_keeper *keeper)
{
	if (!keeper)
		return NULL;
	pthread_mutex_lock(&keeper->lock);
	keeper->ending = true;
	keeper->end_ns = clock_ns(CLOCK_MONOTONIC) + LAST_CHANCE_NS;
	pthread_cond_broadcast(&keeper->changed);
	pthread_mutex_unlock(&keeper->lock);
	pthread_join(keeper->thread, NULL);
	array_done(&keeper->taken);
	pthread_cond_destroy(&keeper->changed);
	pthread_mutex_destroy(&keeper->lock);
	free(keeper);
	return NULL;
}
