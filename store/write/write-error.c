// SPDX-License-Identifier: GPL-2.0-only
#include "store/write/write-error.h"

#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

static const char rights_remedy[] =
	"give the store to that user (chown -R), record as root, or choose another --store";

static const struct {
	int code;
	const char *what;
	const char *remedy;
} reasons[] = {
	{ EROFS, "the file system is mounted read-only",
	  "mount it for writing, or choose another --store" },
	{ ENOSPC, "the disk is full, or has no inodes left",
	  "free some space there, or choose another --store" },
	{ EDQUOT, "the quota is used up", "free some space there, or choose another --store" },
	{ ENOTDIR, "a part of the path is a file", "choose another --store" },
	{ ELOOP, "it is a symbolic link, which perftape does not follow",
	  "put the folder itself there, or choose another --store" },
	{ ENAMETOOLONG, "a name in the path is too long", "choose another --store" },
};

int write_error_set(struct error *error, int code, const char *store, const char *doing,
		    const char *name)
{
	if (code == -EACCES || code == -EPERM)
		return error_set(error, code, "%s: cannot %s its %s: user %d lacks the right; %s",
				 store, doing, name, (int)geteuid(), rights_remedy);
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (code == -reasons[i].code)
			return error_set(error, code, "%s: cannot %s its %s: %s; %s", store, doing,
					 name, reasons[i].what, reasons[i].remedy);
	return error_set(error, code, "%s: cannot %s its %s: %s", store, doing, name,
			 strerror(-code));
}
