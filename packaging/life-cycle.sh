#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The life of the package on a Debian: install, record, upgrade, remove, install again, purge.
# Usage: life-cycle.sh PACKAGE.deb      as root, on a Debian that may be thrown away. TAP.
#
# Where systemd runs, the service records. Elsewhere, as in a chroot, the package must not start
# anything, and this script starts the recorder.
# shellcheck disable=SC2317 # check() calls the functions
set -uo pipefail

package=$1
store=/var/lib/perftape
wait_s=${LIFE_CYCLE_WAIT:-120}
number=0
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT

has_systemd() { [ -d /run/systemd/system ]; }

# check WHAT COMMAND...: the command must succeed. The next steps need it, so a failure ends the script.
check() {
	local what=$1
	shift
	number=$((number + 1))
	if "$@" >"$top/said" 2>&1; then
		echo "ok $number - $what"
	else
		has_systemd && journalctl --no-pager -n 20 -u perftape >>"$top/said" 2>&1
		sed 's/^/# /' "$top/said"
		echo "not ok $number - $what"
		echo "1..$number"
		exit 1
	fi
}

# Waits until a command succeeds; fails after two minutes.
until_true() {
	local end=$((SECONDS + wait_s))
	while ((SECONDS < end)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.2
	done
	"$@"
}

fails() { ! "$@"; }
install_package() { apt-get install -y --no-install-recommends "$1"; }
# The process that records into the store, as the store knows it: other recorders may run on this machine. 0 is none.
recorder() { perftape status --json 2>/dev/null | sed -n 's/.*"recorder":\([0-9]*\).*/\1/p'; }
records() { case $(recorder) in "" | 0) return 1 ;; esac }
sealed() { find -L "$store" -name '*.tape' -size +0 -printf '%P\n' | sort; }
has_sealed() { [ -n "$(sealed)" ]; }
sums() { (cd "$store" && sealed | xargs -r -d '\n' sha256sum); }
is_new() { [ "$(dpkg-query -W -f '${Version}' perftape)" = "$1" ]; }

# The same package with a higher version.
newer() {
	dpkg-deb -R "$package" "$top/newer"
	sed -i 's/^Version: .*/&+next/' "$top/newer/DEBIAN/control"
	dpkg-deb --root-owner-group -b "$top/newer" "$top/newer.deb" >/dev/null
}

# Lets a recorder seal what it has.
seal() {
	has_sealed || kill -USR2 "$(recorder)"
	has_sealed
}

begin_recording() {
	install -d -o perftape -g perftape -m 700 "$store"
	perftape record -q --user perftape --store "$store" >"$top/recorder" 2>&1 &
	until_true records || { cat "$top/recorder"; return 1; }
}

is_made() {
	getent passwd perftape && getent group perftape &&
		[ "$(stat -c '%U %G %a' /var/spool/perftape)" = "perftape perftape 700" ]
}

# The commands that the README lists for a service: the first installs the package.
# shellcheck disable=SC2016 # marks of a block
listed() {
	sed -n '/^## Leave it running/,/^## /p' /usr/share/doc/perftape/README.md | sed -n '/^```$/,/^```$/p' |
		sed -e '/^```$/d' -e 's/  *#.*//'
}
has_five() { listed && [ "$(listed | wc -l)" = 5 ]; }
run_listed() { listed | sed -n "$1p" | bash; }
lists_the_kill() { run_listed 4 | grep oom.kill; }

# systemd's figure for a unit, from 0 (safe) to 10.
is_confined() {
	systemd-analyze security --no-pager "$1" | tail -n 1
	systemd-analyze security --no-pager --threshold=22 "$1" >/dev/null
}

metric() { perftape status --openmetrics | awk -v name="$1" '$1 == name { print $2 }'; }
reaches() {
	local reach
	reach=$(metric perftape_reach_timestamp_seconds)
	[ "${reach%%.*}" -ge "$1" ]
}
# node-exporter reads the metrics as a user of its own.
has_metrics() {
	setpriv --reuid=65534 --regid=65534 --clear-groups grep -q '^perftape_recording 1' /run/perftape/perftape.prom
}

# Busy loops in units of their own, with the highest weight and priority, four for each CPU.
hogs() {
	local i
	for ((i = 0; i < 4 * $(nproc); i++)); do
		"$@" "hog-$i"
	done
}
start_hog() {
	systemd-run -q --unit="$1" -p CPUWeight=10000 -p Nice=-20 -p OOMScoreAdjust=-900 sh -c 'while :; do :; done'
}
stop_hog() { systemctl stop "$1"; }
# The recorder samples and saves the 20 seconds that begin now.
saves_all() {
	local pid lost end=$(($(date +%s) + 20))
	pid=$(recorder)
	lost=$(metric perftape_lost_samples_total)
	until_true reaches "$end"
	echo "lost $lost, then $(metric perftape_lost_samples_total); without a CPU for" \
		"$(metric 'perftape_stalled_seconds_total{cause="cpu"}') s; memory $(metric perftape_memory_bytes)"
	[ "$(metric perftape_lost_samples_total)" = "$lost" ] && [ "$(recorder)" = "$pid" ]
}
# A process without a limit takes all memory of the host.
runs_out_of_memory() {
	local pid
	pid=$(recorder)
	! systemd-run -q --wait -p OOMScoreAdjust=500 tail /dev/zero && saves_all && [ "$(recorder)" = "$pid" ]
}

# The second service has no right at all, and leaves a snapshot and a text of an incident.
follows_without_rights() {
	local pid
	pid=$(systemctl show -P MainPID perftape-follow)
	grep -E '^Cap(Eff|Prm|Bnd):' "/proc/$pid/status" | tee "$top/rights"
	! grep -v '0000000000000000$' "$top/rights"
}
has_left() {
	local owner
	owner=$(stat -c %u /var/spool/perftape)
	ls -la /var/spool/perftape
	# the name has the kind of the first line, which is not the kill
	[ -n "$(find /var/spool/perftape -name "*-oom.*.$1" -size +0 -perm 600 -user "$owner")" ]
}

# Each segment that was sealed before is there, with the same bytes.
keeps_sealed() { (cd "$store" && sha256sum --quiet -c "$top/sums") && [ -s "$top/sums" ]; }

# The service was restarted; a recorder of one's own was left alone.
goes_on() {
	until_true records
	if has_systemd; then
		[ "$(recorder)" != "$1" ]
	else
		[ "$(recorder)" = "$1" ]
	fi
}

ends_recording() {
	local pid
	pid=$(recorder)
	if has_systemd; then systemctl stop perftape; else kill "$pid"; fi
	until_true fails kill -0 "$pid"
}

nothing_left() {
	local path
	for path in "$store" /var/lib/private/perftape /var/lib/perftape-ship /var/lib/private/perftape-ship \
		/var/spool/perftape /etc/perftape /usr/bin/perftape; do
		if [ -e "$path" ] || [ -L "$path" ]; then
			echo "$path is still there"
			return 1
		fi
	done
}

newer
check "the package installs" install_package "$package"
check "its user, group and folder are there" is_made
check "its settings are there" test -f /etc/perftape/perftape.conf
check "the program runs" perftape --version
if has_systemd; then
	check "the service records" until_true records
	check "it is enabled" systemctl is-enabled perftape
	check "the unit that follows incidents is off" fails systemctl is-enabled perftape-follow
	check "the README lists five commands" has_five
	check "the README's status" run_listed 2
	check "its rehearsal ends as it says" fails run_listed 3
	check "its list has the incident" until_true lists_the_kill
	check "its window of the incident" run_listed 5
	sed 's/^/# /' "$top/said"
	check "everybody can read the metrics" until_true has_metrics
	check "systemd's exposure level of the service is at most 2.2" is_confined perftape.service
	tail -n 1 "$top/said" | sed 's/^/# /'
	check "and that of the unit that follows" is_confined perftape-follow.service
	tail -n 1 "$top/said" | sed 's/^/# /'
	check "hogs start in every slice" hogs start_hog
	check "beside them, it loses no sample" saves_all
	sed 's/^/# /' "$top/said"
	hogs stop_hog
	check "a host without memory kills another process" runs_out_of_memory
	sed 's/^/# /' "$top/said"
	check "the unit that follows incidents starts" systemctl start perftape-follow
	check "without any right" until_true follows_without_rights
	check "another rehearsal" fails run_listed 3
	check "leaves a snapshot of the incident" until_true has_left tape
	check "and a text" until_true has_left txt
else
	check "nothing was started where no systemd runs" fails records
	check "a recorder records as the package's user" begin_recording
fi
check "a segment gets sealed" until_true seal
sums >"$top/sums"
pid=$(recorder)
check "a newer version installs over a running recorder" install_package "$top/newer.deb"
check "it is the newer version" is_new "$(dpkg-deb -f "$top/newer.deb" Version)"
check "each sealed segment is there as before" keeps_sealed
check "the recording goes on" goes_on "$pid"
check "every stored byte is sound" perftape verify
pid=$(recorder)
has_systemd || check "the recorder ends" ends_recording
sums >"$top/sums"
check "the package goes" apt-get remove -y perftape
check "the recorder does not run any more" until_true fails kill -0 "$pid"
check "the program is gone" test ! -e /usr/bin/perftape
check "the store and the settings stay" eval 'keeps_sealed && test -f /etc/perftape/perftape.conf'
check "it installs again" install_package "$package"
check "it reads the old store" perftape segments
if has_systemd; then
	check "the service records again" until_true records
	begin=$(date +%s%N)
	check "it stops" ends_recording
	echo "# stopped in $((($(date +%s%N) - begin) / 1000000)) ms"
fi
check "purging the package" apt-get purge -y perftape
check "leaves neither program, settings nor store" nothing_left
echo "1..$number"
