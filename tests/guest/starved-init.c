/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The first process of a guest: plays a realtime hog that starves the network's softirqs and a
 * pinned thread, beside a recorder, and asks `explain` about it.
 *
 * A kernel throttles realtime threads by default. Without that bound, as hosts for audio, storage
 * or packets run, nothing else gets the hog's CPU: ksoftirqd waits, and the device's line follows.
 *
 * Each line that it prints begins with a word: "played" with the facts, "answer" with the text of
 * explain, "json" with its object, "failed" with a reason. It then powers the guest off.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The recorder and everything else have CPU 0. */
#define HOGGED 1
#define HOG_SECONDS 6
#define QUIET_SECONDS 20
#define AFTER_SECONDS 4
#define PRIORITY 50
#define STORE "/store"

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...)
{
	va_list values;

	va_start(values, format);
	vprintf(format, values);
	va_end(values);
	putchar('\n');
	fflush(stdout);
}

static void power_off(void)
{
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

static void must(int64_t result, const char *what)
{
	if (result >= 0)
		return;
	say("failed %s: %m", what);
	power_off();
}

static double now_s(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void sleep_s(double seconds)
{
	struct timespec time = { (time_t)seconds,
				 (long)((seconds - (double)(time_t)seconds) * 1e9) };

	while (nanosleep(&time, &time) < 0)
		;
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	must(fd, path);
	must(write(fd, text, strlen(text)), path);
	close(fd);
}

static void mount_at(const char *type, const char *path)
{
	mkdir(path, 0755);
	must(mount(type, path, type, 0, NULL), path);
}

static void set_up(void)
{
	struct ifreq loopback = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	mount_at("devtmpfs", "/dev");
	mount_at("proc", "/proc");
	mount_at("sysfs", "/sys");
	mount_at("tracefs", "/sys/kernel/tracing");
	mount_at("tmpfs", "/tmp");
	mount_at("tmpfs", "/run");
	must(fd, "socket");
	must(ioctl(fd, SIOCSIFFLAGS, &loopback), "lo");
	close(fd);
	write_file("/proc/sys/kernel/sched_rt_runtime_us", "-1");
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	must(sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
}

static pid_t start(const char *name, int cpu, void (*body)(void))
{
	pid_t pid = fork();

	must(pid, "fork");
	if (pid)
		return pid;
	setpgid(0, 0);
	pin(cpu);
	prctl(PR_SET_NAME, name);
	body();
	_exit(0);
}

static pid_t run(const char *const words[], int output)
{
	pid_t pid = fork();

	must(pid, "fork");
	if (pid)
		return pid;
	pin(0);
	if (output >= 0)
		dup2(output, STDOUT_FILENO);
	execv(words[0], (char *const *)words);
	_exit(127);
}

static void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void log_line(const char *format, ...)
{
	char text[256];
	va_list values;
	int size, fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

	must(fd, "/dev/kmsg");
	va_start(values, format);
	size = vsnprintf(text, sizeof(text) - 1, format, values);
	va_end(values);
	/* without its end, the kernel would keep the line to itself until the next one */
	text[size++] = '\n';
	must(write(fd, text, size), "/dev/kmsg");
	close(fd);
}

/* Works for a moment, and sleeps for a moment, like a thread that serves requests. */
static void serve(void)
{
	for (;;) {
		double until = now_s(CLOCK_MONOTONIC) + 0.002;

		while (now_s(CLOCK_MONOTONIC) < until)
			;
		sleep_s(0.02);
	}
}

/* Sends to itself. The packets that TCP answers in a softirq keep ksoftirqd of this CPU at work. */
static void stream(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof(at);
	static char data[1 << 16];

	must(bind(server, (struct sockaddr *)&at, sizeof(at)), "bind");
	must(listen(server, 1), "listen");
	must(getsockname(server, (struct sockaddr *)&at, &size), "getsockname");
	must(connect(client, (struct sockaddr *)&at, sizeof(at)), "connect");
	server = accept(server, NULL, NULL);
	must(server, "accept");
	if (fork() == 0)
		while (read(server, data, sizeof(data)) > 0)
			;
	while (write(client, data, sizeof(data)) > 0)
		;
}

/* Finds a thread of the kernel by its name. Returns 0 if there is none. */
static pid_t thread_of_kernel(const char *name)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	char path[300], comm[64];
	pid_t found = 0;

	while (!found && proc && (entry = readdir(proc))) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		file = atoi(entry->d_name) > 0 ? fopen(path, "re") : NULL;
		if (file && fgets(comm, sizeof(comm), file) && strlen(comm) > 1 &&
		    strncmp(comm, name, strlen(comm) - 1) == 0)
			found = atoi(entry->d_name);
		if (file)
			fclose(file);
	}
	if (proc)
		closedir(proc);
	return found;
}

static bool is_runnable(pid_t pid)
{
	char path[64], text[256] = "";
	const char *end;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
		*text = 0;
	close(fd);
	end = strrchr(text, ')');
	return end && end[1] == ' ' && end[2] == 'R';
}

/*
 * Begins when ksoftirqd has been woken and did not run yet. From then on the kernel leaves all
 * softirqs of this CPU to it, so that they starve with it.
 */
static void hog(void)
{
	const struct sched_param param = { .sched_priority = PRIORITY };
	double until, give_up = now_s(CLOCK_MONOTONIC) + 5;
	pid_t softirqs = thread_of_kernel("ksoftirqd/1");
	volatile uint64_t sum = 0;

	must(sched_setscheduler(0, SCHED_FIFO, &param), "sched_setscheduler");
	while (!is_runnable(softirqs) && now_s(CLOCK_MONOTONIC) < give_up)
		sleep_s(0.001);
	until = now_s(CLOCK_MONOTONIC) + HOG_SECONDS;
	while (now_s(CLOCK_MONOTONIC) < until)
		for (int i = 0; i < 10000; i++)
			sum += i;
}

/* Waits until a command of perftape prints a text about the store. */
static void wait_for(const char *command, const char *text)
{
	const char *const words[] = {
		"/perftape", command, "-q", "--json", "--store", STORE, NULL
	};

	for (int tries = 0; tries < 300; tries++) {
		char answer[1 << 16] = "";
		int pipes[2], size = 0, more;
		pid_t pid;

		must(pipe(pipes), "pipe");
		pid = run(words, pipes[1]);
		close(pipes[1]);
		while ((more = read(pipes[0], answer + size, sizeof(answer) - 1 - size)) > 0)
			size += more;
		close(pipes[0]);
		waitpid(pid, NULL, 0);
		if (strstr(answer, text))
			return;
		sleep_s(0.2);
	}
	say("failed %s never has %s", command, text);
	power_off();
}

static void tell(const char *word, const char *const command[])
{
	int pipes[2];
	pid_t pid;
	FILE *text;
	char *line = NULL;
	size_t size = 0;

	must(pipe(pipes), "pipe");
	pid = run(command, pipes[1]);
	close(pipes[1]);
	text = fdopen(pipes[0], "r");
	while (text && getline(&line, &size, text) > 0) {
		line[strcspn(line, "\n")] = 0;
		say("%s %s", word, line);
	}
	free(line);
	fclose(text);
	waitpid(pid, NULL, 0);
}

static void play(void)
{
	pid_t victim, streamer, culprit;
	double begin, end;

	victim = start("victim", HOGGED, serve);
	streamer = start("streamer", HOGGED, stream);
	sleep_s(2);
	/* the recorder then reads how long this thread waits */
	log_line("<3>INFO: task victim:%d blocked for more than 120 seconds.", victim);
	wait_for("incidents", "task victim");
	sleep_s(QUIET_SECONDS);
	begin = now_s(CLOCK_REALTIME);
	culprit = start("hog", HOGGED, hog);
	waitpid(culprit, NULL, 0);
	kill(-streamer, SIGKILL);
	end = now_s(CLOCK_REALTIME);
	log_line("<3>ena 0000:00:05.0 eth0: TX q 1 is paused for too long (threshold 5000000). "
		 "Time since last napi %d usec. napi scheduled: 1",
		 HOG_SECONDS * 1000000);
	say("played {\"victim\": %d, \"begin\": %.3f, \"end\": %.3f}", victim, begin, end);
	wait_for("incidents", "TX q 1 is paused");
	/* the victims' waits show in the readings after their ends */
	sleep_s(AFTER_SECONDS);
}

int main(void)
{
	const char *const record[] = { "/perftape", "record", "-q", "--trust-user-kmsg",
				       "--store",   STORE,    NULL };
	const char *const words[] = { "/perftape",    "explain", "-q",	"--incident",
				      "ena.tx_stall", "--store", STORE, NULL };
	const char *const object[] = { "/perftape",  "explain",	     "-q",
				       "--incident", "ena.tx_stall", "--store",
				       STORE,	     "--json",	     NULL };
	pid_t recorder;

	set_up();
	recorder = run(record, -1);
	wait_for("status", "\"reaches\":\"");
	play();
	kill(recorder, SIGINT);
	waitpid(recorder, NULL, 0);
	tell("answer", words);
	tell("json", object);
	power_off();
}
