// SPDX-License-Identifier: GPL-2.0-only
/* Which segments retention removes, by numbers alone. */
#include "tests/check.h"

#include "base/clock.h"
#include "store/write/retention-plan.h"

#define NO_LIMITS                                         \
	{                                                 \
		UINT64_MAX, UINT64_MAX, 0, 0, true, false \
	}

/* Ten segments of 100 bytes and a second each, the first one at 1000 s; 50 bytes beside them. */
static void choice_init(struct retention_plan *choice)
{
	*choice = (struct retention_plan){ 0 };
	for (uint64_t i = 0; i < 10; i++)
		CHECK_EQ(array_push(&choice->items,
				    (struct retention_plan_item){
					    .begin_ns = (1000 + i) * NSEC_PER_SEC,
					    .end_ns = (1001 + i) * NSEC_PER_SEC,
					    .length_ns = NSEC_PER_SEC,
					    .bytes = 100,
					    .taken_bytes = 100,
					    .keep = i == 9 }),
			 0);
}

static void choice_done(struct retention_plan *choice)
{
	array_done(&choice->items);
	array_done(&choice->pins);
}

static void pin(struct retention_plan *choice, unsigned int from, unsigned int to,
		uint64_t until_ns)
{
	CHECK_EQ(array_push(&choice->pins,
			    (struct retention_plan_pin){ (1000 + from) * NSEC_PER_SEC,
							 (1000 + to) * NSEC_PER_SEC, until_ns }),
		 0);
}

/* What the store had when the disk became too full, and down to what it may go for that. */
static struct retention_plan_hold hold;
static uint64_t floor_bytes;

/*
 * "a": removed for its age, "b": for bytes, "f": for free space, "h": since others fill the disk,
 * "P": pinned beyond its age, "p": pinned, "s": spared, ".": stays.
 */
static const char *chosen(struct retention_plan *choice, struct store_limits limits, uint64_t now_s,
			  uint64_t free_bytes)
{
	static char text[16];
	struct retention_plan_figures figures = {
		.now_ns = now_s * NSEC_PER_SEC,
		.bytes = 1050,
		.taken_bytes = 1050,
		.free_bytes = free_bytes,
		.room_bytes = 200,
		.hold = hold,
		.floor_bytes = floor_bytes,
	};

	retention_plan_make(choice, &limits, &figures);
	for (size_t i = 0; i < choice->items.count; i++) {
		const struct retention_plan_item *item = &choice->items.items[i];

		text[i] = item->why && strstr(item->why, "older")    ? 'a'
			  : item->why && strstr(item->why, "larger") ? 'b'
			  : item->why && strstr(item->why, "free")   ? 'f'
			  : item->why				     ? 'h'
			  : item->spared			     ? 's'
			  : item->pinned && item->overdue	     ? 'P'
			  : item->pinned			     ? 'p'
								     : '.';
	}
	text[choice->items.count] = 0;
	return text;
}

static void test_choice_by_age(void)
{
	_cleanup_(choice_done) struct retention_plan choice;
	struct store_limits limits = NO_LIMITS;

	choice_init(&choice);
	CHECK_STR(chosen(&choice, limits, 5000, 0), "..........");
	limits.max_age_ns = 3 * NSEC_PER_SEC;
	/* the fourth ends at 1004: it is 3 s old and no older */
	CHECK_STR(chosen(&choice, limits, 1007, 0), "aaa.......");
	CHECK_STR(chosen(&choice, limits, 5000, 0), "aaaaaaaaa.");
	/* the wall clock was set back */
	CHECK_STR(chosen(&choice, limits, 10, 0), "..........");
}

static void test_choice_by_room(void)
{
	_cleanup_(choice_done) struct retention_plan choice;
	struct store_limits limits = NO_LIMITS;

	choice_init(&choice);
	limits.max_bytes = 1050;
	CHECK_STR(chosen(&choice, limits, 2000, 0), "..........");
	limits.max_bytes = 1049;
	CHECK_STR(chosen(&choice, limits, 2000, 0), "b.........");
	limits.max_bytes = 700;
	CHECK_STR(chosen(&choice, limits, 2000, 0), "bbbb......");
	limits.max_bytes = 0;
	CHECK_STR(chosen(&choice, limits, 2000, 0), "bbbbbbbbb.");
	limits.max_bytes = 950;
	limits.keep_free_bytes = 500;
	CHECK_STR(chosen(&choice, limits, 2000, 301), "bf........");
	CHECK_STR(chosen(&choice, limits, 2000, 500), "b.........");
}

/* Free space: what removing cannot bring about costs nothing but the room for what is recorded
 * anew. */
static void test_choice_for_space(void)
{
	_cleanup_(choice_done) struct retention_plan choice;
	struct store_limits limits = NO_LIMITS;

	choice_init(&choice);
	limits.keep_free_bytes = 5000;
	CHECK_STR(chosen(&choice, limits, 2000, 4100), "fffffffff.");
	CHECK(!choice.starved);
	CHECK_STR(chosen(&choice, limits, 2000, 4099), "..........");
	CHECK(choice.starved);
	/* it was less when the disk became full */
	hold = (struct retention_plan_hold){ 950, 950 + 4199 };
	CHECK_STR(chosen(&choice, limits, 2000, 4099), "h.........");
	/* and room came back */
	CHECK_STR(chosen(&choice, limits, 2000, 4999), "f.........");
	hold = (struct retention_plan_hold){ 0 };
	/* the next segment needs 200 */
	CHECK_STR(chosen(&choice, limits, 2000, 100), "h.........");
	CHECK_STR(chosen(&choice, limits, 2000, 0), "hh........");
	/* there was room for it, and others took that too */
	hold = (struct retention_plan_hold){ 1250, 1250 };
	CHECK_STR(chosen(&choice, limits, 2000, 0), "..........");
	/* half of it, and the rest is used */
	hold = (struct retention_plan_hold){ 1150, 1150 };
	CHECK_STR(chosen(&choice, limits, 2000, 0), "h.........");
	CHECK_STR(chosen(&choice, limits, 2000, 50), "h.........");
	CHECK_STR(chosen(&choice, limits, 2000, 100), "h.........");
	hold = (struct retention_plan_hold){ 0 };
	/* an hour costs a part of the store, not all */
	floor_bytes = 500;
	CHECK_STR(chosen(&choice, limits, 2000, 4450), "ffffff....");
	CHECK_STR(chosen(&choice, limits, 2000, 4449), "..........");
	CHECK(choice.starved);
	floor_bytes = 0;
	/* what is near an incident goes for bytes, and not for space that others took */
	pin(&choice, 0, 3, UINT64_MAX);
	limits.pin_ns = UINT64_MAX;
	CHECK_STR(chosen(&choice, limits, 2000, 4600), "pppffff...");
	CHECK_STR(chosen(&choice, limits, 2000, 4300), "ppp.......");
	CHECK(choice.starved);
}

/* Removes what was chosen; the bytes of the disk that it took. */
static uint64_t remove_chosen(struct retention_plan *choice)
{
	uint64_t bytes = 0;
	size_t kept = 0;

	for (size_t i = 0; i < choice->items.count; i++) {
		const struct retention_plan_item *item = &choice->items.items[i];

		bytes += item->why ? item->taken_bytes : 0;
		if (!item->why)
			choice->items.items[kept++] = *item;
	}
	choice->items.count = kept;
	return bytes;
}

/* Others leave nothing of the disk but what the store has, and segments take more of it than they
 * hold: there is room for each new one. */
static void test_choice_goes_on(void)
{
	static const struct store_limits limits = { UINT64_MAX, UINT64_MAX, 9000, 0, true, false };
	const uint64_t reach_bytes = 1660;
	_cleanup_(choice_done) struct retention_plan choice;
	uint64_t taken_bytes = 50;

	choice_init(&choice);
	for (size_t i = 0; i < choice.items.count; i++)
		taken_bytes += choice.items.items[i].taken_bytes = 150 + 10 * (i % 3);
	for (uint64_t i = 10; i < 200; i++) {
		uint64_t size = 100 + i * 7 % 50;
		const struct retention_plan_figures figures = {
			.bytes = 1050,
			.taken_bytes = taken_bytes,
			.free_bytes = reach_bytes - taken_bytes,
			.room_bytes = 2 * size,
			.hold = choice.hold,
		};

		CHECK(taken_bytes <= reach_bytes);
		retention_plan_make(&choice, &limits, &figures);
		CHECK(choice.starved);
		taken_bytes -= remove_chosen(&choice);
		CHECK(reach_bytes - taken_bytes >= 2 * size);
		/* nor more than that and what the oldest has too much */
		CHECK(reach_bytes - taken_bytes < 2 * size + 200);
		choice.items.items[choice.items.count - 1].keep = false;
		CHECK_EQ(array_push(&choice.items,
				    (struct retention_plan_item){
					    .begin_ns = (1000 + i) * NSEC_PER_SEC,
					    .end_ns = (1001 + i) * NSEC_PER_SEC,
					    .bytes = 90,
					    .taken_bytes = size,
					    .keep = true }),
			 0);
		taken_bytes += size;
	}
}

/* The wall clock goes ahead at once: by an eighth of the limit of age, at the most. */
static void test_choice_clock_ahead(void)
{
	_cleanup_(choice_done) struct retention_plan choice;
	struct store_limits limits = NO_LIMITS;

	choice_init(&choice);
	limits.age_by_clock = false;
	limits.max_age_ns = 4 * NSEC_PER_SEC;
	CHECK_STR(chosen(&choice, limits, 1010, 0), "aaaaa.....");
	CHECK_STR(chosen(&choice, limits, 1000000, 0), "aaaaaasss.");
	/* and so it is when more is recorded after that, with the wrong time or the right one */
	choice.items.items[9].begin_ns += 1000000 * NSEC_PER_SEC;
	choice.items.items[9].end_ns += 1000000 * NSEC_PER_SEC;
	CHECK_STR(chosen(&choice, limits, 1001010, 0), "aaaaaasss.");
	CHECK_STR(chosen(&choice, limits, 1010, 0), "aaaaa.....");
	/* one that spans the step itself is as long as it was recorded */
	choice.items.items[9].begin_ns -= 1000000 * NSEC_PER_SEC;
	CHECK_STR(chosen(&choice, limits, 1001010, 0), "aaaaassss.");
	/* who looks at the clock may believe it */
	limits.age_by_clock = true;
	CHECK_STR(chosen(&choice, limits, 1001010, 0), "aaaaaaaaa.");
}

static void test_choice_with_pins(void)
{
	_cleanup_(choice_done) struct retention_plan choice;
	struct store_limits limits = NO_LIMITS;

	choice_init(&choice);
	pin(&choice, 2, 4, UINT64_MAX); /* the third and the fourth */
	limits.max_age_ns = 3 * NSEC_PER_SEC;
	limits.pin_ns = 100 * NSEC_PER_SEC;
	CHECK_STR(chosen(&choice, limits, 1010, 0), "aaPPaa....");
	/* the third is beyond the age of pins too */
	CHECK_STR(chosen(&choice, limits, 1104, 0), "aaaPaaaaa.");
	limits.max_age_ns = UINT64_MAX;
	limits.max_bytes = 650;
	CHECK_STR(chosen(&choice, limits, 1010, 0), "bbppbb....");
	limits.max_bytes = 200;
	CHECK_STR(chosen(&choice, limits, 1010, 0), "bbbbbbbbb.");
	limits.max_bytes = 300;
	CHECK_STR(chosen(&choice, limits, 1010, 0), "bbbpbbbbb.");
	/* a pin of somebody's own, until 1050 s */
	choice.pins.count = 0;
	pin(&choice, 0, 1, 1050 * NSEC_PER_SEC);
	limits.max_bytes = 850;
	limits.pin_ns = 0;
	CHECK_STR(chosen(&choice, limits, 1049, 0), "pbb.......");
	CHECK_STR(chosen(&choice, limits, 1050, 0), "bb........");
}

CHECK_MAIN({ "chosen by age", test_choice_by_age }, { "chosen by room", test_choice_by_room },
	   { "chosen for free space", test_choice_for_space },
	   { "a full disk goes on", test_choice_goes_on },
	   { "a wall clock that went ahead", test_choice_clock_ahead },
	   { "what is pinned goes last", test_choice_with_pins })
