/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Asks systemd about its units over the socket that systemctl uses, with a few read-only D-Bus
 * messages. All answers together must come within some seconds; after -ETIMEDOUT, do not ask again.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct systemd;

/*
 * Connects to the systemd below the root. Returns 0; -ENOENT and the like when systemd does not
 * run; -EACCES when we may not ask it.
 */
int systemd_open(const char *root, struct systemd **ret_systemd);
struct systemd *systemd_close(struct systemd *systemd);
DEFINE_CLEANUP(systemd, struct systemd *, systemd_close)

/*
 * Calls `see` with each unit that failed or waits for a restart. A negative result of `see` ends
 * the walk, and the function returns this result.
 */
int systemd_each_troubled(struct systemd *systemd,
			  int (*see)(void *context, const char *name, const char *active,
				     const char *sub),
			  void *context);
/*
 * Returns how often systemd restarted a service by itself. Returns -EOPNOTSUPP if systemd does not
 * know the service.
 */
int systemd_restarts(struct systemd *systemd, const char *unit, uint32_t *ret_count);

/*
 * Parse the bodies of answers. Return -EBADMSG when the bytes are wrong. Used by the functions
 * above and by tests.
 */
int systemd_parse_units(const void *body, size_t size,
			int (*see)(void *context, const char *name, const char *active,
				   const char *sub),
			void *context);
int systemd_parse_number(const void *body, size_t size, uint32_t *ret_number);
