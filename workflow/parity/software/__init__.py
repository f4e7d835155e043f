"""What the evidence rests on: the node, the binaries, the images."""
