// SPDX-License-Identifier: GPL-2.0-only
#include "query/explain/evidence.h"

int evidence_add_name(struct evidence *evidence, const char *name, uint32_t *ret_name)
{
	return strings_add(&evidence->names, name, strlen(name), ret_name);
}

void evidence_done(struct evidence *evidence)
{
	strings_done(&evidence->names);
	array_done(&evidence->coverage.gaps);
	array_done(&evidence->unread);
}
