/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The naming helper's side: answers questions in the sandbox (process/sandbox.h). */

#define NAME_SERVER_JOB "name"

/* The job of a helper process, see process/helper.h. */
int name_server_run(int socket);
