"""The dashboard: every claim, and the way from its verdict to single runs, in one file."""
