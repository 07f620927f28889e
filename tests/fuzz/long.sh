#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs one fuzz target under libFuzzer, from the saved inputs on. New inputs go to build-fuzz/NAME/,
# and so does an input that crashes, takes a second, or takes 256 MB. Save that one in
# tests/fuzz/corpus/NAME/, in the commit that fixes it. Needs clang.
#
# Usage: long.sh NAME SECONDS [LIBFUZZER-OPTION...]
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd -P)
name=${1:-}
if [ -z "$name" ] || [ -z "${2:-}" ] || [ -z "$(find "$root/tests/fuzz" -name "fuzz-$name.c")" ]; then
	echo "usage: long.sh NAME SECONDS, with a NAME of a file fuzz-NAME.c" >&2
	exit 2
fi
seconds=$2
shift 2

dir=$root/build-fuzz
[ -e "$dir/build.ninja" ] || meson setup "$dir" "$root" --native-file "$root/packaging/fuzz.ini"
ninja -C "$dir" "tests/fuzz-$name"
mkdir -p "$dir/$name"
cd "$dir/$name"
# AddressSanitizer keeps freed memory, which counts; here it keeps little of it
export ASAN_OPTIONS=quarantine_size_mb=8:${ASAN_OPTIONS:-}
# libperf keeps a few bytes of each ring (tests/lsan.supp); looking for them takes longer than the rest
[ "$name" != rings ] || ASAN_OPTIONS=detect_leaks=0:$ASAN_OPTIONS
exec "$dir/tests/fuzz-$name" -timeout=1 -rss_limit_mb=256 -max_total_time="$seconds" \
	-artifact_prefix="$dir/$name/" "$@" "$dir/$name" "$root/tests/fuzz/corpus/$name"
