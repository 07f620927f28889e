// SPDX-License-Identifier: GPL-2.0-only
/*
 * Patterns of places and times. Each is compared with moments that are drawn from the recorded
 * time: without a pattern, incidents are equally likely at each of them.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "query/common/common-internal.h"

#define DRAWS 999
/* Fewer incidents, or intervals, show no pattern. */
#define CASES_LEAST 4
#define DAY_S 86400.0
/* The recording must cover all hours of the day about equally. */
#define DAYS_LEAST 2
/* The fullest hours: this number of them. */
#define HOURS 4
/* The CPUs of a host, if they are not known. */
#define CPUS_UNKNOWN 2

/* A moment on a host. */
struct patterns_moment {
	uint32_t host;
	uint64_t at_ns;
	double uptime_s;
};

struct patterns {
	struct common_run *run;
	size_t count;
	/* the incidents, and as many drawn moments */
	struct patterns_moment *cases, *drawn;
	uint64_t state;
	double *scratch;
	/* for each case, its first window */
	size_t *firsts;
};

static double patterns_random(struct patterns *patterns)
{
	return (double)(hash_u64(++patterns->state) >> 11) / (double)(1ull << 53);
}

/* Draws a moment of a host's recorded time. */
static struct patterns_moment patterns_draw_on(struct patterns *patterns, uint32_t number)
{
	const struct common_host *host = &patterns->run->hosts.items[number];
	uint64_t drawn_ns = patterns_random(patterns) * host->recorded_ns;
	size_t low = 0, high = host->segments.count;
	const struct common_segment *segment;
	uint64_t at_ns;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (host->segments.items[middle].before_ns <= drawn_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return (struct patterns_moment){ number, 0, 0 };
	segment = &host->segments.items[low - 1];
	at_ns = segment->about.begin_ns + drawn_ns - segment->before_ns;
	return (struct patterns_moment){ number, at_ns, common_hosts_uptime_s(segment, at_ns) };
}

/* Draws a host, by its recorded time. */
static uint32_t patterns_draw_host(struct patterns *patterns)
{
	const struct common_run *run = patterns->run;
	double all = 0, left;

	for (size_t i = 0; i < run->hosts.count; i++)
		all += run->hosts.items[i].recorded_ns;
	left = patterns_random(patterns) * all;
	for (size_t i = 0; i < run->hosts.count; i++) {
		left -= run->hosts.items[i].recorded_ns;
		if (left < 0)
			return i;
	}
	return run->hosts.count - 1;
}

static void patterns_draw_times(struct patterns *patterns)
{
	for (size_t i = 0; i < patterns->count; i++)
		patterns->drawn[i] = patterns_draw_on(patterns, patterns->cases[i].host);
}

/* Returns the part of the draws that are at least as unusual, for all patterns that are tried. */
static double patterns_p(unsigned int as_much)
{
	return MIN(COMMON_PATTERNS * (1.0 + as_much) / (1 + DRAWS), 1.0);
}

/* The incidents that have a number, such as a CPU. */
struct patterns_numbers {
	/* for each its number, and its set */
	uint64_t *numbers;
	size_t *sets;
	unsigned int count;
	/* equally likely numbers */
	uint64_t values;
	/* controls have numbers, too: their full CPUs */
	bool of_cpus;
};

static void patterns_numbers_done(struct patterns_numbers *numbers)
{
	free(numbers->numbers);
	free(numbers->sets);
}

/*
 * Draws a number. If a control of the incident has a full CPU, an innocent job may be the reason
 * for the CPU of the incident, too.
 */
static double patterns_draw_number(struct patterns *patterns,
				   const struct patterns_numbers *numbers, unsigned int of)
{
	const struct common_run *run = patterns->run;
	size_t first = patterns->firsts[numbers->sets[of]];
	size_t count = patterns->firsts[numbers->sets[of] + 1] - first;

	if (numbers->of_cpus && count > 1) {
		const struct common_window *control =
			&run->windows.items[first + 1 +
					    (size_t)(patterns_random(patterns) * (count - 1))];

		if (control->read && control->full_cpu != NO_CPU)
			return control->full_cpu;
	}
	return floor(patterns_random(patterns) * numbers->values);
}

/* Counts the draws in which the most frequent number is at least as frequent. */
static unsigned int patterns_as_frequent(struct patterns *patterns,
					 const struct patterns_numbers *numbers, unsigned int most)
{
	unsigned int as_much = 0;

	for (unsigned int draw = 0; draw < DRAWS; draw++) {
		unsigned int highest = 0;

		for (unsigned int i = 0; i < numbers->count; i++) {
			unsigned int same = 1;

			patterns->scratch[i] = patterns_draw_number(patterns, numbers, i);
			for (unsigned int j = 0; j < i; j++)
				same += patterns->scratch[j] == patterns->scratch[i];
			highest = MAX(highest, same);
		}
		as_much += highest >= most;
	}
	return as_much;
}

/* Tests whether one number has most of the incidents that have a number. */
static void patterns_number(struct patterns *patterns, enum common_pattern_kind kind,
			    const struct patterns_numbers *numbers)
{
	struct common_pattern *pattern = &patterns->run->answer->patterns[kind];

	for (unsigned int i = 0; i < numbers->count; i++) {
		unsigned int same = 0;

		for (unsigned int j = 0; j < numbers->count; j++)
			same += numbers->numbers[j] == numbers->numbers[i];
		if (same <= pattern->cases)
			continue;
		pattern->cases = same;
		pattern->number = numbers->numbers[i];
	}
	pattern->of = numbers->count;
	pattern->tested = numbers->count >= CASES_LEAST && numbers->values > 1;
	if (pattern->tested)
		pattern->p = patterns_p(patterns_as_frequent(patterns, numbers, pattern->cases));
}

static uint64_t patterns_cpus(const struct patterns *patterns, uint64_t highest)
{
	const struct common_run *run = patterns->run;
	uint64_t cpus = MAX(highest + 1, (uint64_t)CPUS_UNKNOWN);

	/* rows exist for each CPU that did something in some window */
	for (uint32_t key = 1; key < strings_count(&run->keys); key++) {
		const char *text = strings_at(&run->keys, key);

		if (*text == 'c')
			cpus = MAX(cpus, strtoull(text + 1, NULL, 10) + 1);
	}
	return cpus;
}

/* Lists the full CPUs, or the queues, of the incidents. */
static int patterns_list(const struct patterns *patterns, struct patterns_numbers *numbers)
{
	const struct common_answer *answer = patterns->run->answer;
	uint64_t highest = 0;

	numbers->numbers = calloc(answer->cases.count + 1, sizeof(*numbers->numbers));
	numbers->sets = calloc(answer->cases.count + 1, sizeof(*numbers->sets));
	if (!numbers->numbers || !numbers->sets)
		return -ENOMEM;
	for (size_t i = 0; i < answer->cases.count; i++) {
		const struct common_case *of = &answer->cases.items[i];
		uint64_t number = numbers->of_cpus ? of->full_cpu : of->queue;

		if (numbers->of_cpus ? !of->read || of->full_cpu == NO_CPU : !of->has_queue)
			continue;
		highest = MAX(highest, number);
		numbers->sets[numbers->count] = i;
		numbers->numbers[numbers->count++] = number;
	}
	numbers->values = numbers->of_cpus ? patterns_cpus(patterns, highest) : highest + 1;
	return 0;
}

static int patterns_find_numbers(struct patterns *patterns, enum common_pattern_kind kind)
{
	_cleanup_(patterns_numbers_done) struct patterns_numbers numbers = {
		.of_cpus = kind == COMMON_OF_CPU
	};
	int r = patterns_list(patterns, &numbers);

	if (r < 0)
		return r;
	patterns_number(patterns, kind, &numbers);
	return 0;
}

/* Sets the first window of each case, and the end of the last one. */
static void patterns_index(struct patterns *patterns)
{
	const struct common_run *run = patterns->run;
	size_t at = 0;

	for (size_t set = 0; set <= run->answer->cases.count; set++) {
		while (at < run->windows.count && run->windows.items[at].set < set)
			at++;
		patterns->firsts[set] = at;
	}
}

/*
 * Returns by how many standard deviations a host has more incidents than its recorded time
 * predicts; the most of all hosts.
 */
static double patterns_host_score(const struct patterns *patterns, const double *expected,
				  const unsigned int *counts, size_t *ret_host)
{
	double most = 0;

	for (size_t i = 0; i < patterns->run->hosts.count; i++) {
		double score = expected[i] > 0 ? (counts[i] - expected[i]) / sqrt(expected[i]) : 0;

		if (score <= most)
			continue;
		most = score;
		*ret_host = i;
	}
	return most;
}

static int patterns_host(struct patterns *patterns)
{
	const struct common_run *run = patterns->run;
	struct common_pattern *pattern = &run->answer->patterns[COMMON_OF_HOST];
	size_t hosts = run->hosts.count, most = 0, other;
	_cleanup_free_ double *expected = calloc(hosts + 1, sizeof(*expected));
	_cleanup_free_ unsigned int *counts = calloc(hosts + 1, sizeof(*counts));
	unsigned int as_much = 0;
	double score, all = 0;

	if (!expected || !counts)
		return -ENOMEM;
	for (size_t i = 0; i < hosts; i++)
		all += run->hosts.items[i].recorded_ns;
	for (size_t i = 0; i < hosts && all > 0; i++)
		expected[i] = patterns->count * run->hosts.items[i].recorded_ns / all;
	for (size_t i = 0; i < patterns->count; i++)
		counts[patterns->cases[i].host]++;
	score = patterns_host_score(patterns, expected, counts, &most);
	pattern->cases = counts[most];
	pattern->of = patterns->count;
	pattern->name = hosts ? run->hosts.items[most].name : 0;
	pattern->tested = hosts > 1 && patterns->count >= CASES_LEAST;
	for (unsigned int draw = 0; pattern->tested && draw < DRAWS; draw++) {
		memset(counts, 0, hosts * sizeof(*counts));
		for (size_t i = 0; i < patterns->count; i++)
			counts[patterns_draw_host(patterns)]++;
		as_much += patterns_host_score(patterns, expected, counts, &other) >= score - 1e-9;
	}
	pattern->p = patterns_p(as_much);
	return 0;
}

/* Returns the most moments within the fullest hours of the day. */
static unsigned int patterns_fullest(const struct patterns_moment *moments, size_t count,
				     uint64_t *ret_hour)
{
	unsigned int hours[24] = { 0 }, most = 0;

	for (size_t i = 0; i < count; i++)
		hours[moments[i].at_ns / NSEC_PER_SEC / 3600 % 24]++;
	for (unsigned int hour = 0; hour < 24; hour++) {
		unsigned int sum = 0;

		for (unsigned int i = 0; i < HOURS; i++)
			sum += hours[(hour + i) % 24];
		if (sum <= most)
			continue;
		most = sum;
		*ret_hour = hour;
	}
	return most;
}

static void patterns_hour(struct patterns *patterns)
{
	struct common_answer *answer = patterns->run->answer;
	struct common_pattern *pattern = &answer->patterns[COMMON_OF_HOUR];
	unsigned int as_much = 0;
	uint64_t other;

	pattern->of = patterns->count;
	pattern->cases = patterns_fullest(patterns->cases, patterns->count, &pattern->number);
	pattern->tested = patterns->count >= CASES_LEAST &&
			  answer->to_ns - answer->from_ns >= DAYS_LEAST * DAY_S * NSEC_PER_SEC;
	for (unsigned int draw = 0; pattern->tested && draw < DRAWS; draw++) {
		patterns_draw_times(patterns);
		as_much += patterns_fullest(patterns->drawn, patterns->count, &other) >=
			   pattern->cases;
	}
	pattern->p = patterns_p(as_much);
}

static int patterns_compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* Sorts numbers, and sets their median and quartiles. */
static void patterns_quartiles(double *values, size_t count, double *low, double *middle,
			       double *high)
{
	qsort(values, count, sizeof(*values), patterns_compare);
	*low = values[count / 4];
	*middle = values[count / 2];
	*high = values[count - 1 - count / 4];
}

/* Returns how much the logarithms of numbers scatter between their quartiles. */
static double patterns_scatter(double *values, size_t count)
{
	double low, middle, high;

	patterns_quartiles(values, count, &low, &middle, &high);
	return log((high + 1) / (low + 1));
}

static size_t patterns_uptimes(struct patterns *patterns, const struct patterns_moment *moments)
{
	for (size_t i = 0; i < patterns->count; i++)
		patterns->scratch[i] = moments[i].uptime_s;
	return patterns->count;
}

/* Do incidents come at similar uptimes? */
static void patterns_uptime(struct patterns *patterns)
{
	struct common_pattern *pattern = &patterns->run->answer->patterns[COMMON_OF_UPTIME];
	unsigned int as_much = 0;
	double scatter;

	pattern->of = patterns->count;
	pattern->cases = patterns->count;
	pattern->tested = patterns->count >= CASES_LEAST;
	if (!pattern->tested)
		return;
	scatter = patterns_scatter(patterns->scratch, patterns_uptimes(patterns, patterns->cases));
	patterns_quartiles(patterns->scratch, patterns->count, &pattern->low, &pattern->middle,
			   &pattern->high);
	for (unsigned int draw = 0; draw < DRAWS; draw++) {
		patterns_draw_times(patterns);
		patterns_uptimes(patterns, patterns->drawn);
		as_much += patterns_scatter(patterns->scratch, patterns->count) <= scatter;
	}
	pattern->p = patterns_p(as_much);
}

static int patterns_compare_moments(const void *a, const void *b)
{
	const struct patterns_moment *left = a, *right = b;

	if (left->host != right->host)
		return left->host < right->host ? -1 : 1;
	return (left->at_ns > right->at_ns) - (left->at_ns < right->at_ns);
}

/* Sorts moments, and lists the intervals between those of one host. Returns their number. */
static size_t patterns_intervals(struct patterns *patterns, struct patterns_moment *moments)
{
	size_t count = 0;

	qsort(moments, patterns->count, sizeof(*moments), patterns_compare_moments);
	for (size_t i = 1; i < patterns->count; i++)
		if (moments[i].host == moments[i - 1].host)
			patterns->scratch[count++] =
				(double)(moments[i].at_ns - moments[i - 1].at_ns) / NSEC_PER_SEC;
	return count;
}

/* Do incidents follow each other at similar intervals? */
static void patterns_interval(struct patterns *patterns)
{
	struct common_pattern *pattern = &patterns->run->answer->patterns[COMMON_OF_INTERVAL];
	size_t count = patterns_intervals(patterns, patterns->cases);
	unsigned int as_much = 0;
	double scatter;

	pattern->of = pattern->cases = count;
	pattern->tested = count >= CASES_LEAST;
	if (!pattern->tested)
		return;
	scatter = patterns_scatter(patterns->scratch, count);
	patterns_quartiles(patterns->scratch, count, &pattern->low, &pattern->middle,
			   &pattern->high);
	for (unsigned int draw = 0; draw < DRAWS; draw++) {
		patterns_draw_times(patterns);
		count = patterns_intervals(patterns, patterns->drawn);
		as_much += patterns_scatter(patterns->scratch, count) <= scatter;
	}
	pattern->p = patterns_p(as_much);
}

static void patterns_done(struct patterns *patterns)
{
	free(patterns->cases);
	free(patterns->drawn);
	free(patterns->scratch);
	free(patterns->firsts);
}

int common_patterns_find(struct common_run *run)
{
	size_t most = run->answer->cases.count;
	_cleanup_(patterns_done) struct patterns patterns = {
		.run = run,
		.cases = calloc(most + 1, sizeof(*patterns.cases)),
		.drawn = calloc(most + 1, sizeof(*patterns.drawn)),
		.scratch = calloc(most + 1, sizeof(*patterns.scratch)),
		.firsts = calloc(most + 2, sizeof(*patterns.firsts)),
	};
	int r;

	if (!patterns.cases || !patterns.drawn || !patterns.scratch || !patterns.firsts)
		return -ENOMEM;
	patterns_index(&patterns);
	for (size_t i = 0; i < most; i++) {
		const struct common_case *of = &run->answer->cases.items[i];

		if (common_hosts_at(&run->hosts.items[of->host], of->stall_to_ns - 1))
			patterns.cases[patterns.count++] =
				(struct patterns_moment){ of->host, of->stall_to_ns, of->uptime_s };
	}
	if (!patterns.count)
		return 0;
	r = patterns_host(&patterns);
	if (r < 0)
		return r;
	r = patterns_find_numbers(&patterns, COMMON_OF_CPU);
	if (r < 0)
		return r;
	r = patterns_find_numbers(&patterns, COMMON_OF_QUEUE);
	if (r < 0)
		return r;
	patterns_hour(&patterns);
	patterns_uptime(&patterns);
	patterns_interval(&patterns);
	return 0;
}
