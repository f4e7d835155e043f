root=$1 scratch=$2
shift 2
mount --bind "$root" "$root"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
# An ordinary user may mount a new one in a process namespace of their own alone.
mount -t proc proc "$root/proc" 2> /dev/null || mount --rbind /proc "$root/proc"
mount --rbind "$scratch" "$root$scratch"
mount --bind /etc/hosts "$root/etc/hosts"
while [ "$1" != -- ]; do
  mount --bind "$1" "$root$1"
  mount -o remount,bind,ro "$root$1"
  shift
done
shift
mount -o remount,bind,ro "$root"
exec /usr/sbin/chroot "$root" "$@"
