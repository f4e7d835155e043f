host=$1 program=$2
shift 2
[ "$PARITY_RANK" = 0 ] || exec "$program" "$@"
tries=300
while :; do
    "$program" -h "$host" "$@"
    status=$?
    tries=$((tries - 1))
    [ "$status" = 246 ] && [ "$tries" -gt 0 ] || exit "$status"
    sleep 0.1
done
