/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Writes how many user stacks are whole, as text and JSON. */

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "tape/stack-ends.h"

#define STACKS_TEXT_SIZE 96

/*
 * Writes "97.3 % whole, 2.1 % cut, 0.6 % by frame pointer only" without the shares that are 0.
 * Writes "" if there are no stacks. Returns `text`.
 */
const char *stacks_text(const struct stack_shares *shares, char text[STACKS_TEXT_SIZE]);
/* Writes the counts as an object. */
void stacks_text_put_json(const struct stack_shares *shares, struct buffer *json);
