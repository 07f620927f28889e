/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Reads from the store the host's figures of the last hours, and the recorder's events about dying
 * cgroups.
 */

#include "audit/host-figures.h"

/*
 * Adds the recorded figures and events to the host's figures. Returns 0, also when nothing was
 * recorded; a negative errno with an error when the store cannot be read.
 */
int history_read(struct host *host, struct error *error);
