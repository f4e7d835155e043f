server=$1 alias=$2
"$server" --mkfs --alias "$alias" fs.conf || exit
exec "$server" --foreground --alias "$alias" fs.conf
