"""What runs left behind, as tables: gathered verbatim, then parsed, as often as one likes."""
