folder=$1 name=$2 image=$3 scratch=$4 host=$5 accelerator=$6 model=$7 cpus=$8 megabytes=$9
shift 9
installed=$1 root=$folder/root
shift
mkdir -p "$root"
rm -f "$folder/status"
mount --bind "$image" "$root"
mount -o remount,bind,ro "$root"
mount --rbind "$scratch" "$root$scratch"
while [ "$1" != -- ]; do
  mount --bind "$1" "$root$1"
  mount -o remount,bind,ro "$root$1"
  shift
done
shift
printf '%s\0' "$host" "$@" > "$folder/words"
# Sockets have short names, and the server locks them in /run: both are this namespace's.
mount -t tmpfs tmpfs /run
/usr/lib/qemu/virtiofsd -f --socket-path=/run/guest --rlimit-nofile=0 \
  -o "source=$folder,sandbox=chroot,announce_submounts" > "$folder/virtiofsd" 2>&1 &
server=$!
until [ -S /run/guest ]; do
  kill -0 "$server" 2> /dev/null || { cat "$folder/virtiofsd" >&2; exit 125; }
  sleep 0.01
done
qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot \
  -name "guest=$name,debug-threads=on" \
  -machine "q35,accel=$accelerator,memory-backend=memory" -cpu "$model" \
  -smp "$((${cpus##*,} + 1))" -m "$megabytes" \
  -object "memory-backend-memfd,id=memory,size=${megabytes}M,share=on" \
  -kernel "$installed/vmlinuz" -initrd "$installed/initrd" \
  -append 'console=ttyS0 quiet panic=-1' -serial "file:$folder/console" \
  -device virtio-serial-pci \
  -chardev file,id=out,path=/dev/fd/1,append=on -device virtserialport,chardev=out \
  -chardev file,id=err,path=/dev/fd/2,append=on -device virtserialport,chardev=err \
  -chardev socket,id=files,path=/run/guest -device vhost-user-fs-pci,chardev=files,tag=guest &
guest=$!
# A program that is bound to a CPU in the guest is on the CPU of the same number outside.
for cpu in $(echo "$cpus" | tr , ' '); do
  until thread=$(grep -lsx "CPU $cpu/.*" /proc/$guest/task/*/comm); do
    kill -0 "$guest" 2> /dev/null || exit 125
    sleep 0.01
  done
  thread=${thread%/comm}
  taskset -pc "$cpu" "${thread##*/}" > "$folder/pinned"
done
wait "$guest" "$server" || :
if [ ! -s "$folder/status" ]; then
  echo 'the guest ended without the status of its program' >&2
  tail -n 20 "$folder/console" >&2
  exit 125
fi
read -r status < "$folder/status"
exit "$status"
