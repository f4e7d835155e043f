"""What the events that runs wrote down say of noise: its tail, limits, and programs at scale."""
