newline='
'
files=
for path in "$@"; do
  echo "executable $path"
  [ -f "$path" ] && [ -r "$path" ] || continue
  closure=$(ldd "$path" 2>/dev/null | sed -n '
    s/^\t\([^ ]*\) => not found$/library \1/p
    s/^\t\([^ ]*\) => \(\/[^ ]*\) (0x.*/library \1 \2/p
    s/^\t\(\/[^ ]*\) (0x.*/library \1 \1/p
  ')
  printf '%s\n' "$closure"
  libraries=$(printf '%s\n' "$closure" | sed -n 's/^library [^ ]* //p')
  files="$files$path$newline$libraries$newline"
done
IFS=$newline
set -f
set -- $(printf '%s' "$files" | sort -u)
# Not by stat, whose system call gVisor refuses.
if [ $# -gt 0 ]; then wc -c -- "$@" | sed '/^ *[0-9]* total$/d; s/^ *\([0-9]*\) /file \1 /'; fi
echo contents
if [ $# -gt 0 ]; then cat -- "$@"; fi
echo 'end of contents'
