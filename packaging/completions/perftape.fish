# SPDX-License-Identifier: GPL-2.0-only
# The program makes the script from its own tables of options, so both always agree.
perftape completion fish 2>/dev/null | source
