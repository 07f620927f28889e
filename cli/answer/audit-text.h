/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* An audit's report for people, and for programs. */

#include "audit/report.h"
#include "draw/terminal.h"

void audit_put_text(const struct report *report, const struct terminal *terminal,
		    struct buffer *text);
/* One object of JSON, as docs/AUDIT.md tells. */
void audit_put_json(const struct report *report, struct buffer *json);
