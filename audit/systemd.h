/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Asks systemd what it knows of its units, over the socket on which systemctl asks it: a few
 * messages of D-Bus, read-only. Answers that do not come within some seconds, all of them together,
 * do not come: -ETIMEDOUT. Then there is no use in asking on.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct systemd;

/* The one below the root. -ENOENT and the like where there is none, -EACCES where it is not for us.
 */
int systemd_open(const char *root, struct systemd **ret_systemd);
struct systemd *systemd_close(struct systemd *systemd);
DEFINE_CLEANUP(systemd, struct systemd *, systemd_close)

/* Each unit that failed, or waits to be started again. A negative answer of `see` ends it and is
 * handed on. */
int systemd_each_troubled(struct systemd *systemd,
			  int (*see)(void *context, const char *name, const char *active,
				     const char *sub),
			  void *context);
/* How often it started a service again by itself; -EOPNOTSUPP: it knows of none of that name. */
int systemd_restarts(struct systemd *systemd, const char *unit, uint32_t *ret_count);

/* The answers' bodies, for the above and for tests. -EBADMSG when they are anything else. */
int systemd_parse_units(const void *body, size_t size,
			int (*see)(void *context, const char *name, const char *active,
				   const char *sub),
			void *context);
int systemd_parse_number(const void *body, size_t size, uint32_t *ret_number);
