/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Each check reads the host's figures, and adds its findings and what it checked to the report.
 * Returns 0 or -ENOMEM.
 */

#include "audit/host-figures.h"
#include "audit/report.h"

int check_memory_cgroups(const struct host *host, struct report *report);
int check_units(const struct host *host, struct report *report);
int check_containers(const struct host *host, struct report *report);
int check_crashes(const struct host *host, struct report *report);
int check_reclaim(const struct host *host, struct report *report);
int check_pressure(const struct host *host, struct report *report);
int check_cores(const struct host *host, struct report *report);
int check_queues(const struct host *host, struct report *report);
int check_sampling(const struct host *host, struct report *report);
int check_recorder(const struct host *host, struct report *report);
