# $1: the host's release of Open MPI, $2: the command of its daemon. Another release's daemon does
# not understand the host's launcher, and says nothing of the kind.
here=$(/usr/bin/mpirun --version 2>&1 | head -n 1)
if [ "$here" != "$1" ]; then
  echo "the container has no launcher of the host's release: $1 there, $here here" >&2
  exit 1
fi
# mpirun quotes its daemon's command for a remote shell, which is what reads it here.
eval "exec $2"
