folder=$1 name=$2 cpus=$3
shift 3
ours() {
  runsc --root="$folder/runsc" --ignore-cgroups --rootless=false --platform=ptrace \
    --network=host "$@"
}
ours create --bundle="$folder" --pid-file="$folder/pid" "$name"
sandbox=$(cat "$folder/pid")
if [ -n "$cpus" ]; then
  for process in $sandbox $(cat /proc/$sandbox/task/*/children); do
    taskset -apc "$cpus" "$process" > "$folder/bound"
  done
fi
ours start "$name"
set +e
ours exec "$name" "$@"
status=$?
set -e
ours delete --force "$name"
exit $status
