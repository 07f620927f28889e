// SPDX-License-Identifier: GPL-2.0-only
/*
 * Starts of functions from .eh_frame, of the recipes below and of this program. With
 * PERFTAPE_WRITE_EH_FRAME=DIR, the test also writes the recipes' sections to DIR. The files in
 * tests/fuzz/corpus/eh-frame were made in this way.
 */
#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/file.h"
#include "symbolizer/eh-frame.h"
#include "symbolizer/elf.h"
#include "symbolizer/trampolines.h"
#include "tests/elves.h"

struct recipe {
	const char *name;
	const char *letters;
	uint8_t version;
	uint8_t encoding;
	/* functions that must be found */
	size_t count;
};

static const struct recipe recipes[] = {
	{ "relative", "zR", 1, 0x1b, 2 },	 { "absolute", "", 1, 0x00, 2 },
	{ "personality", "zPLR", 1, 0x1b, 2 },	 { "signal", "zRS", 3, 0x1b, 2 },
	{ "8 bytes", "zR", 3, 0x1c, 2 },	 { "2 bytes", "zR", 1, 0x1a, 2 },
	{ "indirect", "zR", 1, 0x9b, 0 },	 { "LEB", "zR", 1, 0x11, 0 },
	{ "unknown letter", "zXR", 1, 0x1b, 0 }, { "version 7", "zR", 7, 0x1b, 0 },
};

static const struct eh_function functions[] = {
	{ .start = ELVES_CODE + 0x100, .size = 0x40 },
	{ .start = ELVES_CODE + 0x200, .size = 0x10 },
};

static void put_common(const struct recipe *recipe, struct buffer *frame)
{
	_cleanup_(buffer_done) struct buffer body = { 0 };

	buffer_u32(&body, 0);
	buffer_u8(&body, recipe->version);
	buffer_bytes(&body, recipe->letters, strlen(recipe->letters) + 1);
	buffer_bytes(&body, (uint8_t[]){ 1, 0x78, 16 }, 3);
	if (recipe->letters[0]) {
		buffer_u8(&body, 7);
		if (strchr(recipe->letters, 'P'))
			buffer_bytes(&body, (uint8_t[]){ 0x1b, 1, 2, 3, 4, 0x1b }, 6);
		buffer_u8(&body, recipe->encoding);
	}
	elves_pad(&body, 28);
	buffer_u32(frame, body.size);
	buffer_bytes(frame, body.data, body.size);
}

static void put_function(const struct recipe *recipe, const struct eh_function *function,
			 struct buffer *frame)
{
	size_t at = frame->size + 8;
	uint64_t place = recipe->encoding ? ELVES_DATA + at : 0;

	buffer_u32(frame, 28);
	buffer_u32(frame, at - 4);
	if (recipe->encoding == 0x1a) {
		buffer_u16(frame, function->start - place);
		buffer_u16(frame, function->size);
	} else if (recipe->encoding == 0x1b) {
		buffer_u32(frame, function->start - place);
		buffer_u32(frame, function->size);
	} else {
		buffer_u64(frame, function->start - place);
		buffer_u64(frame, function->size);
	}
	while (frame->size < at + 24)
		buffer_u8(frame, 0);
}

static void make_frame(const struct recipe *recipe, struct buffer *frame)
{
	put_common(recipe, frame);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		put_function(recipe, &functions[i], frame);
		/* an entry of size zero in the middle, which linkers leave between files */
		if (i == 0)
			buffer_u32(frame, 0);
	}
	CHECK(!buffer_failed(frame));
}

/* With a recipe, compares the functions that were found with those of the recipe. */
static size_t walk(const struct buffer *bytes, const struct recipe *recipe)
{
	struct file_window source = file_window_of_memory(bytes->data, bytes->size);
	_cleanup_(eh_frame_done) struct eh_frame frame = { 0 };
	struct eh_function function;
	size_t count = 0;

	eh_frame_init(&frame, &source, ELVES_DATA, 8);
	for (; eh_frame_next(&frame, &function); count++) {
		CHECK(count < bytes->size);
		if (recipe) {
			CHECK_EQ(function.signal, strchr(recipe->letters, 'S') != NULL);
			CHECK_EQ(function.start, functions[count].start);
			CHECK_EQ(function.size, functions[count].size);
		}
	}
	return count;
}

static void test_recipes(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(recipes); i++) {
		_cleanup_(buffer_done) struct buffer frame = { 0 };

		make_frame(&recipes[i], &frame);
		CHECK_EQ(walk(&frame, &recipes[i]), recipes[i].count);
	}
}

/* Returns a file with the functions of a recipe, and without symbols. */
static int make_stripped(const struct recipe *recipe)
{
	_cleanup_(buffer_done) struct buffer frame = { 0 }, file = { 0 };
	int fd = memfd_create("elf", MFD_CLOEXEC);

	make_frame(recipe, &frame);
	elves_make(
		&file,
		(struct elves_section[]){
			{ ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, ELVES_CODE, 0, NULL },
			{ ".eh_frame", SHT_PROGBITS, SHF_ALLOC, ELVES_DATA, 0, &frame } },
		2);
	CHECK_EQ(file_write_all(fd, file.data, file.size), 0);
	return fd;
}

/* In a stripped file, .eh_frame still shows the functions to which signal handlers return. */
static void test_signal(void)
{
	_cleanup_close_ int fd = make_stripped(&recipes[3]);
	_cleanup_(addresses_done) struct addresses addresses = { 0 };

	CHECK_EQ(addresses_add(&addresses, 0x1100), 0);
	CHECK_EQ(elf_function_starts(fd, "libfoo.so.1", &addresses), 0);
	CHECK_STR(addresses_name(&addresses, addresses_find(&addresses, 0x1100)),
		  "[libfoo.so.1+0x401100 signal]");
	CHECK(trampoline_is_signal("[libfoo.so.1+0x401100 signal]"));
	CHECK(!trampoline_is_signal("[libfoo.so.1+0x401100]"));
}

static void test_names(void)
{
	_cleanup_close_ int fd = make_stripped(&recipes[0]);
	_cleanup_(addresses_done) struct addresses addresses = { 0 };

	for (uint64_t address = 0x10f0; address < 0x1300; address += 0x10)
		CHECK_EQ(addresses_add(&addresses, address), 0);
	addresses_sort(&addresses);
	/* an address that has a name keeps it */
	CHECK_EQ(addresses_answer(&addresses, 2, 0x1108, "known"), 0);
	CHECK_EQ(elf_function_starts(fd, "libfoo.so.1", &addresses), 0);
	CHECK_STR(addresses_name(&addresses, addresses_find(&addresses, 0x10f0)), "");
	CHECK_STR(addresses_name(&addresses, addresses_find(&addresses, 0x1100)),
		  "[libfoo.so.1+0x401100]");
	CHECK_STR(addresses_name(&addresses, addresses_find(&addresses, 0x1110)), "known");
	CHECK_STR(addresses_name(&addresses, addresses_find(&addresses, 0x1130)),
		  "[libfoo.so.1+0x401100]");
	CHECK_EQ(addresses_find(&addresses, 0x1130)->start, 0x1100);
	CHECK_STR(addresses_name(&addresses, addresses_find(&addresses, 0x1140)), "");
	CHECK_STR(addresses_name(&addresses, addresses_find(&addresses, 0x1200)),
		  "[libfoo.so.1+0x401200]");
	CHECK_STR(addresses_name(&addresses, addresses_find(&addresses, 0x1210)), "");
}

/*
 * .eh_frame and the symbols agree on the start of each function of a real program. The PLT is an
 * exception, because .eh_frame treats it as one function.
 */
static void test_this_program(void)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_(addresses_done) struct addresses by_symbol = { 0 }, by_frame = { 0 };
	size_t both = 0, same = 0;

	for (uint64_t address = 0; address < 0x40000; address += 0x33) {
		CHECK_EQ(addresses_add(&by_symbol, address), 0);
		CHECK_EQ(addresses_add(&by_frame, address), 0);
	}
	CHECK_EQ(elf_names(fd, -1, &by_symbol, NULL), 0);
	CHECK_EQ(elf_function_starts(fd, "test", &by_frame), 0);
	for (size_t i = 0; i < by_symbol.list.count; i++) {
		const struct address *symbol = &by_symbol.list.items[i];
		const struct address *frame = &by_frame.list.items[i];

		if (symbol->state != ADDRESSES_NAMED || frame->state != ADDRESSES_NAMED ||
		    strstr(addresses_name(&by_symbol, symbol), "@plt"))
			continue;
		both++;
		same += symbol->start == frame->start;
	}
	CHECK(both > 100);
	CHECK(same * 100 >= both * 99);
}

/* With each byte changed and at each length the call must return. */
static void test_damage(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(recipes); i++) {
		_cleanup_(buffer_done) struct buffer frame = { 0 };
		size_t size;

		make_frame(&recipes[i], &frame);
		size = frame.size;
		for (size_t at = 0; at < size * 3; at++) {
			static const uint8_t changes[] = { 0xff, 0x80, 0x01 };

			frame.data[at / 3] ^= changes[at % 3];
			walk(&frame, NULL);
			frame.data[at / 3] ^= changes[at % 3];
			frame.size = at / 3;
			walk(&frame, NULL);
			frame.size = size;
		}
	}
}

static void test_write_recipes(void)
{
	const char *dir = getenv("PERFTAPE_WRITE_EH_FRAME");

	for (size_t i = 0; dir && i < ARRAY_SIZE(recipes); i++) {
		_cleanup_(buffer_done) struct buffer frame = { 0 };

		make_frame(&recipes[i], &frame);
		CHECK_EQ(file_replace(dir, recipes[i].name, frame.data, frame.size), 0);
	}
}

CHECK_MAIN({ "each recipe gives its functions", test_recipes },
	   { "a function without a name is named by its start", test_names },
	   { "a stripped file tells where handlers of signals return to", test_signal },
	   { ".eh_frame agrees with the symbols of this program", test_this_program },
	   { "damaged sections do no harm", test_damage },
	   { "recipes are written on request", test_write_recipes })
