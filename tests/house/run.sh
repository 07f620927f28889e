#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ./run in a small made-up tree whose path has spaces. ninja is real; meson only writes a build file;
# apt-get and sudo only report that they were called. packaging/try-clean-debian.sh uses the real
# ones. TAP.
set -u

source=$(cd "$(dirname "$0")/../.." && pwd)
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
chmod 755 "$top"
tree="$top/a tree"
stubs=$top/stubs
mkdir -p "$tree/packaging" "$stubs" "$top/else where"
cp "$source/run" "$tree/"
cp "$source/packaging/setup.sh" "$tree/packaging/"

# Called as: meson setup DIR TREE
cat >"$stubs/meson" <<'END'
#!/bin/sh
echo "meson $*" >>"$CALLS"
mkdir -p "$2/meson-info"
printf 'rule copy\n  command = cp ../program $out && chmod +x $out\nbuild perftape: copy ../program\n' >"$2/build.ninja"
echo '[]' >"$2/meson-info/intro-tests.json"
END
# shellcheck disable=SC2016 # the stubs' own
for name in apt-get apt-cache apt dpkg dpkg-query; do
	printf '#!/bin/sh\necho "%s $*" >>"$CALLS"\n' "$name" >"$stubs/$name"
done
# shellcheck disable=SC2016 # the stub's own
printf '#!/bin/sh\necho sudo >>"$CALLS"\nexec "$@"\n' >"$stubs/sudo"
chmod +x "$stubs"/*
# shellcheck disable=SC2016 # the program's own
printf '#!/bin/sh\necho "$PWD" "$#" "$@"\n' >"$tree/program"
export PATH="$stubs:$PATH" CALLS="$top/calls"
cd "$top/else where" || exit 1

number=0
echo 1..9
check() { # what, is, should be
	number=$((number + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $number - $1"
	else
		printf '# is: %s\n# not: %s\n' "${2//$'\n'/ / }" "${3//$'\n'/ / }"
		echo "not ok $number - $1"
	fi
}
calls() { cat "$CALLS" 2>/dev/null; : >"$CALLS"; }

here="$top/else where"
check "configures, builds, runs, and stays where it was called" "$("$tree/run" -o 'a b' 2>/dev/null)" "$here 2 -o a b"
check "does so without a package manager" "$(calls)" "meson setup $tree/build $tree"

check "records without arguments" "$("$tree/run" 2>&1)" "$here 1 record"
check "and asks neither meson nor a package manager" "$(calls)" ""

echo >>"$tree/program"
"$tree/run" >/dev/null 2>&1
check "builds what has changed" "$(cmp "$tree/program" "$tree/build/perftape" && calls)" ""

rm "$tree/build/build.ninja"
"$tree/run" >/dev/null 2>&1
check "sets up again what an interrupted configure left" "$(calls)" "meson setup $tree/build $tree"

mv "$tree" "$top/moved"
tree=$top/moved
"$tree/run" >/dev/null 2>&1
check "sets up again when the tree has moved" "$(calls)" "meson setup $tree/build $tree"

echo >>"$tree/program"
PKG_CONFIG_LIBDIR=/nowhere PKG_CONFIG_PATH='' "$tree/run" >/dev/null 2>&1
packages="liblzma-dev libsqlite3-dev libtraceevent-dev libzstd-dev .*zlib1g-dev"
check "installs everything that is absent at once, without recommended packages" \
	"$(calls | grep -c "apt-get .*install -y --no-install-recommends $packages\$")" 1

echo >>"$tree/program"
cp -rs /usr/bin "$top/no-sudo"
rm -f "$stubs/sudo" "$top/no-sudo/sudo"
as_nobody=()
[ "$(id -u)" != 0 ] || as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
said=$(PKG_CONFIG_LIBDIR=/nowhere PKG_CONFIG_PATH='' PATH="$stubs:$top/no-sudo" "${as_nobody[@]}" "$tree/run" 2>&1)
case $said in
*$'\n'*) ;;
'perftape: '*'; run as root: apt-get install '*libzstd-dev*) said=fine ;;
esac
check "one line says what to install, to a user who may not install it" "$said" fine
