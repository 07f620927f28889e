/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Shares a bounded amount of work between accounts, such as processes, so that an account that
 * wants too much loses its own part and no other account does.
 *
 * Each account has a bucket, and all accounts together have one. Each period refills the buckets. A
 * request needs both. If the common bucket is empty, an account may still spend its sure part,
 * which is small. So an account that asks for little always gets it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/table.h"

/* The size of a bucket, and what a period adds to it. */
struct account_bucket {
	uint64_t burst;
	uint64_t rate;
};

struct account_limits {
	struct account_bucket own;
	struct account_bucket sure;
	struct account_bucket all;
};

struct account {
	uint64_t key;
	/* What is left in its buckets, in the period of that number. */
	uint64_t own;
	uint64_t sure;
	uint64_t period;
	/* Requests that were refused since the caller set it to 0. */
	uint64_t refused;
};

/* All other accounts are one account. */
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
/* Begins a period. Forgets accounts with full buckets from time to time. */
void accounts_begin(struct accounts *accounts);
/* Forgets all accounts. The common bucket stays as it is. */
void accounts_forget(struct accounts *accounts);
/*
 * Spends from an account. A request that exceeds what is left empties the buckets. Returns false if
 * they are empty already, and counts that. A cost of 0 only asks. Without memory for the account,
 * returns true.
 */
bool accounts_take(struct accounts *accounts, uint64_t key, uint64_t cost);
