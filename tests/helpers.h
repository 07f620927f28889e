/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Lets a test program run the helper processes of the product. The product starts itself anew for
 * them, and in a test that is the test program. Include this header in a test that names, opens or
 * unpacks files.
 */

#include "process/helper.h"
#include "namer/name-server.h"

#ifdef HELPERS_OPEN
#include "recorder/files/open-helper.h"
#endif
#ifdef HELPERS_UNPACK
#include "unpacker/unpack-server.h"
#endif

static __attribute__((constructor)) void helpers_enter(int argc, char **argv)
{
	static const struct helper_job jobs[] = {
		{ NAME_SERVER_JOB, name_server_run },
#ifdef HELPERS_OPEN
		{ OPEN_HELPER_JOB, open_helper_run },
		{ OPEN_KEEPER_JOB, open_helper_keep },
#endif
#ifdef HELPERS_UNPACK
		{ UNPACK_SERVER_JOB, unpack_server_run },
#endif
		{ 0 },
	};

	helper_enter(argc, argv, jobs);
}
