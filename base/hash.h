/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Hashes for tables. Two kinds:
 *
 *   - keyed: hash_text() and hash_numbers(). Each process has a different key, so nobody
 *     outside can choose texts or numbers that collide. Use them for all that processes, files or
 *     logs name. Nothing that is stored or shown may depend on their values.
 *   - fixed: hash_u64() and hash_bytes(). Use them for a value that must stay the same, such as the
 *     name of a file.
 */

#include <stddef.h>
#include <stdint.h>

/* Written once, before main(). A test may replace it while no table exists. */
extern uint64_t hash_secret[2];

/* SipHash-1-3 of Aumasson and Bernstein. */
uint64_t hash_sip13(const uint64_t key[2], const void *data, size_t size);

static inline uint64_t hash_text(const void *text, size_t size)
{
	return hash_sip13(hash_secret, text, size);
}

/* Returns both halves, XORed, of a product of two numbers that contain secrets. */
static inline uint64_t hash_numbers(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)(a ^ hash_secret[0]) * (b ^ hash_secret[1]);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_u64(uint64_t value)
{
	value ^= value >> 32;
	value *= 0xd6e8feb86659fd93ull;
	value ^= value >> 32;
	value *= 0xd6e8feb86659fd93ull;
	value ^= value >> 32;
	return value;
}

uint64_t hash_bytes(const void *data, size_t size);
