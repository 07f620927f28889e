#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds this tree for arm64 in a root of Debian 12, with packaging/arm64.ini, and runs the program and the unit
# tests under qemu-user. Usage: try-arm64.sh. TAP.
set -euo pipefail

# qemu-user has neither perf events, seccomp, limits of memory nor /proc/PID/map_files. In /proc it shows its own
# mappings, system calls and name. It does not deliver each fault of a thread, and cannot execute /proc/self/exe. These
# tests need that, so only a kernel for arm64 can run them.
not_emulated='debug-names|faults|file-owner|folder-rights|forgetting|frame-uses|hostile-elf|hostile-processes|mounts'
not_emulated+='|name-helper|namer|old-kernels|opener|perf-poll|progress|sealer|unwind-tables|watchdog-child'

root=$(cd "$(dirname "$0")/.." && pwd -P)
. "$root/packaging/roots.sh"
inside_namespace "$@"
name=$(cross_root bookworm arm64)
top=$(mktemp -d "${TMPDIR:-/var/tmp}/perftape-arm64.XXXXXX")
trap 'umount --lazy "$top/$name"; rm -rf --one-file-system "$top"' EXIT
dir=$(overlay "$name" "$top")
copy_tree "$dir/tree"

in_dir "$dir" "cd /tree && meson setup build-arm64 --cross-file packaging/arm64.ini && ninja -C build-arm64" \
	>"$top/log" 2>&1 || { tail -n 40 "$top/log"; echo "not ok 1 - the tree builds for arm64"; exit 1; }
echo "ok 1 - the tree builds for arm64"
in_dir "$dir" "cd /tree && qemu-aarch64-static build-arm64/perftape --version" ||
	{ echo "not ok 2 - the program runs"; exit 1; }
echo "ok 2 - the program runs"

listing=$(in_dir "$dir" "cd /tree && meson test -C build-arm64 --list --suite unit 2>/dev/null")
mapfile -t tests < <(sed -n 's/^perftape:unit.* \/ //p' <<<"$listing" | grep -v -x -E "unit ($not_emulated)")
[ "${#tests[@]}" -gt 80 ] || fail "only ${#tests[@]} unit tests"
in_dir "$dir" "cd /tree && meson test -C build-arm64 --timeout-multiplier 20 ${tests[*]@Q}" >"$top/log" 2>&1 &&
	worked='' || worked='not '
sed -n -E '/(FAIL|TIMEOUT|ERROR|Ok:|Fail:)/s/^/# /p' "$top/log" | tail -n 40
echo "${worked}ok 3 - ${#tests[@]} unit tests pass"
[ -z "$worked" ]
