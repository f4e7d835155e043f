marker= hostname=
if [ -r @marker@ ]; then read -r marker < @marker@; fi
read -r hostname < /proc/sys/kernel/hostname
# gVisor's kernel has no number of its boot, and says in no file which CPUs are allowed.
boot=/proc/sys/kernel/random/boot_id
if ! [ -r $boot ]; then boot=/proc/version; fi
read -r kernel < $boot
{
  echo "$0 marker=$marker"
  echo "$0 hostname=$hostname"
  echo "$0 namespace.kernel=$kernel"
  # PRoot follows these links by their names, which are no files'.
  stat -L -c "$0 namespace.%n=%i" /proc/self/ns/* 2> /dev/null ||
    stat -c "$0 namespace.%N" /proc/self/ns/* 2> /dev/null | sed "s/'//g; s/ -> .*\[\(.*\)\]/=\1/"
  awk -v begin="$0" '/^(Cpus_allowed_list|Seccomp|NoNewPrivs):/ {print begin, $1 "=" $2}
       /^Cpus_allowed_list:/ {told = 1}
       END {if (!told && "taskset -cp $$" | getline) print begin, "Cpus_allowed_list:=" $NF}' \
      /proc/self/status
  awk -v begin="$0" '$5 == "/" {for (i = 6; $i != "-"; i++); found = $(i + 1) "," $6}
       END {print begin, "root=" found}' /proc/self/mountinfo
} >&2
exec "$@"
