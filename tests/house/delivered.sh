#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The program as delivered, in build/, which must be up to date. It contains no faults for tests.
# If there is nothing to do, ./run adds little time, and starts neither a package manager nor meson.
# TAP.
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

# The median CPU time of RUNS calls, in milliseconds. A busy machine hardly changes it.
time_of() {
	local i TIMEFORMAT='%3U %3S'
	for ((i = 0; i < RUNS; i++)); do
		{ time "$@" >/dev/null 2>&1; } 2>&1
	done | awk '{ print int(1000 * ($1 + $2)) }' | sort -n | sed -n "$((RUNS / 2))p"
}

result() { # number, what, success
	[ "$3" = 0 ] && echo "ok $1 - $2" || echo "not ok $1 - $2"
}

echo 1..4
ran=$("$tree/run" --version 2>&1)
delivered=$("$tree/build/perftape" --version 2>&1)
echo "# $delivered"
[ "$ran" = "$delivered" ] && [[ $ran == perftape\ * ]]
result 1 "./run --version is build/perftape --version" $?

with=$(time_of "$tree/run" --version)
without=$(time_of "$tree/build/perftape" --version)
echo "# $with ms of CPU time, without ./run $without ms"
[ $((with - without)) -lt "$MAX_MS" ]
result 2 "./run adds less than $MAX_MS ms of CPU time when there is nothing to do" $?

[ ! -e "$top/calls" ] || sed 's/^/# /' "$top/calls"
[ ! -e "$top/calls" ]
result 3 "then ./run starts neither a package manager nor meson" $?

! grep -q -a -e PERFTAPE_MUTATION -e PERFTAPE_MUTANT "$tree/build/perftape"
result 4 "build/perftape has no faults that a test can switch on" $?
