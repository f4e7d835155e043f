name=$1 mounted=/sys/fs/cgroup settings='' asked=0 written=0
shift
while case $1 in cpu*.*=* | memory.*=* | pids.*=*) ;; *) false ;; esac; do
  settings="$settings$1
" asked=$((asked + 1))
  shift
done
for_each_group() {
  while IFS=: read -r number controllers path; do
    hierarchy=$mounted/${controllers#name=}
    if [ "$number" = 0 ]; then
      hierarchy=$mounted path=${path%/*}
      if [ -d "$mounted/unified" ]; then hierarchy=$mounted/unified; fi
      if [ ! -e "$hierarchy/cgroup.procs" ]; then continue; fi
    fi
    "$1" "$hierarchy${path%/}" "$name"
  done < "/proc/$$/cgroup"
}
make() {
  mkdir "$1/$2"
  if [ "$number" != 0 ] && [ -e "$1/$2/cpuset.cpus" ]; then
    cat "$1/cpuset.cpus" > "$1/$2/cpuset.cpus"
    cat "$1/cpuset.mems" > "$1/$2/cpuset.mems"
  fi
}
set_limits() {
  while IFS='=' read -r file value; do
    if [ ! -e "$1/$2/${file:-none}" ]; then continue; fi
    echo "$value" > "$1/$2/$file" || { echo "$file=$value was refused" >&2; exit 1; }
    written=$((written + 1))
  done << end
$settings
end
}
enter() { echo 0 > "$1/$2/cgroup.procs"; }
remove() {
  tries=0
  until rmdir "$1/$2" 2> /dev/null || [ $((tries += 1)) = 50 ]; do sleep 0.02; done
  [ $tries -lt 50 ] || rmdir "$1/$2"
}
for_each_group make
for_each_group set_limits
if [ $written -lt $asked ]; then echo "no files for these limits here" >&2; exit 1; fi
set +e
(
  set -e
  for_each_group enter
  if ! grep -qF "/$name" /proc/self/cgroup; then echo "no control groups here" >&2; exit 1; fi
  exec "$@"
)
status=$?
set -e
for_each_group remove
exit $status
