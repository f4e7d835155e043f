cpus=$1 beginnings=$2 rank_name=$3
shift 3
eval "rank=\$$rank_name"
# In a container that holds several ranks, what we call the node; else the batch system's own
# name of it: the host may call itself by a longer one.
host=${PARITY_NODE:-${SLURMD_NODENAME:-}}
if [ -z "$host" ]; then read -r host < /proc/sys/kernel/hostname; host=${host%%.*}; fi
set -f
set_cpu() { shift $((rank % $#)); cpu=$1; }
set_cpu $cpus
names=$(awk -v beginnings="^($beginnings)" \
    'BEGIN {for (name in ENVIRON) if (name ~ beginnings && name ~ /^[A-Z0-9_a-z]+$/) print name}')
for word do
  shift
  case $word in
    @variables@)
      set -- "$@" "PARITY_RANK=$rank" "PARITY_NODE=$host"
      for name in $names; do
        eval "value=\$$name"
        set -- "$@" "$name=$value"
      done
      continue ;;
  esac
  filled=
  while :; do
    case $word in
      *@rank@*) filled=$filled${word%%@rank@*}$rank word=${word#*@rank@} ;;
      *) break ;;
    esac
  done
  word=$filled$word
  case $word in *@host@*) word=${word%%@host@*}$host${word#*@host@} ;; esac
  case $word in @cpu@) word=$cpu ;; esac
  set -- "$@" "$word"
done
# What the launcher and its batch system take before and after is not the program's time.
[ -z "$PARITY_CONTAINER" ] || echo "@evidence@ $rank@$host container=$PARITY_CONTAINER" >&2
echo "@evidence@ $rank@$host began=$(date +%s%N)" >&2
"$@"
status=$?
# The program may have left a line of its own open.
printf '\n%s\n' "@evidence@ $rank@$host ended=$(date +%s%N)" >&2
exit $status
