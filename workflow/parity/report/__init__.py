"""From conclusions to figures, tables, sentences and the paper; it tests nothing anew."""
