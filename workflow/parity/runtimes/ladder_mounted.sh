image=$1 root=$2
shift 2
squashfuse_ll "$image" "$root"
set +e
"$@"
status=$?
set -e
umount "$root"
exit $status
