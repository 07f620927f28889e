# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Shared by ./run and ./test: finds missing packages, installs them, configures and builds. It is
# sourced, with $root set to the top of the tree. All messages go to standard error, because
# standard output belongs to the program.

: "${root:?}"

say() {
	printf 'perftape: %s\n' "$*" >&2
}

die() {
	say "$@"
	exit 1
}

has() {
	command -v "$1" >/dev/null 2>&1
}

# `quietly` runs a command and shows its output only if it fails. `watched` shows the output at once
# if a person watches the terminal.
quietly() {
	output=$("$@" </dev/null 2>&1) || {
		printf '%s\n' "$output" | tail -n 40 >&2
		return 1
	}
}

watched() {
	if [ -t 2 ]; then
		"$@" </dev/null >&2
	else
		quietly "$@"
	fi
}

# Prints a line "package purpose" for each missing package. Checks files and pkg-config, never a
# package manager.
missing_to_build() {
	has gcc || echo "gcc the compiler"
	[ -e /usr/include/stdio.h ] || echo "libc6-dev the C library's headers"
	has meson || echo "meson the build system"
	has ninja || echo "ninja-build the build system"
	has pkg-config || echo "pkg-config finds libraries"
	pkg-config --exists sqlite3 2>/dev/null || echo "libsqlite3-dev stores the index"
	pkg-config --exists libzstd 2>/dev/null || echo "libzstd-dev compresses segments"
	pkg-config --exists libtraceevent 2>/dev/null || echo "libtraceevent-dev reads tracepoints"
	pkg-config --exists zlib 2>/dev/null || echo "zlib1g-dev reads and writes .gz files"
	pkg-config --exists liblzma 2>/dev/null || echo "liblzma-dev reads .xz files"
	[ -e /usr/include/libiberty/demangle.h ] || echo "libiberty-dev demangles names"
	if ! pkg-config --exists libperf 2>/dev/null; then
		has make || echo "make builds libperf"
		has xz || echo "xz-utils unpacks libperf"
		[ -e /usr/src/linux-source-6.12.tar.xz ] || [ -e /usr/src/linux-source-6.1.tar.xz ] ||
			echo "linux-source-6.12 contains libperf"
	fi
}

missing_to_test() {
	has python3 || echo "python3 runs the tests"
	has clang-format || echo "clang-format checks the format"
	has promtool || echo "prometheus reads metrics, rules and alerts"
	has prometheus-node-exporter || echo "prometheus-node-exporter exports metrics"
	has mandoc || echo "mandoc checks the manual"
	has file || echo "file brings libmagic, which decides whether Flamescope opens a text"
	has zstd || echo "zstd unpacks segments for an independent reader"
	has chromium-headless-shell || has chromium || echo "chromium-headless-shell opens flame graphs"
	has perf || echo "linux-perf makes recordings to compare with"
	has strace || echo "strace shows the order of writes to the disk"
	has zsh || echo "zsh completes the command line"
	has fish || echo "fish completes the command line"
	has shellcheck || echo "shellcheck checks the scripts"
	has dh || echo "debhelper builds the Debian package"
	has lintian || echo "lintian checks the Debian package"
	has reuse || echo "reuse checks the licences"
	pkg-config --exists libcurl 2>/dev/null || echo "libcurl4-openssl-dev talks to the servers of a fleet"
	has npm || echo "npm fetches a ClickHouse server"
	has openssl || echo "openssl makes certificates"
	has mpstat || echo "sysstat has mpstat, to compare CPU gauges with"
	[ -e /usr/include/elfutils/libdwfl.h ] ||
		echo "libdw-dev walks stacks, to compare with"
}

# The longest tests make roots of Debian and boot one.
missing_to_test_long() {
	has debootstrap || echo "debootstrap makes roots in which packages are tried"
	has qemu-system-x86_64 || echo "qemu-system-x86 boots a root"
	has mkfs.ext4 || echo "e2fsprogs makes a disk of a root"
	has clickhouse-server || echo "clickhouse-server is a node of a fleet's cluster"
	[ -e /usr/share/java/zookeeper.jar ] || echo "zookeeper keeps a fleet's cluster together"
}

# Installs the packages that a missing_... function lists. This is the only step that needs root,
# and the only one that starts a package manager.
install() {
	[ -n "$1" ] || return 0
	packages=$(printf '%s\n' "$1" | cut -d' ' -f1 | sort -u | tr '\n' ' ')
	packages=${packages% }
	has apt-get || die "these packages are missing: $packages; install them, as this system has no apt-get"

	as_root=
	if [ "$(id -u)" != 0 ]; then
		has sudo ||
			die "packages are missing; run as root: apt-get install --no-install-recommends $packages"
		as_root=sudo
	fi
	say "installing missing packages:"
	printf '%s\n' "$1" | sed 's/^\([^ ]*\) /  \1: /' >&2

	apt="$as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -o DPkg::Lock::Timeout=300"
	# shellcheck disable=SC2086 # both are lists of words
	{
		in_lists $packages || watched $apt update || die "apt-get update failed"
		in_lists linux-source-6.12 ||
			packages=$(printf '%s' "$packages" | sed 's/linux-source-6\.12/linux-source-6.1/')
		# the lists may be too old and name packages that no longer exist, so update them
		# and retry
		watched $apt install -y --no-install-recommends $packages ||
			{ watched $apt update && watched $apt install -y --no-install-recommends $packages; } ||
			die "apt-get install failed: $packages"
	}
}

# Succeeds if apt's lists have all these packages.
in_lists() {
	for package; do
		apt-cache show "$package" >/dev/null 2>&1 || return 1
	done
}

# Succeeds if DIR is configured for this tree. A build folder stores absolute paths, so one that
# moved with its tree does not count.
configured() {
	[ -e "$root/$1/build.ninja" ] && [ -e "$root/$1/meson-info/intro-tests.json" ] || return 1
	made_for=$root
	[ ! -e "$root/$1/made-for" ] || read -r made_for <"$root/$1/made-for" || return 1
	[ "$made_for" = "$root" ]
}

# Succeeds if TARGET of the configured DIR is up to date. Changes nothing, so it also works in
# another user's folder.
up_to_date() {
	case $(ninja -C "$root/$1" -n "$2" 2>/dev/null) in
	*'no work to do'*) return 0 ;;
	*) return 1 ;;
	esac
}

# Prevents any other ./run or ./test from building in this tree until `unlock`.
lock() {
	mkdir -p "$root/build" 2>/dev/null || die "cannot write to $root; run ./run there once as $(stat -c %U "$root")"
	if [ ! -w "$root/build" ] || { [ -e "$root/build/.lock" ] && [ ! -w "$root/build/.lock" ]; }; then
		made_for=
		owner=$(stat -c %U "$root/build")
		[ ! -r "$root/build/made-for" ] || read -r made_for <"$root/build/made-for" || :
		[ -z "$made_for" ] || [ "$made_for" = "$root" ] ||
			die "build/ was made for $made_for and belongs to $owner; copy the tree without it"
		die "build/ is out of date and belongs to $owner; run ./run as that user, or remove build/"
	fi
	exec 9>"$root/build/.lock"
	flock -n 9 || {
		say "waiting for another build of this tree"
		flock 9
	}
}

unlock() {
	exec 9>&-
	# after `sudo ./run`, the owner of the tree must still be able to build
	if [ "$(id -u)" = 0 ] && [ "$(stat -c %u "$root")" != 0 ]; then
		for dir in "$root"/build "$root"/build-dev "$root"/build-tsan; do
			[ ! -d "$dir" ] || chown -R --reference="$root" "$dir"
		done
	fi
}

# Configures DIR, with a native file if given, unless it is configured already. Removes the
# leftovers of an interrupted configure, except libperf, which takes longest and has a stamp of its
# own.
set_up() {
	dir=$root/$1
	configured "$1" && return 0
	say "configuring $1/"
	mkdir -p "$dir"
	find "$dir" -mindepth 1 -maxdepth 1 ! -name libperf ! -name .lock -exec rm -rf {} +
	for made in "$root"/build/libperf "$root"/build-*/libperf; do
		if [ ! -e "$dir/libperf" ] && [ -e "$made/stamp" ]; then
			cp -r "$made" "$dir/libperf"
		fi
	done
	quietly meson setup "$dir" "$root" ${2:+--native-file "$root/$2"} ||
		die "meson could not configure $1/ (above)"
	printf '%s\n' "$root" >"$dir/made-for"
}

# Builds TARGET in DIR.
build() {
	watched ninja -C "$root/$1" "$2" || die "the build in $1/ failed (above)"
}
