# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Debian roots in which packages are built and tried; sourced. Needs root, debootstrap, and the
# mirror of this machine's apt. A root is made once and kept in $PERFTAPE_ROOTS, by default
# build-roots/ of the tree: it has a stamp with the packages that it was made of. A command in a root
# sees an overlay, so the root stays as it was made.
#
# Each user of a root runs in a mount namespace of its own: see inside_namespace.

: "${root:?}"
roots=${PERFTAPE_ROOTS:-$root/build-roots}

fail() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# Runs the script again in a mount namespace, so that its mounts disappear with it, however it ends.
inside_namespace() {
	[ "$(id -u)" = 0 ] || fail "needs root"
	[ -z "${PERFTAPE_NAMESPACE:-}" ] || return 0
	PERFTAPE_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$@"
}

# The mirror of a Debian release: that of this machine's apt for its own release, which has the others, too.
mirror() {
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
		awk '$1 ~ /^(bullseye|bookworm|trixie|sid)$/ { print $2; exit }'
}

# The root DIR reaches its mirror like this machine: it gets the proxies, certificates and name servers.
copy_network_settings() {
	local dir=$1 path paths=()
	for path in etc/apt/auth.conf etc/apt/auth.conf.d etc/apt/keyrings etc/ssl/certs \
		usr/local/share/ca-certificates; do
		[ ! -e "/$path" ] || paths+=("$path")
	done
	tar -C / -cf - "${paths[@]}" | tar -C "$dir" -xf -
	cp -L /etc/resolv.conf /etc/hosts "$dir/etc/"
	apt-config dump | grep -E '^Acquire::(http|https|Retries|Check-Valid-Until)\b' \
		>"$dir/etc/apt/apt.conf.d/90host" || true
}

# The environment of commands in a root; it is the same on every machine.
clean_environment() {
	local name
	environment=(HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
	for name in http_proxy https_proxy no_proxy DEB_BUILD_OPTIONS; do
		[ -z "${!name:-}" ] || environment+=("$name=${!name}")
	done
}

mount_kernel() {
	mountpoint -q "$1/proc" && return
	mount -t proc proc "$1/proc"
	mount --rbind /sys "$1/sys"
	mount --rbind /dev "$1/dev"
}

# Runs a line of shell as root in DIR.
in_dir() {
	local environment
	clean_environment
	mount_kernel "$1"
	chroot "$1" /usr/bin/env -i "${environment[@]}" /bin/sh -euc "$2" </dev/null
}

# Like in_dir, in a mount namespace whose root is DIR. In a chroot, the recorder could neither confine its helper nor
# read the paths of mapped files.
enter_dir() {
	local environment
	clean_environment
	mount_kernel "$1"
	mkdir -p "$1/host"
	# shellcheck disable=SC2016 # the inner shell's own
	unshare --mount --propagation private /bin/sh -euc '
		cd "$1" && pivot_root . host && umount --lazy host
		line=$2 && shift 2 && exec /usr/bin/env -i "$@" /bin/sh -euc "$line"
	' - "$1" "$2" "${environment[@]}" </dev/null
}

# make_root NAME FROM LINE: makes the root NAME from the root FROM, or from nothing if FROM is the same release.
# LINE installs what it needs. Does nothing if the root was made by the same line.
make_root() {
	local name=$1 from=$2 line=$3 new=$roots/$1.new log=$roots/$1.log
	[ "$(cat "$roots/$name.made" 2>/dev/null)" != "$from $line" ] || return 0
	mkdir -p "$roots"
	rm -rf --one-file-system "$new" "${roots:?}/$name"
	echo "making the root $name" >&2
	if [ "$name" = "$from" ]; then
		debootstrap --variant=minbase "$name" "$new" "$(mirror)" >"$log" 2>&1 ||
			{ tail "$log" >&2; fail "debootstrap $name"; }
	else
		cp -a "$roots/$from" "$new"
	fi
	copy_network_settings "$new"
	in_dir "$new" "$line" >>"$log" 2>&1 || { tail "$log" >&2; fail "could not make the root $name"; }
	umount --recursive --lazy "$new/proc" "$new/sys" "$new/dev"
	mv "$new" "$roots/$name"
	echo "$from $line" >"$roots/$name.made"
}

# Mounts an overlay of the root NAME and prints its folder. Its files are in TOP, a folder of the caller.
overlay() {
	local name=$1 top=$2
	mkdir -p "$top/upper" "$top/work" "$top/$name"
	mount -t overlay overlay -o "lowerdir=$roots/$name,upperdir=$top/upper,workdir=$top/work" "$top/$name"
	copy_network_settings "$top/$name"
	printf '%s\n' "$top/$name"
}

# Copies this tree, without its builds.
copy_tree() {
	mkdir -p "$1"
	tar -C "$root" --exclude=./.git --exclude=./build --exclude='./build-*' -cf - . | tar -C "$1" -xf -
}

install_line() {
	printf 'apt-get update && apt-get install -y --no-install-recommends %s && apt-get clean' "$*"
}

# The packages that Build-Depends of debian/control stands for, and what checks the result.
BUILD_PACKAGES="build-essential debhelper libcurl4-openssl-dev libiberty-dev liblzma-dev libsqlite3-dev \
libtraceevent-dev libzstd-dev meson pkgconf python3 zlib1g-dev fakeroot lintian"

# Makes the root of a release in which the package is built, and prints its name.
build_root() {
	local release=$1
	make_root "$release" "$release" true
	case $release in
	bookworm) make_root "$release-build" "$release" "$(install_line "$BUILD_PACKAGES" linux-source-6.1 systemd)" ;;
	*) make_root "$release-build" "$release" "$(install_line "$BUILD_PACKAGES" linux-source-6.12 systemd-dev)" ;;
	esac
	printf '%s\n' "$release-build"
}

# Makes the root of a release in which the package is built for another architecture, and prints its name.
cross_root() {
	local release=$1 arch=$2 library packages=()
	build_root "$release" >/dev/null
	for library in libc6-dev libcurl4-openssl-dev libiberty-dev liblzma-dev libsqlite3-dev libtraceevent-dev \
		libzstd-dev zlib1g-dev pkgconf; do
		packages+=("$library:$arch")
	done
	make_root "$release-$arch" "$release-build" "dpkg --add-architecture $arch &&
		$(install_line "crossbuild-essential-$arch qemu-user-static ${packages[*]}")"
	printf '%s\n' "$release-$arch"
}
