# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# The program makes the script from its own tables of options, so both always agree.
eval "$(perftape completion bash 2>/dev/null)"
