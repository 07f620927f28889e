#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Lives the life of a package in a bare root of a release: life-cycle.sh, without systemd. The recorder samples this
# machine for some seconds. Usage: try-package.sh bookworm|trixie PACKAGE.deb
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd -P)
. "$root/packaging/roots.sh"
[ $# = 2 ] || fail "usage: try-package.sh bookworm|trixie PACKAGE.deb"
inside_namespace "$@"
release=$1
make_root "$release" "$release" true
top=$(mktemp -d "${TMPDIR:-/var/tmp}/perftape-try.XXXXXX")
trap 'umount --lazy "$top/$release"; rm -rf --one-file-system "$top"' EXIT
dir=$(overlay "$release" "$top")
cp "$2" "$dir/perftape.deb"
cp "$root/packaging/life-cycle.sh" "$dir/"
in_dir "$dir" "apt-get update" >"$top/log" 2>&1 || { tail "$top/log" >&2; fail "apt-get update"; }
enter_dir "$dir" "bash /life-cycle.sh /perftape.deb"
