"""Arms with a network of their own."""
