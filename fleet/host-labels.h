/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The labels of this host, by which a fleet is divided, and facts that may explain why two hosts
 * behave differently. All come from files, and systemd names units that failed, and how often it
 * restarted services. Nothing asks a metadata service. A label of
 * /etc/perftape/labels.conf, "NAME = VALUE", takes precedence over what files of the host say.
 */

#include "base/error.h"
#include "fleet/batch-rows.h"

#define HOST_LABELS_FILE "/etc/perftape/labels.conf"
/* The names of labels begin with this. */
#define HOST_LABELS_PREFIX "label/"

/*
 * Puts a row of each label and fact. `root` stands before all paths; "" is this host. Returns 0,
 * -ENOMEM, or -EINVAL with a text for a line of labels.conf that is not a label.
 */
int host_labels_put(const char *root, const char *host, uint64_t now_ns, struct batch_rows *rows,
		    struct error *error);
