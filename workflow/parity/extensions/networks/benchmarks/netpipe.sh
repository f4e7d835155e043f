host=$1 program=$2
shift 2
# Those of containers with a network of their own, in the order of the ranks.
[ -z "$PARITY_ADDRESSES" ] || host=${PARITY_ADDRESSES##*,}
[ "$PARITY_RANK" = 0 ] || exec "$program" "$@"
tries=300
while :; do
    "$program" -h "$host" "$@"
    status=$?
    tries=$((tries - 1))
    [ "$status" = 246 ] && [ "$tries" -gt 0 ] || exit "$status"
    sleep 0.1
done
