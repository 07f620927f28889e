// SPDX-License-Identifier: GPL-2.0-only
/* Sums by name, and the sum of two tallies. test-top.c checks what tapes add to a tally. */
#include "tests/check.h"

#include "query/sums/tally.h"

static uint32_t name_of(struct tally *tally, const char *name)
{
	uint32_t id;

	CHECK_EQ(tally_name(tally, name, strlen(name), &id), 0);
	return id;
}

static uint32_t add(struct tally_rows *rows, uint32_t a, uint32_t b, uint32_t c, uint64_t ns)
{
	uint32_t number;

	CHECK_EQ(tally_rows_add(rows, &(struct tally_row){ a, b, c, ns }, &number), 0);
	return number;
}

static void test_rows(void)
{
	_cleanup_(cleanup_tally) struct tally *tally = NULL;

	CHECK_EQ(tally_new(&tally), 0);
	CHECK_EQ(name_of(tally, "a"), 1);
	CHECK_EQ(name_of(tally, "b"), 2);
	CHECK_EQ(name_of(tally, "a"), 1);
	CHECK_EQ(tally->functions.count, 3);
	CHECK_EQ(tally->groups.count, 3);
	CHECK_EQ(tally_cpu(tally, 7), 0);
	CHECK_EQ(tally_cpu(tally, 3), 0);
	CHECK_EQ(tally->cpus.count, 8);
	CHECK_EQ(add(&tally->spots, 1, 2, 0, 10), 0);
	CHECK_EQ(add(&tally->spots, 2, 1, 0, 5), 1);
	CHECK_EQ(add(&tally->spots, 1, 2, 0, 7), 0);
	CHECK_EQ(tally->spots.list.items[0].ns, 17);
}

/*
 * Adds a thread of a group on a CPU, in a function. `before` names are added first, so that the
 * numbers of names differ.
 */
static struct tally *tally_of(const char *before, const char *group, uint32_t tid, uint64_t ns)
{
	struct tally *tally;
	uint32_t group_id, function;

	CHECK_EQ(tally_new(&tally), 0);
	name_of(tally, before);
	group_id = name_of(tally, group);
	function = name_of(tally, "work");
	tally->functions.items[function].self_ns = ns;
	tally->functions.items[function].total_ns = ns;
	tally->functions.items[function].kernel = tid == 2;
	tally->groups.items[group_id].ns[STACK_CLASS_USER] = ns;
	CHECK_EQ(tally_cpu(tally, tid), 0);
	tally->cpus.items[tid].ns[STACK_CLASS_USER] = ns;
	tally->functions.items[function].led_ns = ns / 2;
	CHECK_EQ(tally_add_thread(tally, &(struct tally_row){ 1, tid, group_id, ns },
				  &(struct tally_place){ tid + 6, ns }),
		 0);
	add(&tally->shares, tid, group_id, 0, ns);
	add(&tally->spots, tid, group_id, function, ns);
	tally->samples = ns;
	tally->sample_ns = tid;
	tally->host_cpus = tid;
	return tally;
}

static void test_merge(void)
{
	_cleanup_(cleanup_tally) struct tally *ours = tally_of("x", "kubelet", 1, 10);
	_cleanup_(cleanup_tally) struct tally *theirs = tally_of("kubelet", "ray", 2, 5);
	_cleanup_(cleanup_tally) struct tally *same = tally_of("y", "kubelet", 1, 100);
	uint32_t work, kubelet, ray;

	CHECK_EQ(tally_merge(ours, theirs), 0);
	CHECK_EQ(tally_merge(ours, same), 0);
	work = strings_find(&ours->names, "work", 4);
	kubelet = strings_find(&ours->names, "kubelet", 7);
	ray = strings_find(&ours->names, "ray", 3);
	CHECK_EQ(ours->functions.items[work].self_ns, 115);
	CHECK_EQ(ours->functions.items[work].total_ns, 115);
	CHECK(ours->functions.items[work].kernel);
	CHECK_EQ(ours->groups.items[kubelet].ns[STACK_CLASS_USER], 110);
	CHECK_EQ(ours->groups.items[ray].ns[STACK_CLASS_USER], 5);
	CHECK_EQ(ours->cpus.items[1].ns[STACK_CLASS_USER], 110);
	CHECK_EQ(ours->cpus.items[2].ns[STACK_CLASS_USER], 5);
	CHECK_EQ(ours->threads.list.count, 2);
	CHECK_EQ(ours->threads.list.items[0].ns, 110);
	CHECK_EQ(ours->threads.list.items[1].c, ray);
	CHECK_EQ(ours->places.count, 2);
	CHECK_EQ(ours->places.items[0].cpu, 7);
	CHECK_EQ(ours->places.items[0].ns, 100);
	CHECK_EQ(ours->places.items[1].cpu, 8);
	CHECK_EQ(ours->shares.list.count, 2);
	CHECK_EQ(ours->shares.list.items[0].ns, 110);
	CHECK_EQ(ours->spots.list.count, 2);
	CHECK_EQ(ours->spots.list.items[0].ns, 110);
	CHECK_EQ(ours->spots.list.items[1].b, ray);
	CHECK_EQ(ours->spots.list.items[1].c, work);
	CHECK_EQ(ours->functions.items[work].led_ns, 57);
	CHECK_EQ(ours->samples, 115);
	CHECK_EQ(ours->sample_ns, 2);
	CHECK_EQ(ours->host_cpus, 2);
}

CHECK_MAIN({ "rows have their sums", test_rows }, { "two tallies add up", test_merge })
