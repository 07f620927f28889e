// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program of framed.py, built with frame pointers: calls functions of every shape until a
 * signal ends it. All of its own frames can be walked by frame pointer, too.
 */
#include <alloca.h>
#include <stdint.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

static volatile uint64_t sink;

/* The compiler leaves out the frame of a function that calls no other, unless it needs the frame.
 */
__attribute__((always_inline)) static inline uint64_t own_frame(void)
{
	return (uint64_t)(uintptr_t)__builtin_frame_address(0);
}

static APART uint64_t leaf(uint64_t value)
{
	return value * 0x9e3779b97f4a7c15ull + (sink ^ own_frame());
}

static APART uint64_t with_alloca(uint64_t size)
{
	uint8_t *bytes = alloca(size % 500 + 16);

	bytes[size % 16] = (uint8_t)size;
	return leaf(bytes[size % 16]) + bytes[0];
}

static APART uint64_t realigned(uint64_t value)
{
	_Alignas(64) uint8_t bytes[256];

	bytes[value % 256] = (uint8_t)value;
	return with_alloca(value) + bytes[value % 256];
}

static APART uint64_t large_frame(uint64_t value)
{
	volatile uint8_t bytes[3000];

	bytes[value % 3000] = (uint8_t)value;
	return realigned(value + 1) + bytes[value % 3000];
}

static APART uint64_t loops(uint64_t value)
{
	for (unsigned int i = 0; i < 20; i++)
		value ^= value << 13 ^ value >> 7 ^ i;
	return value ^ own_frame();
}

static APART uint64_t recursive(unsigned int depth, uint64_t value)
{
	uint64_t below = depth ? recursive(depth - 1, value + depth) : large_frame(value);

	return below + loops(value);
}

static APART uint64_t by_pointer(uint64_t (*function)(uint64_t), uint64_t value)
{
	return function(value) + 1;
}

int main(void)
{
	for (uint64_t i = 0;; i++)
		sink += recursive(i % 12, i) + by_pointer(i % 2 ? realigned : large_frame, i);
}
