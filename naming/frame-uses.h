/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * How a tape uses its frames. A caller's address is the return address of a call. If the call is
 * the last instruction of the caller, this address is already in the next function. The namer
 * therefore looks up a caller one byte before its address. It looks up other frames at the address
 * itself: leaves, the innermost frame in user space, and frames that a signal or an interrupt
 * stopped. Private to naming/.
 */

#include "naming/frames.h"

/* Starts zeroed. */
struct frame_uses {
	/* For each frame of the tape: values of enum frame_use, ORed. */
	array_of(uint8_t) of;
	/* For each module: whether it has frames that must be named again. */
	array_of(uint8_t) again;
};

/*
 * Finds the uses of all frames. Splits a frame without a name that is used both ways into two
 * frames. Trampolines without a name do not count as trampolines yet. Returns 0 or -ENOMEM.
 */
int frame_uses_find(struct frame_uses *uses, struct tape *tape);
/*
 * Finds the uses that the new names of trampolines show. Removes the names of frames whose use has
 * changed. Returns 1 if frames must be named again, 0 or -ENOMEM.
 */
int frame_uses_find_again(struct frame_uses *uses, struct tape *tape);
void frame_uses_done(struct frame_uses *uses);
