// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/build/losses.h"

#include "base/clock.h"
#include "base/mutation.h"

/* A greater CPU number comes from damaged bytes. */
#define CPUS_MAX 65536

/*
 * The kernel ends throttling at the next tick of its clock. Two throttlings become one piece if the
 * pause between them is shorter than this, a few ticks.
 */
#define THROTTLE_APART_NS (100 * NSEC_PER_MSEC)

/*
 * The kernel still delivers the sample that exceeded the limit. A sample that comes more than this
 * time later shows that the throttling is over.
 */
#define THROTTLE_SAMPLE_NS NSEC_PER_MSEC

void losses_done(struct losses *losses)
{
	array_done(&losses->cpus);
	array_done(&losses->list);
	cpu_idle_done(&losses->idle);
	cpu_idle_done(&losses->idle_before);
}

static struct losses_cpu *losses_get_cpu(struct losses *losses, uint32_t cpu)
{
	if (cpu >= CPUS_MAX)
		return NULL;
	while (losses->cpus.count <= cpu)
		if (array_push(&losses->cpus, (struct losses_cpu){ 0 }) < 0)
			return NULL;
	return &losses->cpus.items[cpu];
}

int losses_add(struct losses *losses, enum tape_loss_kind kind, uint32_t cpu, uint64_t from_ns,
	       uint64_t to_ns, uint64_t count)
{
	struct tape_loss loss = { kind, cpu, from_ns, MAX(to_ns, from_ns + 1), count };

	return array_push(&losses->list, loss);
}

int losses_damaged(struct losses *losses, uint64_t time_ns)
{
	losses->counts.damaged++;
	return losses_add(losses, TAPE_LOSS_DAMAGED, TAPE_ALL_CPUS, time_ns, time_ns, 1);
}

/* Removes the part of a loss that lies before the start of the recording. */
static void losses_trim_begin(const struct losses *losses, struct tape_loss *loss)
{
	if (loss->from_ns >= losses->begin_ns)
		return;
	if (loss->to_ns <= losses->begin_ns)
		loss->count = 0;
	else
		loss->count = (double)loss->count * (double)(loss->to_ns - losses->begin_ns) /
			      (double)(loss->to_ns - loss->from_ns);
	loss->from_ns = losses->begin_ns;
}

static int losses_add_lost(struct losses *losses, uint32_t cpu, uint64_t since_ns, uint64_t time_ns,
			   uint64_t count)
{
	struct tape_loss loss = { TAPE_LOSS_SAMPLES, cpu, MIN(since_ns, time_ns), time_ns, count };

	losses_trim_begin(losses, &loss);
	losses->counts.lost += loss.count;
	if (!loss.count || mutated("forget-loss"))
		return 0;
	return losses_add(losses, loss.kind, cpu, loss.from_ns, loss.to_ns, loss.count);
}

void losses_begin(struct losses *losses, uint64_t begin_ns)
{
	size_t kept = 0;

	losses->begin_ns = begin_ns;
	losses->counts.lost = 0;
	for (size_t i = 0; i < losses->list.count; i++) {
		struct tape_loss loss = losses->list.items[i];

		if (loss.kind == TAPE_LOSS_SAMPLES) {
			losses_trim_begin(losses, &loss);
			losses->counts.lost += loss.count;
			if (!loss.count)
				continue;
		}
		losses->list.items[kept++] = loss;
	}
	losses->list.count = kept;
}

int losses_lost(struct losses *losses, bool samples, uint32_t number, uint64_t since_ns,
		uint64_t time_ns, uint64_t count)
{
	struct losses_cpu *cpu = samples ? losses_get_cpu(losses, number) : NULL;
	uint64_t ahead;

	if (!samples) {
		losses->counts.lost_sideband += count;
		return losses_add(losses, TAPE_LOSS_SIDEBAND, number, MIN(since_ns, time_ns),
				  time_ns, count);
	}
	if (!cpu)
		return losses_add_lost(losses, number, since_ns, time_ns, count);
	ahead = cpu->counted - MIN(cpu->counted, cpu->reported);
	cpu->reported += count;
	return losses_add_lost(losses, number, since_ns, time_ns, count - MIN(count, ahead));
}

int losses_events(struct losses *losses, uint32_t cpu, uint64_t since_ns, uint64_t time_ns,
		  uint64_t count)
{
	losses->counts.lost_events += count;
	return losses_add(losses, TAPE_LOSS_EVENTS, cpu, MIN(since_ns, time_ns), time_ns, count);
}

int losses_counted(struct losses *losses, uint32_t number, uint64_t since_ns, uint64_t time_ns,
		   uint64_t count)
{
	struct losses_cpu *cpu = losses_get_cpu(losses, number);
	uint64_t known;

	if (!cpu)
		return 0;
	known = MAX(cpu->reported, cpu->counted);
	if (count <= known)
		return 0;
	cpu->counted = count;
	return losses_add_lost(losses, number, since_ns, time_ns, count - known);
}

/*
 * Returns the number of timer slots in a throttled time of this length. Carries the remainder of a
 * slot over to the next throttled time.
 */
static uint64_t losses_count_throttled(struct losses *losses, struct losses_cpu *cpu,
				       uint64_t length_ns)
{
	uint64_t slots;

	if (!losses->period_ns)
		return 0;
	cpu->throttled_rest_ns += length_ns;
	slots = cpu->throttled_rest_ns / losses->period_ns;
	cpu->throttled_rest_ns %= losses->period_ns;
	losses->counts.skipped += slots;
	return slots;
}

static void losses_end_throttle(struct losses *losses, struct losses_cpu *cpu, uint64_t time_ns)
{
	cpu->throttled.from_ns = cpu->throttled.count ? cpu->throttled.from_ns : cpu->throttled_ns;
	cpu->throttled.to_ns = MAX(time_ns, cpu->throttled_ns + 1);
	cpu->throttled.count++;
	cpu->throttled_slots +=
		losses_count_throttled(losses, cpu, cpu->throttled.to_ns - cpu->throttled_ns);
	cpu->throttled_ns = 0;
}

static void losses_take_unsure(struct losses *losses, struct losses_cpu *cpu, uint64_t *count)
{
	uint64_t lost = MIN(*count, cpu->unsure_slots);

	cpu->unsure_slots -= lost;
	cpu->throttled_slots -= lost;
	losses->counts.skipped -= lost;
	*count -= lost;
}

void losses_sample(struct losses *losses, uint32_t number, uint64_t time_ns, bool idle)
{
	struct losses_cpu *cpu = losses_get_cpu(losses, number);
	uint64_t slots;

	if (!cpu)
		return;
	/* a sample shows that the throttling is over, so the UNTHROTTLE record was lost */
	if (cpu->throttled_ns && time_ns > cpu->throttled_ns + THROTTLE_SAMPLE_NS) {
		slots = cpu->throttled_slots;
		losses_end_throttle(losses, cpu, time_ns);
		cpu->unsure_slots = cpu->throttled_slots - slots;
		losses_take_unsure(losses, cpu, &cpu->lost_ahead);
		timer_slots_restart(&cpu->slots);
	}
	cpu->lost_ahead = 0;
	cpu->slots.period_ns = losses->period_ns;
	timer_slots_sample(&cpu->slots, time_ns, idle);
}

void losses_lost_slots(struct losses *losses, uint32_t number, uint64_t count)
{
	struct losses_cpu *cpu = losses_get_cpu(losses, number);

	if (!cpu)
		return;
	losses_take_unsure(losses, cpu, &count);
	cpu->lost_ahead = cpu->throttled_ns ? count : 0;
	timer_slots_lost(&cpu->slots, count);
}

int losses_refused(struct losses *losses, uint64_t from_ns, uint64_t to_ns, uint64_t count)
{
	losses->counts.refused += count;
	return losses_add(losses, TAPE_LOSS_REFUSED, TAPE_ALL_CPUS, MIN(from_ns, to_ns), to_ns,
			  count);
}

void losses_truncated(struct losses *losses, uint32_t number, uint64_t time_ns)
{
	struct losses_cpu *cpu = losses_get_cpu(losses, number);

	losses->counts.truncated++;
	if (!cpu)
		return;
	if (!cpu->truncated.count)
		cpu->truncated =
			(struct tape_loss){ TAPE_LOSS_TRUNCATED, number, time_ns, time_ns, 0 };
	cpu->truncated.to_ns = time_ns + 1;
	cpu->truncated.count++;
}

/*
 * Adds the piece, and right behind it, with the same time, its skipped samples. tape_is_throttled()
 * depends on that order.
 */
static int losses_push_throttled(struct losses *losses, struct losses_cpu *cpu)
{
	struct tape_loss piece = cpu->throttled;
	uint64_t slots = cpu->throttled_slots;

	cpu->throttled.count = cpu->throttled_slots = cpu->unsure_slots = 0;
	if (!piece.count)
		return 0;
	if (array_push(&losses->list, piece) < 0)
		return -ENOMEM;
	return slots ? losses_add(losses, TAPE_LOSS_SKIPPED, piece.cpu, piece.from_ns, piece.to_ns,
				  slots)
		     : 0;
}

int losses_throttle(struct losses *losses, const struct perf_record *record)
{
	struct losses_cpu *cpu = losses_get_cpu(losses, record->cpu);
	int r = 0;

	if (!cpu)
		return 0;
	timer_slots_restart(&cpu->slots);
	if (record->type == PERF_TYPE_UNTHROTTLE) {
		if (cpu->throttled_ns)
			losses_end_throttle(losses, cpu, record->time_ns);
		return 0;
	}
	/*
	 * The earlier throttling ended before this one, and its UNTHROTTLE record was lost. Its
	 * length is unknown, so count the shortest.
	 */
	if (cpu->throttled_ns)
		losses_end_throttle(losses, cpu, cpu->throttled_ns + 1);
	if (record->time_ns > cpu->throttled.to_ns + THROTTLE_APART_NS)
		r = losses_push_throttled(losses, cpu);
	cpu->unsure_slots = 0;
	losses->counts.throttled++;
	cpu->throttled.kind = TAPE_LOSS_THROTTLED;
	cpu->throttled.cpu = record->cpu;
	cpu->throttled_ns = MAX(record->time_ns, 1ull);
	return r;
}

int losses_online(struct losses *losses, uint32_t number, bool online, uint64_t time_ns)
{
	struct losses_cpu *cpu = losses_get_cpu(losses, number);
	uint64_t since_ns;

	if (!cpu)
		return 0;
	since_ns = cpu->offline_ns;
	losses->counts.offline += !online;
	cpu->offline_ns = online ? 0 : MAX(time_ns, 1ull);
	if (cpu->throttled_ns)
		losses_end_throttle(losses, cpu, time_ns);
	timer_slots_restart(&cpu->slots);
	/*
	 * The counts of the CPU's new events start at 0. LOST records of the old events may still
	 * be in the old rings.
	 */
	if (online)
		cpu->reported = cpu->counted = 0;
	if (!online || !since_ns)
		return 0;
	return losses_add(losses, TAPE_LOSS_OFFLINE, number, since_ns, time_ns, 1);
}

uint64_t losses_offline(const struct losses *losses)
{
	uint64_t count = 0;

	for (size_t i = 0; i < losses->cpus.count; i++)
		count += losses->cpus.items[i].offline_ns != 0;
	return count;
}

static int losses_end_lowered(struct losses *losses, uint64_t time_ns)
{
	struct tape_loss lowered = losses->lowered;

	if (!lowered.count || lowered.from_ns >= time_ns)
		return 0;
	lowered.to_ns = losses->lowered.from_ns = time_ns;
	return array_push(&losses->list, lowered);
}

int losses_limit(struct losses *losses, uint64_t limit, uint64_t time_ns)
{
	int r;

	if (limit == losses->lowered.count)
		return 0;
	r = losses_end_lowered(losses, time_ns);
	losses->lowered = (struct tape_loss){ TAPE_LOSS_LOWERED, TAPE_ALL_CPUS, time_ns, 0, limit };
	return r;
}

int losses_set_idle(struct losses *losses, const struct cpu_idle *idle)
{
	if (!losses->period_ns)
		return 0;
	return cpu_idle_copy(&losses->idle, idle);
}

uint64_t losses_settle_at(const struct losses *losses)
{
	return losses->idle.time_ns;
}

static int losses_settle_cpu(struct losses *losses, uint32_t number)
{
	struct losses_cpu *cpu = &losses->cpus.items[number];
	uint64_t idle_ns = cpu_idle_between(&losses->idle_before, &losses->idle, number);
	struct timer_slots_hole hole = timer_slots_settle(
		&cpu->slots, losses->idle.time_ns,
		idle_ns == CPU_IDLE_UNKNOWN ? TIMER_SLOTS_IDLE_UNKNOWN : idle_ns);

	losses->counts.skipped += hole.count;
	if (!hole.count)
		return 0;
	return losses_add(losses, TAPE_LOSS_SKIPPED, number, hole.from_ns, hole.to_ns, hole.count);
}

int losses_settle(struct losses *losses)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < losses->cpus.count; i++)
		r = losses_settle_cpu(losses, i);
	if (r == 0)
		r = cpu_idle_copy(&losses->idle_before, &losses->idle);
	losses->idle.time_ns = 0;
	return r;
}

/*
 * Sets *ret_share to the part of a loss that lies in the tape, and reduces the loss to the rest.
 * Returns whether nothing remains for the next tape.
 */
static bool losses_share_loss(const struct tape *tape, struct tape_loss *loss,
			      struct tape_loss *ret_share)
{
	uint64_t length_ns = loss->to_ns - loss->from_ns;
	bool all = loss->to_ns <= tape->end_ns;

	*ret_share = *loss;
	if (all)
		return true;
	ret_share->to_ns = MAX(tape->end_ns, loss->from_ns);
	/* The count of a LOWERED loss is a limit, so do not split it by time. */
	if (loss->kind != TAPE_LOSS_LOWERED)
		ret_share->count = (double)loss->count *
				   (double)(ret_share->to_ns - loss->from_ns) / (double)length_ns;
	loss->from_ns = ret_share->to_ns;
	if (loss->kind != TAPE_LOSS_LOWERED)
		loss->count -= MIN(loss->count, ret_share->count);
	return false;
}

static int losses_move_list(struct losses *losses, struct tape *tape)
{
	size_t kept = 0;

	for (size_t i = 0; i < losses->list.count; i++) {
		struct tape_loss loss = losses->list.items[i], share;
		bool begun = loss.from_ns < tape->end_ns;

		if (!begun || !losses_share_loss(tape, &loss, &share))
			losses->list.items[kept++] = loss;
		if (begun && array_push(&tape->losses, share) < 0)
			return -ENOMEM;
	}
	losses->list.count = kept;
	return 0;
}

/* Adds the part of a lasting state up to until_ns. The next part starts there. */
static int losses_add_lasting(struct tape *tape, enum tape_loss_kind kind, uint32_t cpu,
			      uint64_t *since_ns, uint64_t until_ns)
{
	struct tape_loss loss = { kind, cpu, *since_ns, until_ns, 1 };

	if (!*since_ns || *since_ns >= until_ns)
		return 0;
	*since_ns = until_ns;
	return array_push(&tape->losses, loss);
}

static int losses_add_throttled(struct losses *losses, struct losses_cpu *cpu, struct tape *tape,
				uint64_t until_ns)
{
	uint32_t number = cpu - losses->cpus.items;
	uint64_t since_ns = cpu->throttled_ns, slots;
	int r;

	if (!since_ns || since_ns >= until_ns)
		return 0;
	slots = losses_count_throttled(losses, cpu, until_ns - since_ns);
	r = losses_add_lasting(tape, TAPE_LOSS_THROTTLED, number, &cpu->throttled_ns, until_ns);
	if (r < 0 || !slots)
		return r;
	return array_push(&tape->losses, (struct tape_loss){ TAPE_LOSS_SKIPPED, number, since_ns,
							     until_ns, slots });
}

static int losses_move_cpu(struct losses *losses, struct losses_cpu *cpu, struct tape *tape,
			   uint64_t until_ns)
{
	uint32_t number = cpu - losses->cpus.items;
	struct tape_loss truncated = cpu->truncated;
	int r = losses_add_throttled(losses, cpu, tape, until_ns);

	if (r == 0)
		r = losses_add_lasting(tape, TAPE_LOSS_OFFLINE, number, &cpu->offline_ns, until_ns);
	cpu->truncated.count = 0;
	return r == 0 && truncated.count ? array_push(&tape->losses, truncated) : r;
}

int losses_move_to_tape(struct losses *losses, struct tape *tape, uint64_t until_ns)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < losses->cpus.count; i++)
		r = losses_push_throttled(losses, &losses->cpus.items[i]);
	if (r < 0)
		return r;
	r = losses_end_lowered(losses, until_ns);
	if (r < 0)
		return r;
	r = losses_move_list(losses, tape);
	for (size_t i = 0; r == 0 && i < losses->cpus.count; i++)
		r = losses_move_cpu(losses, &losses->cpus.items[i], tape, until_ns);
	return r;
}

uint64_t losses_end(const struct losses *losses)
{
	uint64_t end_ns = 0;

	for (size_t i = 0; i < losses->list.count; i++)
		end_ns = MAX(end_ns, losses->list.items[i].to_ns);
	return end_ns;
}
