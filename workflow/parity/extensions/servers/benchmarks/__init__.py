"""Programs that have servers."""
