#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds libperf.a from Debian's kernel source package into OUT (lib/, include/), for systems
# without a libperf of their own. Usage: libperf.sh OUT [TARBALL]
#
# $CC and $AR name the compiler and its archiver, and $ARCH the kernel's name of the architecture, so
# that a cross build gets a library for its host machine. The defaults build for this machine.
#
# The default tarball is the newest installed version that is known to work: 6.12, then 6.1. Only
# the files that libperf needs are unpacked, into a temporary folder whose path has no space,
# because the kernel's makefiles cannot handle one. A stamp with the tarball's name, size and time
# makes a second run free. Prints one line about what it did.
set -eu

out=$1
tarball=${2:-}
if [ -z "$tarball" ]; then
	for version in 6.12 6.1; do
		if [ -r "/usr/src/linux-source-$version.tar.xz" ]; then
			tarball=/usr/src/linux-source-$version.tar.xz
			break
		fi
	done
fi
if [ -z "$tarball" ]; then
	echo "libperf: no libperf.pc and no kernel source in /usr/src; run apt-get install linux-source-6.12" >&2
	exit 1
fi

stamp="$(stat -L -c '%n %s %Y' "$tarball") ${CC:-cc} ${ARCH:-native} recipe 2"
if [ -r "$out/stamp" ] && [ "$(cat "$out/stamp")" = "$stamp" ]; then
	echo "libperf of $(basename "$tarball") is up to date"
	exit 0
fi

work=$(mktemp -d /tmp/perftape-libperf.XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

xz -T0 -dc "$tarball" | tar -xf - -C "$work" --wildcards --strip-components=1 \
	'*/tools/lib/perf' '*/tools/lib/api' '*/tools/lib/zalloc.c' '*/tools/lib/str_error_r.c' \
	'*/tools/include' '*/tools/scripts' '*/tools/build' '*/tools/arch'
# The prefix map keeps the temporary folder out of the objects, which are then always the same.
set -- "EXTRA_CFLAGS=-O2 -g -fPIC -Wno-error -ffile-prefix-map=$work=libperf"
[ -z "${CC:-}" ] || set -- "$@" "CC=$CC"
[ -z "${AR:-}" ] || set -- "$@" "AR=$AR"
# the name of a cross compiler begins with that of its linker
case ${CC:-} in
*-gcc)
	prefix=${CC##* }
	set -- "$@" "CROSS_COMPILE=${prefix%gcc}"
	;;
esac
[ -z "${ARCH:-}" ] || set -- "$@" "ARCH=$ARCH"
if ! env -u MAKEFLAGS -u MAKELEVEL -u CFLAGS -u LDFLAGS -u DESTDIR make -s -C "$work/tools/lib/perf" \
	"$@" prefix="$work/out" libdir_relative=lib DESTDIR= \
	install_lib install_headers install_pkgconfig >"$work/log" 2>&1; then
	echo "libperf: make failed:" >&2
	tail -n 20 "$work/log" >&2
	exit 1
fi
# libperf uses this object of libapi, but its archive lacks it
"${AR:-ar}" r "$work/out/lib/libperf.a" "$work/tools/lib/api/fd/array.o" 2>/dev/null

# libperf copies its own sizeof(struct perf_event_attr), so take the event header of the same tree
mkdir -p "$work/out/include/linux"
cp "$work/tools/include/uapi/linux/perf_event.h" "$work/out/include/linux/perf_event.h"

rm -rf "$out"
mkdir -p "$out"
cp -r "$work/out/lib" "$work/out/include" "$out/"
rm -f "$out"/lib/*.so*
echo "$stamp" >"$out/stamp"
echo "libperf built from $(basename "$tarball")"
