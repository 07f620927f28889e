// SPDX-License-Identifier: GPL-2.0-only
/* Maps and dumps of generated code. A map is text, and the test makes a dump. */
#include "tests/check.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/file.h"
#include "symbolizer/jit.h"

static void want(struct addresses *addresses)
{
	for (uint64_t address = 0x1000; address < 0x1100; address += 8)
		CHECK_EQ(addresses_add(addresses, address), 0);
	addresses_sort(addresses);
}

static const char *name_at(const struct addresses *addresses, uint64_t address)
{
	return addresses_name(addresses, addresses_find(addresses, address));
}

static void test_map(void)
{
	static const char text[] = "1000 10 first\n"
				   "1010 10 LazyCompile:~run /srv/a b.js:3\n"
				   "not a line\n"
				   "1020\n"
				   "1020 \n"
				   "1020 8\n"
				   "1020 8 \n"
				   "0x 8 no number\n"
				   "0x0x1020 8 two prefixes\n"
				   "0x1020 0 no size\n"
				   "1028 zz size\n"
				   "1030 20 before\n"
				   "1038 8 after\r\n"
				   "0x0000000000001058 0x10 java.lang.Object::wait\n"
				   "0x1068 8 half of it\n"
				   "1080 FFFFFFFFFFFFFFFF to the end\n"
				   "10f8 8 the last one without a newline";
	struct file_window source = file_window_of_memory(text, strlen(text));
	_cleanup_(addresses_done) struct addresses addresses = { 0 };

	want(&addresses);
	CHECK_EQ(perf_map_names(&source, &addresses), 0);
	CHECK_STR(name_at(&addresses, 0x1008), "first");
	CHECK_STR(name_at(&addresses, 0x1010), "LazyCompile:~run /srv/a b.js:3");
	CHECK_EQ(addresses_find(&addresses, 0x1018)->start, 0x1010);
	CHECK_STR(name_at(&addresses, 0x1020), "");
	CHECK_STR(name_at(&addresses, 0x1028), "");
	CHECK_STR(name_at(&addresses, 0x1030), "before");
	CHECK_STR(name_at(&addresses, 0x1038), "after");
	CHECK_STR(name_at(&addresses, 0x1048), "before");
	CHECK_STR(name_at(&addresses, 0x1050), "");
	CHECK_STR(name_at(&addresses, 0x1060), "java.lang.Object::wait");
	CHECK_EQ(addresses_find(&addresses, 0x1060)->start, 0x1058);
	CHECK_STR(name_at(&addresses, 0x1068), "half of it");
	CHECK_STR(name_at(&addresses, 0x10f0), "to the end");
	CHECK_STR(name_at(&addresses, 0x10f8), "the last one without a newline");
}

/* A very long name is truncated, and its rest does not become another line. */
static void test_long_line(void)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	struct file_window source;

	buffer_text(&text, "1000 8 ");
	while (text.size < 20000)
		buffer_text(&text, "1008 8 x");
	buffer_text(&text, "\n1010 8 next\n");
	source = file_window_of_memory(text.data, text.size);
	want(&addresses);
	CHECK_EQ(perf_map_names(&source, &addresses), 0);
	CHECK_EQ(strlen(name_at(&addresses, 0x1000)), 4095);
	CHECK_STR(name_at(&addresses, 0x1008), "");
	CHECK_STR(name_at(&addresses, 0x1010), "next");
}

static void put_load(struct buffer *dump, uint32_t kind, uint64_t start, uint64_t size,
		     const char *name)
{
	static const uint8_t code[12];

	buffer_u32(dump, kind);
	buffer_u32(dump, 56 + strlen(name) + 1 + sizeof(code));
	buffer_u64(dump, 1234);
	buffer_u32(dump, 1);
	buffer_u32(dump, 1);
	buffer_u64(dump, start);
	buffer_u64(dump, start);
	buffer_u64(dump, size);
	/* its index */
	buffer_u64(dump, start);
	buffer_bytes(dump, name, strlen(name) + 1);
	buffer_bytes(dump, code, sizeof(code));
}

static void put_move(struct buffer *dump, uint64_t index, uint64_t from, uint64_t to, uint64_t size)
{
	buffer_u32(dump, 1);
	buffer_u32(dump, 64);
	buffer_u64(dump, 1234);
	buffer_u32(dump, 1);
	buffer_u32(dump, 1);
	buffer_u64(dump, from);
	buffer_u64(dump, from);
	buffer_u64(dump, to);
	buffer_u64(dump, size);
	buffer_u64(dump, index);
}

static void make_dump(struct buffer *dump)
{
	buffer_u32(dump, 0x4a695444);
	buffer_u32(dump, 1);
	buffer_u32(dump, 40);
	while (dump->size < 40)
		buffer_u8(dump, 0);
	put_load(dump, 0, 0x1000, 0x20, "before");
	put_load(dump, 2, 0x1020, 0x20, "lines, not code");
	put_move(dump, 0x1000, 0x1000, 0x3000, 0x20);
	put_load(dump, 0, 0x1010, 0x10, "Main.run(int[])");
	/* the same code moves twice; the last move is of code that was never loaded */
	put_move(dump, 0x1010, 0x1010, 0x3010, 0x10);
	put_move(dump, 0x1010, 0x3010, 0x4000, 0x10);
	put_move(dump, 0x9999, 0x1010, 0x1010, 0x10);
	CHECK(!buffer_failed(dump));
}

static void test_dump(void)
{
	_cleanup_(buffer_done) struct buffer dump = { 0 };
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	struct file_window source;

	make_dump(&dump);
	source = file_window_of_memory(dump.data, dump.size);
	want(&addresses);
	CHECK_EQ(jitdump_names(&source, &addresses), 0);
	CHECK_STR(name_at(&addresses, 0x1008), "before");
	CHECK_STR(name_at(&addresses, 0x1010), "Main.run(int[])");
	CHECK_EQ(addresses_find(&addresses, 0x1018)->start, 0x1010);
	CHECK_STR(name_at(&addresses, 0x1020), "");
}

/* A name moves with its code. Samples at the old place keep the name too. */
static void test_moved(void)
{
	_cleanup_(buffer_done) struct buffer dump = { 0 };
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	struct file_window source;

	make_dump(&dump);
	source = file_window_of_memory(dump.data, dump.size);
	for (uint64_t address = 0x1008; address <= 0x4008; address += 0x1000)
		CHECK_EQ(addresses_add(&addresses, address), 0);
	CHECK_EQ(addresses_add(&addresses, 0x3018), 0);
	addresses_sort(&addresses);
	CHECK_EQ(jitdump_names(&source, &addresses), 0);
	CHECK_STR(name_at(&addresses, 0x1008), "before");
	CHECK_STR(name_at(&addresses, 0x2008), "");
	CHECK_STR(name_at(&addresses, 0x3008), "before");
	CHECK_STR(name_at(&addresses, 0x3018), "Main.run(int[])");
	CHECK_STR(name_at(&addresses, 0x4008), "Main.run(int[])");
	CHECK_EQ(addresses_find(&addresses, 0x4008)->start, 0x4000);
}

/* With each byte changed and at each length the call must return. */
static void test_damage(void)
{
	_cleanup_(buffer_done) struct buffer dump = { 0 };

	make_dump(&dump);
	for (size_t at = 0; at < dump.size * 4; at++) {
		static const uint8_t changes[] = { 0xff, 0x80, 0x01, 0 };
		_cleanup_(addresses_done) struct addresses addresses = { 0 };
		struct file_window source =
			file_window_of_memory(dump.data, changes[at % 4] ? dump.size : at / 4);

		want(&addresses);
		dump.data[at / 4] ^= changes[at % 4];
		CHECK_EQ(jitdump_names(&source, &addresses), 0);
		dump.data[at / 4] ^= changes[at % 4];
	}
}

/*
 * With PERFTAPE_WRITE_JIT=DIR, the test also writes the dump to DIR. The files in
 * tests/fuzz/corpus/jit were made in this way.
 */
static void test_write(void)
{
	const char *dir = getenv("PERFTAPE_WRITE_JIT");
	_cleanup_(buffer_done) struct buffer dump = { 0 };

	make_dump(&dump);
	if (dir)
		CHECK_EQ(file_replace(dir, "dump", dump.data, dump.size), 0);
}

CHECK_MAIN({ "a perf map gives names", test_map }, { "a long line is truncated", test_long_line },
	   { "a jitdump gives names", test_dump }, { "code that moved keeps its name", test_moved },
	   { "damaged dumps do no harm", test_damage },
	   { "the dump is written on request", test_write })
