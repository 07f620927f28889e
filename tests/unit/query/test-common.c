// SPDX-License-Identifier: GPL-2.0-only
/*
 * Plants causes in the incidents of ten hosts, and asks what the incidents share. Without
 * arguments, one seed; `bench/explain --all` runs `test-common FIRST LAST [SITUATION]` and prints
 * how often the cause came first, and how often an answer claimed one without a cause.
 */
#include <stdlib.h>

#include "query/common/common.h"
#include "tests/shared-stores.h"

static const struct filter everything;
static bool is_verbose;

/* The study of one seed. */
struct study {
	struct shared_stores shared;
	struct common_store stores[SHARED_HOSTS];
	struct common_answer answer;
};

static void study_add_cases(struct study *study)
{
	int ids[SHARED_HOSTS] = { 0 };

	for (size_t i = 0; i < SHARED_CASES; i++) {
		const struct shared_incident *incident = &study->shared.incidents[i];
		uint64_t at_ns = TAPES_REALTIME + incident->at_ns;
		struct common_case added = { .store = incident->host,
					     .id = ++ids[incident->host],
					     .stall_from_ns = at_ns - SHARED_STALL_NS,
					     .stall_to_ns = at_ns };

		CHECK_EQ(strings_add(&study->answer.names, "ena.tx_stall", 12, &added.kind), 0);
		CHECK_EQ(array_push(&study->answer.cases, added), 0);
	}
}

static void study_make(struct study *study, enum shared kind, uint64_t seed)
{
	struct common_options options = {
		.stores = study->stores,
		.store_count = SHARED_HOSTS,
		.question = { .filter = &everything },
		.limit_ns = 60 * NSEC_PER_SEC,
		.threads = 1,
	};
	struct error error = { 0 };

	*study = (struct study){ 0 };
	shared_init(&study->shared, kind, seed);
	shared_make(&study->shared);
	for (unsigned int host = 0; host < SHARED_HOSTS; host++) {
		study->stores[host].path = study->shared.stores[host].path;
		CHECK_EQ(store_reader_open(study->stores[host].path, &study->stores[host].reader,
					   &error),
			 0);
	}
	study_add_cases(study);
	if (common_run(&options, &study->answer, &error) < 0)
		CHECK_FAIL("%s", error.text);
}

static void study_done(struct study *study)
{
	common_done(&study->answer);
	for (unsigned int host = 0; host < SHARED_HOSTS; host++)
		store_reader_close(study->stores[host].reader);
	shared_done(&study->shared);
}

/* Returns whether a row is a part of what was planted. */
static bool row_is(const struct study *study, const struct common_row *row,
		   const char *const *names)
{
	const char *name = common_name(&study->answer, row->name);

	for (; *names; names++)
		if (strstr(name, *names))
			return true;
	return false;
}

static const char *const kubelet[] = { "kubelet", "mem_cgroup_nr_lru_pages", "memcg_stat_show",
				       NULL };
static const char *const java[] = { "java", "try_to_free_pages", "shrink_lruvec",
				    "__alloc_pages_slowpath", NULL };
static const char *const gauge[] = { "memory_cgroups/dying", NULL };

/* Returns whether the cause comes first, and without a cause, whether nothing is claimed. */
static bool study_is_right(const struct study *study)
{
	const struct common_answer *answer = &study->answer;
	const struct common_row *first = &answer->traits[0].lead;
	const struct common_row *second = &answer->traits[1].lead;

	switch (study->shared.kind) {
	case SHARED_NONE:
		for (int i = 0; i < COMMON_PATTERNS; i++)
			if (common_pattern_stands(&answer->patterns[i]))
				return false;
		return !answer->trait_count;
	case SHARED_TWO:
		return answer->trait_count >= 2 &&
		       ((row_is(study, first, kubelet) && row_is(study, second, java)) ||
			(row_is(study, first, java) && row_is(study, second, kubelet)));
	case SHARED_GAUGE:
		return answer->trait_count && row_is(study, first, gauge);
	default:
		return answer->trait_count && row_is(study, first, kubelet);
	}
}

static void report_row(const struct study *study, const struct common_row *row)
{
	printf("#   %s %s: %u, controls %u, level %g, %g usually %g, score %.1f, p %.3f\n",
	       common_kind_name(row->kind), common_name(&study->answer, row->name), row->cases,
	       row->controls, row->level, row->now, row->usual, row->score, row->p);
}

static void report(const struct study *study, uint64_t seed)
{
	const struct common_answer *answer = &study->answer;

	printf("# %s, seed %llu: %u of %zu, %u controls, %u rows, lowest p %.3f, apart %.1f h, "
	       "%.3f\n",
	       shared_names[study->shared.kind], (unsigned long long)seed, answer->compared,
	       answer->cases.count, answer->controls, answer->rows, answer->lowest_p,
	       answer->time_of_day_ns / 3600e9, answer->load_apart);
	if (is_verbose)
		printf("#  load of the first incident: %.3f\n", answer->cases.items[0].load);
	for (size_t i = 0; i < answer->trait_count; i++) {
		const struct common_trait *trait = &answer->traits[i];

		printf("#  trait of %u and %u\n", trait->of_cases, trait->of_controls);
		report_row(study, &trait->lead);
		for (size_t j = 0; is_verbose && j < trait->companion_count; j++)
			report_row(study, &trait->companions[j]);
	}
	for (int i = 0; i < COMMON_PATTERNS; i++)
		if (common_pattern_stands(&answer->patterns[i]))
			printf("#  %s: %u of %u, p %.3f\n", common_pattern_name(i),
			       answer->patterns[i].cases, answer->patterns[i].of,
			       answer->patterns[i].p);
	for (size_t i = 0; is_verbose && i < answer->sign_count; i++)
		printf("#  sign %s: level %g, %u of %u, %u of %u, %.1f s before\n",
		       common_name(answer, answer->signs[i].gauge), answer->signs[i].level,
		       answer->signs[i].cases, answer->signs[i].of_cases, answer->signs[i].controls,
		       answer->signs[i].of_controls, answer->signs[i].before_ns / 1e9);
}

static bool try_seed(enum shared kind, uint64_t seed)
{
	struct study study;
	bool right;

	study_make(&study, kind, seed);
	right = study_is_right(&study);
	if (!right || is_verbose)
		report(&study, seed);
	study_done(&study);
	return right;
}

static void test_causes(void)
{
	static const enum shared kinds[] = { SHARED_TWO, SHARED_LOAD };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!try_seed(kinds[i], 3))
			CHECK_FAIL("%s: the cause does not come first", shared_names[kinds[i]]);
}

/*
 * One seed in 20 may make a wrong claim; this seed does not. bench/explain counts the wrong claims.
 */
static void test_no_cause(void)
{
	CHECK(try_seed(SHARED_NONE, 3));
}

/* The gauge warns long before the incidents, and each incident names its own explanation. */
static void test_sign(void)
{
	const struct common_answer *answer;
	const struct common_sign *sign;
	struct study study;

	study_make(&study, SHARED_GAUGE, 3);
	answer = &study.answer;
	CHECK(study_is_right(&study));
	CHECK_EQ(answer->trait_count, 1);
	CHECK(answer->sign_count >= 1);
	sign = &answer->signs[0];
	CHECK_STR(common_name(answer, sign->gauge), "memory_cgroups/dying");
	CHECK(sign->before_ns > 24 * SHARED_HOUR_NS);
	CHECK(sign->before_ns < 48 * SHARED_HOUR_NS);
	CHECK(sign->cases >= 27);
	CHECK(sign->vain < 0.05);
	for (size_t i = 0; i < answer->cases.count; i++) {
		CHECK_EQ(answer->cases.items[i].trait, 1);
		CHECK(answer->cases.items[i].uptime_s > 0);
	}
	study_done(&study);
}

/* The newest incidents are compared, in their order. Some have the same time. */
static void test_newest(void)
{
	struct common_answer answer = { 0 };
	const struct common_case *cases;

	for (size_t i = 0; i < 3 * COMMON_CASES_MOST; i++) {
		struct common_case added = { .store = i % 2,
					     .id = i,
					     .stall_to_ns = i % 2 ? i / 10 : i };

		CHECK_EQ(array_push(&answer.cases, added), 0);
	}
	CHECK_EQ(common_keep_newest(&answer), 0);
	CHECK_EQ(answer.cases.count, COMMON_CASES_MOST);
	CHECK_EQ(answer.older, 2 * COMMON_CASES_MOST);
	cases = answer.cases.items;
	for (size_t i = 0; i < COMMON_CASES_MOST; i++) {
		CHECK_EQ(cases[i].store, 0);
		CHECK_EQ(cases[i].id, COMMON_CASES_MOST + 2 * i);
	}
	for (size_t i = 0; i < COMMON_CASES_MOST; i++)
		answer.cases.items[i].stall_to_ns = 7;
	CHECK_EQ(array_push(&answer.cases, (struct common_case){ .stall_to_ns = 7 }), 0);
	CHECK_EQ(common_keep_newest(&answer), 0);
	CHECK_EQ(answer.cases.count, COMMON_CASES_MOST);
	CHECK_EQ(answer.older, 2 * COMMON_CASES_MOST + 1);
	common_done(&answer);
}

/* Prints the score of many seeds of a situation. */
static void bench(enum shared kind, uint64_t first, uint64_t last)
{
	unsigned int of = last - first + 1, right = 0;

	for (uint64_t seed = first; seed <= last; seed++)
		right += try_seed(kind, seed);
	if (kind == SHARED_NONE)
		printf("%-26s claimed in %u of %u (%.1f %%)\n", shared_names[kind], of - right, of,
		       100.0 * (of - right) / of);
	else
		printf("%-26s the cause first in %u of %u (%.1f %%)\n", shared_names[kind], right,
		       of, 100.0 * right / of);
	fflush(stdout);
}

static const struct check_test tests[] = { { "planted causes come first", test_causes },
					   { "no cause, no claim", test_no_cause },
					   { "a gauge would have warned", test_sign },
					   { "the newest incidents", test_newest } };

int main(int argc, char **argv)
{
	is_verbose = getenv("VERBOSE");
	if (argc >= 3) {
		if (setjmp(check_failed))
			return 1;
		for (int kind = 0; kind < SHARED_KINDS; kind++)
			if (argc == 3 || strcmp(argv[3], shared_names[kind]) == 0)
				bench(kind, strtoull(argv[1], NULL, 10),
				      strtoull(argv[2], NULL, 10));
		return 0;
	}
	return check_run(tests, ARRAY_SIZE(tests));
}
