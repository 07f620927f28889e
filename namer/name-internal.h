/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Functions that only the files of namer/ use. */

#include "namer/name-helper.h"
#include "process/fd-message.h"

/*
 * Asks one question. Returns 0 with an answer; *ret_result is the result that the helper states. A
 * failure ends the helper.
 */
int name_helper_ask(struct name_helper *helper, const struct name_question *question,
		    const uint64_t *addresses, const int files[FD_MESSAGE_FILES], int *ret_result,
		    struct buffer *body);
/* Returns the error for the caller of a question from the result that the helper stated. */
int name_helper_result(struct name_helper *helper, int result);

/* In the helper: writes the unwind table of `file` into `memory`, and its size into the answer. */
int name_server_unwind(int file, int memory, struct buffer *body);
