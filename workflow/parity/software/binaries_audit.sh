for path in "$@"; do
  echo "executable $path"
  [ -r "$path" ] || continue
  echo "sha256 $(sha256sum < "$path")"
  od -A n -v -t x1 -N 4096 "$path" | sed 's/^/page /'
  ldd "$path" 2>/dev/null | sed -n '
    s/^\t\([^ ]*\) => not found$/\1 -/p
    s/^\t\([^ ]*\) => \(\/[^ ]*\) (0x.*/\1 \2/p
    s/^\t\(\/[^ ]*\) (0x.*/\1 \1/p
  ' | while read -r name file; do
    case $file in
      -) echo "library $name not-found" ;;
      *) echo "library $name $(sha256sum < "$file")" ;;
    esac
  done
done
