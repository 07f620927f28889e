// SPDX-License-Identifier: GPL-2.0-only
/* The naming helper of the product names files that the test makes. */
#include "tests/check.h"

#include <sys/mman.h>

#include "base/clock.h"
#include "base/file.h"
#include "namer/name-helper.h"
#include "tests/elves.h"
#include "tests/helpers.h"
#include "tests/unwinds.h"

/* Returns a program without symbols. Its .eh_frame has two functions. */
static int make_stripped(void)
{
	_cleanup_(unwinds_frame_done) struct unwinds_frame frame = { 0 };
	_cleanup_(buffer_done) struct buffer file = { 0 };
	int fd = memfd_create("stripped", MFD_CLOEXEC);

	unwinds_common_x86_64(&frame);
	for (uint64_t at = 0x100; at <= 0x200; at += 0x100)
		unwinds_put_function(&frame, UNWINDS_FRAME - ELVES_DATA + ELVES_CODE + at, 0x40,
				     UNWINDS_PROGRAM(0x0e, 16), false);
	elves_make(
		&file,
		(struct elves_section[]){
			{ ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, ELVES_CODE, 0, NULL },
			{ ".eh_frame", SHT_PROGBITS, SHF_ALLOC, ELVES_DATA, 0, &frame.bytes } },
		2);
	CHECK_EQ(file_write_all(fd, file.data, file.size), 0);
	return fd;
}

/* Functions of a stripped program get labels with the program's name. An address outside has none.
 */
static void test_labels(void)
{
	const struct name_helper_patience patience = { 600 * NSEC_PER_SEC, 600 * NSEC_PER_SEC,
						       600 * NSEC_PER_SEC };
	_cleanup_(cleanup_name_helper) struct name_helper *helper = NULL;
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	_cleanup_close_ int fd = make_stripped();

	for (uint64_t address = 0x1110; address <= 0x1310; address += 0x100)
		CHECK_EQ(addresses_add(&addresses, address), 0);
	CHECK_EQ(name_helper_new(&patience, &helper), 0);
	CHECK_EQ(name_helper_elf(helper, fd, -1, "program", &addresses), 0);
	CHECK_STR(addresses_name(&addresses, addresses_find(&addresses, 0x1110)),
		  "[program+0x401100]");
	CHECK_STR(addresses_name(&addresses, addresses_find(&addresses, 0x1210)),
		  "[program+0x401200]");
	CHECK_STR(addresses_name(&addresses, addresses_find(&addresses, 0x1310)), "");
}

CHECK_MAIN({ "functions of a stripped program have labels", test_labels })
