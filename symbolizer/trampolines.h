/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Recognises functions that other functions do not call. In a stack, their caller is code that was
 * interrupted, so the caller's address is not a return address.
 */

#include <stdbool.h>

/*
 * If the unwind table marks a function as a signal trampoline, the function's label ends with this
 * text.
 */
#define TRAMPOLINE_LABEL " signal]"

/*
 * Returns whether a signal's handler returns to this function, such as __restore_rt. The address in
 * the stack is that of the function's first byte, although no call precedes it. A "nop" precedes
 * the function by convention, so that unwinders that search one byte before the address find it.
 */
bool trampoline_is_signal(const char *name);
/*
 * Returns whether the CPU enters the kernel in this function because of an interrupt or an
 * exception.
 */
bool trampoline_is_interrupt(const char *name);
