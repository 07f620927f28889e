#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ./run with the real perftape when there is nothing to do: it adds next to no time, and starts
# neither a package manager nor meson. Wants build/ to be up to date, as it is when ./test gets
# here. TAP.
set -u

tree=$(cd "$(dirname "$0")/../.." && pwd)
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
for name in apt apt-get apt-cache aptitude dpkg dpkg-query meson python3; do
	# shellcheck disable=SC2016 # the stub's own
	printf '#!/bin/sh\necho "$0 $*" >>"%s/calls"\n' "$top" >"$top/$name"
	chmod +x "$top/$name"
done
PATH=$top:$PATH
RUNS=20
MAX_MS=300

# Milliseconds of one of RUNS calls, the middle one of them.
time_of() {
	local i start
	for ((i = 0; i < RUNS; i++)); do
		start=${EPOCHREALTIME/./}
		"$@" >/dev/null 2>&1
		echo $(((${EPOCHREALTIME/./} - start) / 1000))
	done | sort -n | sed -n "$((RUNS / 2))p"
}

result() { # number, what, success
	[ "$3" = 0 ] && echo "ok $1 - $2" || echo "not ok $1 - $2"
}

echo 1..3
ran=$("$tree/run" --version 2>&1)
delivered=$("$tree/build/perftape" --version 2>&1)
echo "# $delivered"
[ "$ran" = "$delivered" ] && [[ $ran == perftape\ * ]]
result 1 "./run --version is build/perftape --version" $?

with=$(time_of "$tree/run" --version)
without=$(time_of "$tree/build/perftape" --version)
echo "# $with ms, without ./run $without ms"
[ $((with - without)) -lt "$MAX_MS" ]
result 2 "./run adds less than $MAX_MS ms when there is nothing to do" $?

[ ! -e "$top/calls" ] || sed 's/^/# /' "$top/calls"
[ ! -e "$top/calls" ]
result 3 "./run starts neither a package manager nor meson then" $?
