/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* An audit's report as text and as JSON. */

#include "audit/report.h"
#include "draw/terminal.h"

void audit_put_text(const struct report *report, const struct terminal *terminal,
		    struct buffer *text);
/* Puts one JSON object; docs/AUDIT.md describes it. */
void audit_put_json(const struct report *report, struct buffer *json);
