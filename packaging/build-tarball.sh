#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds a tarball for hosts with glibc 2.31 and newer (Debian 11, Ubuntu 20.04), in a root of Debian 11. The program
# contains all libraries but the C library. Then tries it in a bare root of Debian 11.
# Usage: build-tarball.sh OUT
#
# Debian 11 has neither meson nor libtraceevent as new as needed. Those of Debian 12 are a program in Python and a
# static library, so they work there; so does its source of the kernel, for libperf.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd -P)
. "$root/packaging/roots.sh"
[ $# = 1 ] || fail "usage: build-tarball.sh OUT"
inside_namespace "$@"
out=$(mkdir -p "$1" && cd "$1" && pwd)
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" "$root/meson.build")
name=perftape-$version-linux-$(uname -m)

newer="echo 'deb $(mirror) bookworm main' >/etc/apt/sources.list.d/newer.list
	printf 'Package: *\nPin: release n=bookworm\nPin-Priority: 100\n' >/etc/apt/preferences"
traceevent="cd /tmp && apt-get download libtraceevent-dev/bookworm && dpkg-deb -x libtraceevent-dev_*.deb / &&
	rm libtraceevent-dev_*.deb"
make_root bullseye bullseye true
make_root bullseye-build bullseye "$newer; $(install_line build-essential ninja-build pkg-config python3 libzstd-dev \
	libcurl4-openssl-dev libsqlite3-dev zlib1g-dev liblzma-dev libiberty-dev meson/bookworm \
	linux-source-6.1/bookworm); $traceevent"

top=$(mktemp -d "${TMPDIR:-/var/tmp}/perftape-tarball.XXXXXX")
trap 'for dir in "$top"/*/bullseye*; do umount --lazy "$dir"; done; rm -rf --one-file-system "$top"' EXIT
dir=$(overlay bullseye-build "$top/build")
copy_tree "$dir/perftape"
in_dir "$dir" "cd /perftape && meson setup build-tarball --prefix /usr/local -Dtests=false -Dprefer_static=true &&
	ninja -C build-tarball && meson install -C build-tarball --no-rebuild --destdir /out &&
	strip /out/usr/local/bin/perftape" >"$top/log" 2>&1 || { tail -n 40 "$top/log" >&2; fail "the build failed"; }

# Only libraries that glibc has.
others=$(in_dir "$dir" "readelf -d /out/usr/local/bin/perftape" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
	grep -v -E '^(lib(c|m|dl|pthread|rt)\.so\.[0-9]+|ld-linux-.*)$' || true)
[ -z "$others" ] || fail "the program needs shared libraries: $others"

# The same bytes from each build: names in order, one time, no owner.
mv "$dir/out/usr/local" "$dir/out/$name"
tar -C "$dir/out" --sort=name --owner=0 --group=0 --numeric-owner --mode=u+w,go=rX \
	--mtime="@$(date -d "$(sed -n 's/^ -- .*>  //p' "$root/debian/changelog" | head -n 1)" +%s)" -cf - "$name" |
	xz -T1 >"$out/$name.tar.xz"

bare=$(overlay bullseye "$top/try")
tar -C "$bare/usr/local" --strip-components=1 -xf "$out/$name.tar.xz"
enter_dir "$bare" "perftape --version
	perftape record -q --store /store --duration 3s
	perftape query --store /store --from now-1m --to now -q -o /stacks
	[ \$(wc -l </stacks) -gt 100 ]
	perftape verify --store /store -q" >"$top/log" 2>&1 ||
	{ tail "$top/log" >&2; fail "it does not work in Debian 11"; }
printf '%s\n' "$out/$name.tar.xz"
