/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Reads the host's figures of the last hours, and the recorder's events about dying cgroups, from
 * the store.
 */

#include "audit/host-figures.h"

/*
 * Adds the recorded figures and events to the host's figures. Returns 0, also when the store has
 * none of them. Returns a negative errno with an error when it cannot read the store.
 */
int history_read(struct host *host, struct error *error);
