/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The unpacking helper. Parent and helper are the same program, so their messages do not need a
 * version. The helper does not trust the parent's bytes, and the parent does not trust an answer.
 *
 * The parent first sends UNPACK_HEAD bytes of the stream. Then it sends questions: a u32 size of at
 * most UNPACK_QUESTION_MAX, and as many packed bytes. The size 0 ends the stream. The helper
 * answers each question with parts: an i32 size from 1 to UNPACK_PART_MAX, and as many unpacked
 * bytes. The last part is only an i32, the result: 0 or a negative errno.
 */

#define UNPACK_SERVER_JOB "unpack"

#define UNPACK_QUESTION_MAX (64u << 10)
#define UNPACK_PART_MAX (128u << 10)

int unpack_server_run(int socket);
