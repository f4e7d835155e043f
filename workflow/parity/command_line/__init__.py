"""The commands of `parity`: one module each, found by being there."""
