// SPDX-License-Identifier: GPL-2.0-only
/* The host, event and frequency of a window's segments. */
#include "tests/check.h"

#include "query/coverage/recorded-facts.h"
#include "tests/tapes.h"

static void add(struct recorded_facts *facts, const char *host, const char *event,
		const char *frequency)
{
	struct tape *tape;

	CHECK_EQ(tape_new(&tape), 0);
	if (host)
		CHECK_EQ(tape_add_fact(tape, "host", host), 0);
	if (event)
		CHECK_EQ(tape_add_fact(tape, "event", event), 0);
	if (frequency)
		CHECK_EQ(tape_add_fact(tape, "frequency", frequency), 0);
	recorded_facts_add(facts, tape);
	tape_free(tape);
}

/* The order of the segments does not matter, and the list contains each value once. */
static void test_sorted(void)
{
	static const char *const hosts[] = { "node-2", "node-10", "node", "node-2", "a", "node" };
	struct recorded_facts facts = { 0 }, backwards = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++)
		add(&facts, hosts[i], "cpu-clock", "97");
	for (size_t i = ARRAY_SIZE(hosts); i--;)
		add(&backwards, hosts[i], "cpu-clock", "97");
	CHECK_STR(facts.host, "a, node, node-10, node-2");
	CHECK_STR(backwards.host, facts.host);
	CHECK_STR(facts.event, "cpu-clock");
	CHECK_STR(facts.frequency, "97");
}

static void test_nothing(void)
{
	struct recorded_facts facts = { 0 };

	add(&facts, NULL, NULL, NULL);
	add(&facts, "", NULL, NULL);
	CHECK(!*facts.host && !*facts.event && !*facts.frequency);
}

/*
 * The text goes to terminals, so it contains no control characters, and a comma within a name is
 * replaced.
 */
static void test_hostile(void)
{
	struct recorded_facts facts = { 0 };
	char name[300] = "";

	add(&facts, "a\x1b[31m\nb, c\x7f", NULL, NULL);
	CHECK_STR(facts.host, "a?[31m?b? c?");
	memset(name, 'x', sizeof(name) - 1);
	for (char last = 'a'; last < 'z'; last++) {
		name[100] = last;
		name[101] = 0;
		add(&facts, name, NULL, NULL);
	}
	CHECK_EQ(strlen(facts.host), strlen("a?[31m?b? c?, ") + 2 * 101 + strlen(", , ..."));
	CHECK_STR(facts.host + strlen(facts.host) - 6, "b, ...");
}

CHECK_MAIN({ "lists are sorted", test_sorted }, { "tapes without facts", test_nothing },
	   { "hostile and long names", test_hostile })
