"""Programs whose messages cross the networks, and what is asked of those."""
