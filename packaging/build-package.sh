#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the Debian package of this tree in a root of a release, and checks it with lintian.
# Usage: build-package.sh bookworm|trixie OUT [amd64|arm64] [FOLDER]
#
# OUT gets the files that dpkg-buildpackage makes. FOLDER is the parent of the source in the root; two
# folders make the same bytes. Set DEB_BUILD_OPTIONS=nocheck to leave out the unit tests.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd -P)
. "$root/packaging/roots.sh"
[ $# -ge 2 ] || fail "usage: build-package.sh bookworm|trixie OUT [amd64|arm64] [FOLDER]"
inside_namespace "$@"
release=$1
out=$2
native=$(dpkg --print-architecture)
arch=${3:-$native}
folder=${4:-/build}

if [ "$arch" = "$native" ]; then
	name=$(build_root "$release")
else
	name=$(cross_root "$release" "$arch")
	# their programs do not run here; tests/package/ runs the unit tests under emulation
	export DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS:-} nocheck"
fi
top=$(mktemp -d "${TMPDIR:-/var/tmp}/perftape-build.XXXXXX")
trap 'umount --lazy "$top/$name"; rm -rf --one-file-system "$top"' EXIT
dir=$(overlay "$name" "$top")
mkdir -p "$out"
copy_tree "$dir$folder/perftape"

in_dir "$dir" "cd $folder/perftape && dpkg-buildpackage -us -uc -a$arch" >"$top/log" 2>&1 || {
	tail -n 40 "$top/log" >&2
	fail "dpkg-buildpackage failed"
}
in_dir "$dir" "cd $folder && lintian --allow-root --fail-on error,warning perftape_*_$arch.changes" ||
	fail "lintian is not content"
cp "$dir$folder"/perftape*.* "$out/"
