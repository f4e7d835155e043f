"""Arms under a CPU limit."""
