#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Prints the path of a current ClickHouse, as the library of the npm package chdb, for tests/fleet. Fetches
# the package into the user's cache if it is not there: 180 MB to load, 540 MB on the disk.
set -eu

version=3.4.0
folder=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/perftape/chdb-$version
mkdir -p "$folder"
exec 9>"$folder/.lock"
flock 9
[ -e "$folder/fetched" ] || {
	npm install --silent --ignore-scripts --no-save --no-fund --no-audit --prefix "$folder" "chdb@$version" >&2
	touch "$folder/fetched"
}
for library in "$folder"/node_modules/@chdb/*/libchdb.so; do
	printf '%s\n' "$library"
done
