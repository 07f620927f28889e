#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Boots Debian 12 with systemd in QEMU and lives the life of the package there: life-cycle.sh. Needs
# qemu-system-x86_64, and takes some minutes, because QEMU emulates each instruction.
# Usage: boot-package.sh PACKAGE.deb
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd -P)
. "$root/packaging/roots.sh"
[ $# = 1 ] || fail "usage: boot-package.sh PACKAGE.deb"
inside_namespace "$@"
package=$1
limit_s=1500

# The libraries that the package needs are there, because the guest has no network.
make_root bookworm bookworm true
make_root bookworm-boot bookworm "$(install_line linux-image-cloud-amd64 initramfs-tools systemd-sysv udev dbus procps \
	libsqlite3-0 libtraceevent1 libzstd1)"

top=$(mktemp -d "${TMPDIR:-/var/tmp}/perftape-boot.XXXXXX")
trap 'umount --lazy "$top/bookworm-boot"; rm -rf --one-file-system "$top"' EXIT
dir=$(overlay bookworm-boot "$top")
cp "$package" "$dir/root/perftape.deb"
cp "$root/packaging/life-cycle.sh" "$dir/root/"
echo '/dev/vda / ext4 defaults 0 1' >"$dir/etc/fstab"
echo guest >"$dir/etc/hostname"
ln -sf /dev/null "$dir/etc/systemd/system/serial-getty@ttyS0.service"
cat >"$dir/etc/systemd/system/life.service" <<'END'
[Unit]
Description=the life of the package

[Service]
Type=idle
# the script starts hogs and must run beside them
Slice=-.slice
CPUWeight=10000
Environment=HOME=/root LIFE_CYCLE_WAIT=300
WorkingDirectory=/root
ExecStart=/bin/bash /root/life-cycle.sh /root/perftape.deb
ExecStopPost=/bin/systemctl poweroff --force
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
END
mkdir -p "$dir/etc/systemd/system/multi-user.target.wants"
ln -s ../life.service "$dir/etc/systemd/system/multi-user.target.wants/life.service"

truncate -s 3G "$top/disk"
mkfs.ext4 -q -d "$dir" "$top/disk"
kernel=$(echo "$dir"/boot/vmlinuz-*)
timeout "$limit_s" qemu-system-x86_64 -accel tcg,thread=multi -cpu max -m 1024 -smp 2 -nographic -no-reboot \
	-nic none -drive "file=$top/disk,if=virtio,format=raw,cache=unsafe" -kernel "$kernel" \
	-initrd "${kernel/vmlinuz/initrd.img}" \
	-append "console=ttyS0 root=/dev/vda rw quiet panic=-1 systemd.show_status=false" \
	</dev/null >"$top/console" 2>&1 || { tail -n 30 "$top/console" >&2; fail "the guest did not end by itself"; }
tr -d '\r' <"$top/console" | grep -a -E '^(ok|not ok|#|1\.\.)' | tee "$top/said"
grep -q '^1\.\.' "$top/said" || { tail -n 30 "$top/console" >&2; fail "the guest said nothing"; }
! grep -q '^not ok' "$top/said"
