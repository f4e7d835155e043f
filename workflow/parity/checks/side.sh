echo "kernel $(uname -r)"
echo "glibc $(ldd --version 2>/dev/null | sed -n 1p)"
for name in enabled defrag; do
  file=/sys/kernel/mm/transparent_hugepage/$name
  if [ -r $file ]; then echo "huge-pages-$name $(cat $file)"; fi
done
sed 's/^/status /' /proc/self/status
sed 's/^/limit /' /proc/self/limits
stat -f -c 'shm %T %S %b' /dev/shm 2>/dev/null
echo "user $(id -u)"
sed 's/^/user-map /' /proc/self/uid_map
echo "group $(id -g)"
sed 's/^/group-map /' /proc/self/gid_map
# A control group's limits, from its own level to the highest that can be seen.
while IFS=: read -r number controllers path; do
  folder=/sys/fs/cgroup/$controllers
  if [ "$number" = 0 ] && [ -d /sys/fs/cgroup/unified ]; then folder=/sys/fs/cgroup/unified; fi
  if [ ! -d "$folder$path" ]; then path=; fi
  while :; do
    for file in memory.limit_in_bytes cpu.cfs_quota_us cpu.cfs_period_us cpu.shares cpuset.cpus \
        memory.high memory.max cpu.max cpu.weight cpuset.cpus.effective pids.max; do
      if [ -r "$folder$path/$file" ]; then echo "cgroup $file $(cat "$folder$path/$file")"; fi
    done
    if [ -z "${path#/}" ]; then break; fi
    path=${path%/*}
  done
done < /proc/self/cgroup
"$@"
echo "answered everything"
