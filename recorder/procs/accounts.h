/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Shares a bounded amount of work between accounts, such as processes. An account that requests too
 * much is refused, without harm to the other accounts.
 *
 * Each account has a bucket (`own`), and all accounts share a common bucket (`all`). A request
 * needs both buckets. If the common bucket is empty, the account may still spend a small bucket
 * that is sure (`sure`). So an account that requests little is never refused. Each period refills
 * all buckets.
 *
 * The cost of some work is known only after the work. With `owed_max`, an account owes the part of
 * a cost that exceeds its bucket, up to this amount, and is refused until refills have paid it. So
 * an account gets no more by a few expensive requests than by many cheap ones.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/table.h"

/* The size of a bucket, and the amount that each period adds to it. */
struct account_bucket {
	uint64_t burst;
	uint64_t rate;
};

struct account_limits {
	struct account_bucket own;
	struct account_bucket sure;
	struct account_bucket all;
	uint64_t owed_max;
};

struct account {
	uint64_t key;
	/*
	 * The remaining amounts in the account's buckets, in the period with number `period`. Below
	 * 0, the account owes.
	 */
	int64_t own;
	uint64_t sure;
	uint64_t period;
	/*
	 * Requests that were refused since the caller set this member to 0. A caller that needs the
	 * number reads it before it begins a period, which may forget the account.
	 */
	uint64_t refused;
};

/*
 * With this number of accounts, a further key shares one of them. A secret hash chooses which, so
 * nobody can make the accounts of others share an exhausted one.
 */
#define ACCOUNTS_MAX 65536

struct accounts {
	/* The caller may change the limits between two periods. */
	struct account_limits limits;
	uint64_t period;
	uint64_t all;
	array_of(struct account) list;
	struct table table;
};

/* Starts with full buckets. */
void accounts_init(struct accounts *accounts, const struct account_limits *limits);
void accounts_done(struct accounts *accounts);
/*
 * Refills the buckets for this number of periods. Forgets accounts with full buckets from time to
 * time.
 */
void accounts_begin(struct accounts *accounts, uint64_t periods);
/*
 * Spends from an account. A cost that exceeds the remaining amount empties the buckets. If the
 * buckets are already empty, counts a refused request and returns false. With cost 0, only checks.
 * Returns true if there is no memory for the account.
 */
bool accounts_take(struct accounts *accounts, uint64_t key, uint64_t cost);
