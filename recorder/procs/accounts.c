// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/procs/accounts.h"

#include "base/cleanup.h"

/* With at most this number of accounts, do not forget idle ones. */
#define KEEP_MIN 1024

void accounts_init(struct accounts *accounts, const struct account_limits *limits)
{
	*accounts = (struct accounts){ .limits = *limits, .all = limits->all.burst };
}

void accounts_done(struct accounts *accounts)
{
	array_done(&accounts->list);
	table_done(&accounts->table);
}

static int64_t accounts_refill(const struct account_bucket *bucket, int64_t left, uint64_t periods)
{
	int64_t burst = (int64_t)bucket->burst;
	uint64_t missing = (uint64_t)(burst - MIN(left, burst));

	if (!bucket->rate || missing / bucket->rate < periods)
		return bucket->rate ? burst : left;
	return left + (int64_t)(periods * bucket->rate);
}

static void accounts_refill_account(const struct accounts *accounts, struct account *account)
{
	uint64_t periods = accounts->period - account->period;

	if (!periods)
		return;
	account->own = accounts_refill(&accounts->limits.own, account->own, periods);
	account->sure = accounts_refill(&accounts->limits.sure, account->sure, periods);
	account->period = accounts->period;
}

static bool accounts_is_idle(const struct accounts *accounts, struct account *account)
{
	accounts_refill_account(accounts, account);
	return account->own >= (int64_t)accounts->limits.own.burst &&
	       account->sure >= accounts->limits.sure.burst;
}

static uint64_t accounts_hash(uint64_t key)
{
	return hash_numbers(key, 0x62756467);
}

/*
 * If memory for the table is short, also forgets accounts that are not idle; their buckets are full
 * again.
 */
static void accounts_forget_idle(struct accounts *accounts)
{
	size_t kept = 0;

	table_clear(&accounts->table);
	for (size_t i = 0; i < accounts->list.count; i++) {
		struct account account = accounts->list.items[i];

		if (accounts_is_idle(accounts, &account) ||
		    table_add(&accounts->table, accounts_hash(account.key), kept) < 0)
			continue;
		accounts->list.items[kept++] = account;
	}
	accounts->list.count = kept;
}

void accounts_begin(struct accounts *accounts, uint64_t periods)
{
	accounts->period += periods;
	accounts->all = accounts_refill(&accounts->limits.all, accounts->all, periods);
	if (accounts->list.count > KEEP_MIN)
		accounts_forget_idle(accounts);
}

static bool accounts_equal(const void *context, uint32_t at, const void *key)
{
	return ((const struct accounts *)context)->list.items[at].key == *(const uint64_t *)key;
}

static struct account *accounts_account(struct accounts *accounts, uint64_t key)
{
	uint64_t hash = accounts_hash(key);
	uint32_t at = table_find(&accounts->table, hash, accounts_equal, accounts, &key);
	struct account fresh = { .key = key,
				 .own = (int64_t)accounts->limits.own.burst,
				 .sure = accounts->limits.sure.burst,
				 .period = accounts->period };

	if (at != TABLE_NONE)
		return &accounts->list.items[at];
	if (accounts->list.count >= ACCOUNTS_MAX)
		return &accounts->list.items[hash % accounts->list.count];
	at = accounts->list.count;
	if (array_reserve(&accounts->list, at + 1) < 0 || table_add(&accounts->table, hash, at) < 0)
		return NULL;
	accounts->list.items[accounts->list.count++] = fresh;
	return &accounts->list.items[at];
}

bool accounts_take(struct accounts *accounts, uint64_t key, uint64_t cost)
{
	struct account *account = accounts_account(accounts, key);

	if (!account)
		return true;
	accounts_refill_account(accounts, account);
	if (account->own <= 0 || (!accounts->all && !account->sure)) {
		account->refused++;
		return false;
	}
	account->own -= (int64_t)MIN((uint64_t)account->own + accounts->limits.owed_max, cost);
	if (accounts->all)
		accounts->all -= MIN(accounts->all, cost);
	else
		account->sure -= MIN(account->sure, cost);
	return true;
}
