cpus=$1 program=$2
# Each copy is a world of its own, whoever started it.
for name in $(env | sed -n 's/^\(PMIX_[A-Za-z0-9_]*\|OMPI_MCA_ess[a-z_]*\|OMPI_MCA_orte_[a-z_]*\)=.*/\1/p'); do
  unset "$name"
done
export OMPI_MCA_ess_singleton_isolated=1
mkdir "copy-$PARITY_RANK" && cp hpccinf.txt "copy-$PARITY_RANK" && cd "copy-$PARITY_RANK" || exit 1
"$program"
status=$?
times > times
{ read -r _ && read -r user system; } < times
echo "copy $PARITY_RANK took $user $system of $cpus CPUs"
mv hpccoutf.txt "../hpccoutf-$PARITY_RANK.txt"
exit "$status"
