/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Which CPU serves a queue of a network interface: its messages name a queue, and a profile needs a CPU. The kernel's table of interrupts has a
 * row IFNAME-Tx-Rx-QUEUE (or IFNAME-TxRx-QUEUE), as drivers name them.
 */

#include <stdint.h>

/* 0, or -ENOENT when it is not known, or not one CPU alone. `proc` is /proc, but for tests. Reading it takes a millisecond on a large host. */
int irq_cpu(const char *proc, const char *ifname, uint64_t queue, uint32_t *ret_cpu);
