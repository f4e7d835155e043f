#!/bin/busybox sh
set -e
/bin/busybox --install -s /bin
mount -t devtmpfs none /dev
mount -t proc none /proc
if grep -qw try /proc/cmdline; then
  echo 'a guest is up' > /dev/ttyS0
  reboot -f
fi
for module in /modules/*; do insmod "$module"; done
mount -t virtiofs guest /guest
set --
while IFS= read -r -d '' word; do set -- "$@" "$word"; done < /guest/words
hostname "$1"
shift
ifconfig lo 127.0.0.1
mount --bind /guest/root /root
mount -t devtmpfs none /root/dev
mkdir /dev/shm /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /root/dev/shm
mount -t devpts none /root/dev/pts
mount -t proc none /root/proc
mount -t sysfs none /root/sys
until [ -c /dev/vport0p2 ]; do sleep 0.01; done
set +e
chroot /root "$@" < /dev/null > /dev/vport0p1 2> /dev/vport0p2
echo $? > /guest/status
reboot -f
