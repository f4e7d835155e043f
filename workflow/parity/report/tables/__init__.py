"""The tables, for the paper and as CSV."""
