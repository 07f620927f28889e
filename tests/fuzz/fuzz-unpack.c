// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that claim to be packed. Unpacking must end, stay within its limit, and leave the source
 * unchanged if it fails.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "pack/unpack.h"

#define LIMIT (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_close_ int fd = memfd_create("packed", MFD_CLOEXEC);
	struct error error = { 0 };
	struct stat about;
	bool damaged;
	int r;

	if (fd < 0 || file_write_all(fd, data, size) < 0)
		abort();
	r = unpack_file(&fd, "/tmp", LIMIT, &damaged, &error);
	if (fstat(fd, &about) < 0 || (r < 0) != (*error.text != 0))
		abort();
	if (r == 1 ? about.st_size > LIMIT : about.st_size != (off_t)size)
		abort();
	return 0;
}
