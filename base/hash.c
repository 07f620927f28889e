// SPDX-License-Identifier: GPL-2.0-only
#include "base/hash.h"

#include <endian.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

uint64_t hash_secret[2];

struct sip {
	uint64_t v0, v1, v2, v3;
};

static uint64_t sip_rotate(uint64_t value, unsigned int bits)
{
	return value << bits | value >> (64 - bits);
}

static void sip_round(struct sip *sip)
{
	sip->v0 += sip->v1;
	sip->v2 += sip->v3;
	sip->v1 = sip_rotate(sip->v1, 13) ^ sip->v0;
	sip->v3 = sip_rotate(sip->v3, 16) ^ sip->v2;
	sip->v0 = sip_rotate(sip->v0, 32);
	sip->v2 += sip->v1;
	sip->v0 += sip->v3;
	sip->v1 = sip_rotate(sip->v1, 17) ^ sip->v2;
	sip->v3 = sip_rotate(sip->v3, 21) ^ sip->v0;
	sip->v2 = sip_rotate(sip->v2, 32);
}

/* Mixes in one word, with one round. */
static void sip_word(struct sip *sip, uint64_t word)
{
	sip->v3 ^= word;
	sip_round(sip);
	sip->v0 ^= word;
}

uint64_t hash_sip13(const uint64_t key[2], const void *data, size_t size)
{
	struct sip sip = { key[0] ^ 0x736f6d6570736575ull, key[1] ^ 0x646f72616e646f6dull,
			   key[0] ^ 0x6c7967656e657261ull, key[1] ^ 0x7465646279746573ull };
	const uint8_t *at = data;
	uint64_t word, last = (uint64_t)size << 56;

	for (; size >= 8; size -= 8, at += 8) {
		memcpy(&word, at, 8);
		sip_word(&sip, le64toh(word));
	}
	word = 0;
	if (size)
		memcpy(&word, at, size);
	sip_word(&sip, last | le64toh(word));
	sip.v2 ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(&sip);
	return sip.v0 ^ sip.v1 ^ sip.v2 ^ sip.v3;
}

/*
 * The kernel gives each program 16 random bytes. The C library derives other secrets from these
 * bytes, so the key is a hash of the bytes and of the process number.
 */
__attribute__((constructor)) static void hash_choose_key(void)
{
	const void *bytes = (const void *)getauxval(AT_RANDOM);
	uint64_t random[2] = { 0 }, number[2] = { getpid(), 0 };

	if (bytes)
		memcpy(random, bytes, sizeof(random));
	for (uint64_t i = 0; i < 2; i++) {
		number[1] = i;
		hash_secret[i] = hash_sip13(random, number, sizeof(number));
	}
}

uint64_t hash_bytes(const void *data, size_t size)
{
	const uint8_t *at = data;
	uint64_t hash = size * 0x9e3779b97f4a7c15ull, word;

	for (; size >= 8; size -= 8, at += 8) {
		memcpy(&word, at, 8);
		hash = (hash ^ word) * 0xd6e8feb86659fd93ull;
		hash ^= hash >> 32;
	}
	word = 0;
	if (size)
		memcpy(&word, at, size);
	return hash_u64(hash ^ word);
}
