// SPDX-License-Identifier: GPL-2.0-only
/* Plans which segments retention removes, from numbers alone. */
#include "tests/check.h"

#include "base/clock.h"
#include "store/write/retention-plan.h"

#define NO_LIMITS                                         \
	{                                                 \
		UINT64_MAX, UINT64_MAX, 0, 0, true, false \
	}

/*
 * Ten segments of 100 bytes and one second each, the first at 1000 s. The store contains 50 other
 * bytes.
 */
static void plan_init(struct retention_plan *plan)
{
	*plan = (struct retention_plan){ 0 };
	for (uint64_t i = 0; i < 10; i++)
		CHECK_EQ(array_push(&plan->items,
				    (struct retention_plan_item){
					    .begin_ns = (1000 + i) * NSEC_PER_SEC,
					    .end_ns = (1001 + i) * NSEC_PER_SEC,
					    .length_ns = NSEC_PER_SEC,
					    .bytes = 100,
					    .taken_bytes = 100,
					    .keep = i == 9 }),
			 0);
}

static void plan_done(struct retention_plan *plan)
{
	array_done(&plan->items);
	array_done(&plan->pins);
}

static void pin(struct retention_plan *plan, unsigned int from, unsigned int to, uint64_t until_ns)
{
	CHECK_EQ(array_push(&plan->pins,
			    (struct retention_plan_pin){ (1000 + from) * NSEC_PER_SEC,
							 (1000 + to) * NSEC_PER_SEC, until_ns }),
		 0);
}

/* The size of the store when the disk became full, and the lowest size that it may shrink to. */
static struct retention_plan_hold hold;
static uint64_t floor_bytes;

/*
 * One letter per segment. "a": removed for its age, "b": for bytes, "f": for free space, "h":
 * because other data fills the disk, "P": pinned beyond its age, "p": pinned, "s": spared, ".":
 * stays.
 */
static const char *planned(struct retention_plan *plan, struct store_limits limits, uint64_t now_s,
			   uint64_t free_bytes)
{
	static const char reasons[] = {
		[RETENTION_PLAN_AGE] = 'a',
		[RETENTION_PLAN_BYTES] = 'b',
		[RETENTION_PLAN_SPACE] = 'f',
		[RETENTION_PLAN_STARVED] = 'h',
	};
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

	retention_plan_make(plan, &limits, &figures);
	for (size_t i = 0; i < plan->items.count; i++) {
		const struct retention_plan_item *item = &plan->items.items[i];

		text[i] = item->reason			  ? reasons[item->reason]
			  : item->spared		  ? 's'
			  : item->pinned && item->overdue ? 'P'
			  : item->pinned		  ? 'p'
							  : '.';
	}
	text[plan->items.count] = 0;
	return text;
}

static void test_choice_by_age(void)
{
	_cleanup_(plan_done) struct retention_plan plan;
	struct store_limits limits = NO_LIMITS;

	plan_init(&plan);
	CHECK_STR(planned(&plan, limits, 5000, 0), "..........");
	limits.max_age_ns = 3 * NSEC_PER_SEC;
	/* the fourth segment ends at 1004, so its age is exactly 3 s */
	CHECK_STR(planned(&plan, limits, 1007, 0), "aaa.......");
	CHECK_STR(planned(&plan, limits, 5000, 0), "aaaaaaaaa.");
	/* the wall clock was set back */
	CHECK_STR(planned(&plan, limits, 10, 0), "..........");
}

static void test_choice_by_room(void)
{
	_cleanup_(plan_done) struct retention_plan plan;
	struct store_limits limits = NO_LIMITS;

	plan_init(&plan);
	limits.max_bytes = 1050;
	CHECK_STR(planned(&plan, limits, 2000, 0), "..........");
	limits.max_bytes = 1049;
	CHECK_STR(planned(&plan, limits, 2000, 0), "b.........");
	limits.max_bytes = 700;
	CHECK_STR(planned(&plan, limits, 2000, 0), "bbbb......");
	limits.max_bytes = 0;
	CHECK_STR(planned(&plan, limits, 2000, 0), "bbbbbbbbb.");
	limits.max_bytes = 950;
	limits.keep_free_bytes = 500;
	CHECK_STR(planned(&plan, limits, 2000, 301), "bf........");
	CHECK_STR(planned(&plan, limits, 2000, 500), "b.........");
}

/*
 * If a removal cannot reach the requested free disk space, it only frees enough for the new
 * recording.
 */
static void test_choice_for_space(void)
{
	_cleanup_(plan_done) struct retention_plan plan;
	struct store_limits limits = NO_LIMITS;

	plan_init(&plan);
	limits.keep_free_bytes = 5000;
	CHECK_STR(planned(&plan, limits, 2000, 4100), "fffffffff.");
	CHECK(!plan.starved);
	CHECK_STR(planned(&plan, limits, 2000, 4099), "..........");
	CHECK(plan.starved);
	/* the store was smaller when the disk became full */
	hold = (struct retention_plan_hold){ 950, 950 + 4199 };
	CHECK_STR(planned(&plan, limits, 2000, 4099), "h.........");
	/* now the disk has space again */
	CHECK_STR(planned(&plan, limits, 2000, 4999), "f.........");
	hold = (struct retention_plan_hold){ 0 };
	/* the next segment needs 200 bytes */
	CHECK_STR(planned(&plan, limits, 2000, 100), "h.........");
	CHECK_STR(planned(&plan, limits, 2000, 0), "hh........");
	/* there was space for the next segment, but other data took that too */
	hold = (struct retention_plan_hold){ 1250, 1250 };
	CHECK_STR(planned(&plan, limits, 2000, 0), "..........");
	/* other data took half of it, and the recording has used the rest */
	hold = (struct retention_plan_hold){ 1150, 1150 };
	CHECK_STR(planned(&plan, limits, 2000, 0), "h.........");
	CHECK_STR(planned(&plan, limits, 2000, 50), "h.........");
	CHECK_STR(planned(&plan, limits, 2000, 100), "h.........");
	hold = (struct retention_plan_hold){ 0 };
	/* one hour may cost a part of the store, not all of it */
	floor_bytes = 500;
	CHECK_STR(planned(&plan, limits, 2000, 4450), "ffffff....");
	CHECK_STR(planned(&plan, limits, 2000, 4449), "..........");
	CHECK(plan.starved);
	floor_bytes = 0;
	/*
	 * segments near an incident are removed for bytes, but not because other data takes the
	 * disk space
	 */
	pin(&plan, 0, 3, UINT64_MAX);
	limits.pin_ns = UINT64_MAX;
	CHECK_STR(planned(&plan, limits, 2000, 4600), "pppffff...");
	CHECK_STR(planned(&plan, limits, 2000, 4300), "ppp.......");
	CHECK(plan.starved);
}

/* Removes the segments that the plan names. Returns the bytes of the disk that they took. */
static uint64_t remove_chosen(struct retention_plan *plan)
{
	uint64_t bytes = 0;
	size_t kept = 0;

	for (size_t i = 0; i < plan->items.count; i++) {
		const struct retention_plan_item *item = &plan->items.items[i];

		bytes += item->reason ? item->taken_bytes : 0;
		if (!item->reason)
			plan->items.items[kept++] = *item;
	}
	plan->items.count = kept;
	return bytes;
}

/*
 * Other data leaves only the store's own disk space, and segments take more disk space than their
 * size. Each new segment must still fit.
 */
static void test_choice_goes_on(void)
{
	static const struct store_limits limits = { UINT64_MAX, UINT64_MAX, 9000, 0, true, false };
	const uint64_t reach_bytes = 1660;
	_cleanup_(plan_done) struct retention_plan plan;
	uint64_t taken_bytes = 50;

	plan_init(&plan);
	for (size_t i = 0; i < plan.items.count; i++)
		taken_bytes += plan.items.items[i].taken_bytes = 150 + 10 * (i % 3);
	for (uint64_t i = 10; i < 200; i++) {
		uint64_t size = 100 + i * 7 % 50;
		const struct retention_plan_figures figures = {
			.bytes = 1050,
			.taken_bytes = taken_bytes,
			.free_bytes = reach_bytes - taken_bytes,
			.room_bytes = 2 * size,
			.hold = plan.hold,
		};

		CHECK(taken_bytes <= reach_bytes);
		retention_plan_make(&plan, &limits, &figures);
		CHECK(plan.starved);
		taken_bytes -= remove_chosen(&plan);
		CHECK(reach_bytes - taken_bytes >= 2 * size);
		/* nor is more removed than that, plus the excess size of the oldest segment */
		CHECK(reach_bytes - taken_bytes < 2 * size + 200);
		plan.items.items[plan.items.count - 1].keep = false;
		CHECK_EQ(array_push(&plan.items,
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

/*
 * The wall clock jumps ahead. Retention then removes at most an eighth of the limit at once for
 * age.
 */
static void test_choice_clock_ahead(void)
{
	_cleanup_(plan_done) struct retention_plan plan;
	struct store_limits limits = NO_LIMITS;

	plan_init(&plan);
	limits.age_by_clock = false;
	limits.max_age_ns = 4 * NSEC_PER_SEC;
	CHECK_STR(planned(&plan, limits, 1010, 0), "aaaaa.....");
	CHECK_STR(planned(&plan, limits, 1000000, 0), "aaaaaasss.");
	/* the same if more is recorded after the jump, with the wrong or with the right time */
	plan.items.items[9].begin_ns += 1000000 * NSEC_PER_SEC;
	plan.items.items[9].end_ns += 1000000 * NSEC_PER_SEC;
	CHECK_STR(planned(&plan, limits, 1001010, 0), "aaaaaasss.");
	CHECK_STR(planned(&plan, limits, 1010, 0), "aaaaa.....");
	/* a segment that contains the jump counts with its recorded length */
	plan.items.items[9].begin_ns -= 1000000 * NSEC_PER_SEC;
	CHECK_STR(planned(&plan, limits, 1001010, 0), "aaaaassss.");
	/* an explicit request trusts the clock */
	limits.age_by_clock = true;
	CHECK_STR(planned(&plan, limits, 1001010, 0), "aaaaaaaaa.");
}

static void test_choice_with_pins(void)
{
	_cleanup_(plan_done) struct retention_plan plan;
	struct store_limits limits = NO_LIMITS;

	plan_init(&plan);
	pin(&plan, 2, 4, UINT64_MAX); /* the third and the fourth segment are pinned */
	limits.max_age_ns = 3 * NSEC_PER_SEC;
	limits.pin_ns = 100 * NSEC_PER_SEC;
	CHECK_STR(planned(&plan, limits, 1010, 0), "aaPPaa....");
	/* the third segment is beyond the age of pins too */
	CHECK_STR(planned(&plan, limits, 1104, 0), "aaaPaaaaa.");
	limits.max_age_ns = UINT64_MAX;
	limits.max_bytes = 650;
	CHECK_STR(planned(&plan, limits, 1010, 0), "bbppbb....");
	limits.max_bytes = 200;
	CHECK_STR(planned(&plan, limits, 1010, 0), "bbbbbbbbb.");
	limits.max_bytes = 300;
	CHECK_STR(planned(&plan, limits, 1010, 0), "bbbpbbbbb.");
	/* a pin that a user set, until 1050 s */
	plan.pins.count = 0;
	pin(&plan, 0, 1, 1050 * NSEC_PER_SEC);
	limits.max_bytes = 850;
	limits.pin_ns = 0;
	CHECK_STR(planned(&plan, limits, 1049, 0), "pbb.......");
	CHECK_STR(planned(&plan, limits, 1050, 0), "bb........");
}

CHECK_MAIN({ "segments are removed for their age", test_choice_by_age },
	   { "segments are removed for bytes", test_choice_by_room },
	   { "segments are removed for free space", test_choice_for_space },
	   { "recording goes on with a full disk", test_choice_goes_on },
	   { "a wall clock that went ahead removes little", test_choice_clock_ahead },
	   { "pinned segments are removed last", test_choice_with_pins })
