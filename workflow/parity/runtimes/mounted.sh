way=$1 image=$2 root=$3
shift 3
server=
case $way in
  directory) mount --bind "$image" "$root" ;;
  squashfs) mount -t squashfs -o loop,ro "$image" "$root" ;;
  memory:*)
    mount -t tmpfs tmpfs "$root"
    cp -a "$image/." "$root"
    head -c "${way#memory:}M" /dev/zero > "$root/filler"
    ;;
  overlay) mount -t overlay -o "ro,lowerdir=$image:$root" overlay "$root" ;;
  *)
    # What one that serves says of options that it does not know is none of the words' output.
    if [ "$way" = fuse-overlayfs ]; then
      fuse-overlayfs -f -o "lowerdir=$image:$root" "$root" 2> "$root.said" &
    else
      "$way" -f "$image" "$root" 2> "$root.said" &
    fi
    server=$!
    until mountpoint -q "$root"; do
      kill -0 "$server" 2> /dev/null || { cat "$root.said" >&2; exit 1; }
      sleep 0.01
    done
    ;;
esac
set +e
"$@"
status=$?
set -e
# The words may have mounted it upon itself, with more below. When nobody is in it any more its
# server ends, whose CPU time becomes the run's.
while mountpoint -q "$root"; do umount --lazy "$root"; done
if [ -n "$server" ]; then wait "$server"; fi
exit $status
