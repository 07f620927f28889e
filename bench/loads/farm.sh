#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The load of a compile farm: two compilers at a time over this tree's sources, each in a process of
# its own, with archives and searches in between. Runs until its process group is killed.
tree=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$tree" || exit 1

compile() {
	while :; do
		for source in "$tree"/base/*.c "$tree"/tape/*.c "$tree"/query/*/*.c "$tree"/store/*/*.c; do
			"$1" -O2 -g -D_GNU_SOURCE -I"$tree" -c "$source" -o "$folder/$1.o"
		done
		cat >"$folder/$1.cc" <<'END'
#include <iostream>
#include <map>
#include <regex>
int main() { std::map<std::string, std::regex> m; m.emplace("a", "b"); std::cout << m.size(); }
END
		"$2" -O2 -c "$folder/$1.cc" -o "$folder/$1.o"
		tar cf - "$tree/base" "$tree/tape" "$tree/docs" | gzip >"$folder/$1.tar.gz"
		find /usr/include -name '*.h' -exec cat {} + 2>/dev/null | grep -c define >/dev/null
	done
}

compile gcc g++ 2>/dev/null &
compile clang clang++ 2>/dev/null &
wait
