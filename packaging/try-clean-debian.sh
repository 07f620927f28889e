#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests whether ./run works on a bare Debian 12. Makes one with debootstrap in a temporary folder
# and puts a clone of this tree into a path with a space. Runs ./run as root, as an ordinary user
# and without a network, then the tests. Takes a few minutes. Needs root, debootstrap, git, and the
# mirror of this machine's apt.
#
# Usage: try-clean-debian.sh [--no-test]
#
# The script has a mount namespace of its own, so all its mounts disappear with it, however it ends.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd -P)
suite=bookworm

if [ "${1:-}" != --inside ]; then
	[ "$(id -u)" = 0 ] || { echo "try-clean-debian: needs root" >&2; exit 1; }
	top=$(mktemp -d /var/tmp/perftape-clean.XXXXXX)
	trap 'rm -rf --one-file-system "$top"' EXIT
	trap 'exit 1' HUP INT TERM
	unshare --mount --propagation private "$0" --inside "$top" "$@"
	exit
fi
new=$2/root
tests=${3:-}
here="/home/tester/perf tape/clone"

step() { printf '\n== %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*"; exit 1; }

# as_root LINE and as_tester LINE run a line of shell inside the tree. `offline AS LINE` does so
# without a network.
inside() {
	local user=$1 home=$2 line=$3
	chroot --userspec="$user" / \
		/usr/bin/env -i HOME="$home" USER="$user" LANG=C.UTF-8 PATH="$path" "${network[@]}" \
		/bin/sh -c "cd '$here' && $line" </dev/null
}
as_root() { inside root /root "$1"; }
as_tester() { inside tester /home/tester "$1"; }
offline() {
	local functions variables
	functions=$(declare -f inside as_root as_tester)
	variables=$(declare -p here path network)
	unshare --net "$BASH" -c "$functions; $variables; $1 \"\$1\"" - "$2"
}

# The new system reaches its mirror like this machine: it gets the sources, keys, proxies,
# certificates and name servers.
copy_apt_settings() {
	rm -f "$new/etc/apt/sources.list"
	local path paths=()
	for path in etc/apt/sources.list etc/apt/sources.list.d etc/apt/auth.conf etc/apt/auth.conf.d etc/apt/keyrings \
		etc/apt/trusted.gpg.d usr/share/keyrings etc/ssl/certs usr/local/share/ca-certificates; do
		[ ! -e "/$path" ] || paths+=("$path")
	done
	tar -C / -cf - "${paths[@]}" | tar -C "$new" -xf -
	cp -L /etc/resolv.conf /etc/hosts "$new/etc/"
	apt-config dump | grep -E '^Acquire::(http|https|Retries|Check-Valid-Until)\b' \
		>"$new/etc/apt/apt.conf.d/90host" || true
}

network=()
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR; do
	[ -z "${!name:-}" ] || network+=("$name=${!name}")
done
plain_path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
path=$plain_path

step "a new Debian ($suite)"
# shellcheck disable=SC2016 # apt's own variables
mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
	awk -v suite="$suite" '$1 == suite { print $2; exit }')
[ -n "$mirror" ] || fail "this machine's apt has no source for $suite"
debootstrap --variant=minbase "$suite" "$new" "$mirror" >"$2/log" 2>&1 || { tail "$2/log"; fail "debootstrap"; }
copy_apt_settings
git clone -q --no-hardlinks "$root" "$new/clone"
mount --bind "$new" "$new"
mount -t proc proc "$new/proc"
mount --rbind /sys "$new/sys"
mount --rbind /dev "$new/dev"
[ -e "$new/sys/kernel/tracing/events" ] || mount -t tracefs tracefs "$new/sys/kernel/tracing" 2>/dev/null || true
# chroot is not enough: the kernel would show paths of mapped files from the other root, and
# namespaces could not be created inside
cd "$new"
mkdir host
pivot_root . host
umount --lazy host
PATH=$plain_path
cd /
useradd --create-home tester
mkdir -p "${here%/*}"
mv /clone "$here"

# First in PATH, these stubs reveal anything that starts a package manager, even if it hides the
# failure.
mkdir /opt/none
for name in apt apt-get apt-cache apt-mark aptitude dpkg dpkg-query; do
	# shellcheck disable=SC2016 # the variables belong to the stub
	printf '#!/bin/sh\necho "$0 $*" >>/tmp/package-managers\nexit 99\n' >"/opt/none/$name"
	chmod +x "/opt/none/$name"
done
install -m 666 /dev/null /tmp/package-managers
no_package_manager() {
	[ ! -s /tmp/package-managers ] || fail "./run started a package manager: $(cat /tmp/package-managers)"
}

step "an ordinary user, with nothing installed: names the missing packages"
if said=$(as_tester './run --version' 2>&1); then fail "./run must fail here: $said"; fi
printf '%s\n' "$said"
case $said in *'apt-get install'*) ;; *) fail "./run does not say what to install" ;; esac

step "root: ./run --version"
time as_root './run --version'

path=/opt/none:$plain_path
step "root, again, without a package manager or a network"
time offline as_root './run --version'
no_package_manager

step "an ordinary user, in root's tree"
offline as_tester './run --version'
no_package_manager

step "an ordinary user's own tree, nothing built, no network"
rm -rf "$here/build"
chown -R tester: "${here%/*}"
time offline as_tester './run --version'
no_package_manager

step "an interrupted configure, and a moved tree"
rm "$here/build/build.ninja"
offline as_tester './run --version'
mv "$here" "$here moved"
here="$here moved"
offline as_tester './run --version'
no_package_manager

step "what ./run adds when there is nothing to do"
as_tester 'bash -c "TIMEFORMAT=\"20 runs: %R s\"; time for i in {1..20}; do ./run --version >/dev/null; done"'

if as_root './run --help' 2>&1 | grep -qw record; then
	step "records 10 s and exports them for Flamescope"
	path=$plain_path
	as_root './run record --store "/tmp/a store" --duration 10s'
	as_root './run query --store "/tmp/a store" --from now-1h --to now -o /tmp/stacks'
	[ -s /tmp/stacks ] || fail "./run query wrote nothing"
	head -n 12 /tmp/stacks
fi

if [ "$tests" != --no-test ]; then
	step "root: ./test, with the packages that it needs"
	path=$plain_path
	time as_root 'bash .ci/run 2>&1'
fi

step "everything worked"
