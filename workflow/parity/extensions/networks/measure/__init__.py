"""The network of a run and its containers."""
