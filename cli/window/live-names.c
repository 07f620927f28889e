// SPDX-License-Identifier: GPL-2.0-only
#include "cli/window/live-names.h"

#include <string.h>

#include "base/file.h"

static bool is_of_this_boot(const struct tape *tape)
{
	_cleanup_free_ char *id = NULL;

	if (file_read("/proc/sys/kernel/random/boot_id", 64, &id, NULL) < 0)
		return false;
	id[strcspn(id, "\n")] = 0;
	return !strcmp(id, tape_fact(tape, "boot_id"));
}

int live_names_give(void *context, struct tape *tape)
{
	struct live_names *names = context;
	const struct finder finder = { .live = is_of_this_boot(tape) };
	struct namer **namer = finder.live ? &names->here : &names->before;

	if (!*namer && namer_new(&finder, NULL, namer) < 0)
		return -ENOMEM;
	return namer_run(*namer, tape);
}

void live_names_done(struct live_names *names)
{
	names->here = namer_free(names->here);
	names->before = namer_free(names->before);
}
