server=$1 alias=$2
sed "s|@own@|$PWD|" fs.conf.in > fs.conf
"$server" --mkfs --alias "$alias" fs.conf || exit
# The server goes to the root of all files. The shell stays: by its folder it is known whose it is.
"$server" --foreground --alias "$alias" fs.conf &
trap 'kill $!; wait $!; exit 0' TERM
wait $!
