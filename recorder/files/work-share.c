// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/files/work-share.h"

#include "base/cleanup.h"
#include "base/clock.h"

/* When a recorder starts, it reads the files of all programs of the host. */
#define ALL_BURST 32
#define ALL_RATE 4
#define SURE_PART 5
/* Bursts that an owner may owe, as a file's cost is known only after the work. */
#define OWED_BURSTS 2

void work_share_init(struct work_share *share, struct account_bucket own)
{
	const struct account_limits limits = {
		.own = own,
		.sure = { own.burst / SURE_PART, own.rate / SURE_PART },
		.all = { own.burst * ALL_BURST, own.rate * ALL_RATE },
		.owed_max = own.burst * OWED_BURSTS,
	};

	*share = (struct work_share){ 0 };
	accounts_init(&share->accounts, &limits);
}

void work_share_done(struct work_share *share)
{
	accounts_done(&share->accounts);
}

bool work_share_admits(struct work_share *share, uint64_t owner, uint64_t now_ns)
{
	uint64_t periods;

	if (!share->begun_ns)
		share->begun_ns = now_ns;
	periods = (MAX(now_ns, share->begun_ns) - share->begun_ns) / NSEC_PER_SEC;
	if (periods)
		accounts_begin(&share->accounts, periods);
	share->begun_ns += periods * NSEC_PER_SEC;
	return !owner || accounts_take(&share->accounts, owner, 0);
}

void work_share_spend(struct work_share *share, uint64_t owner, uint64_t spent_ns)
{
	if (owner)
		accounts_take(&share->accounts, owner, 1 + spent_ns / NSEC_PER_USEC);
}
