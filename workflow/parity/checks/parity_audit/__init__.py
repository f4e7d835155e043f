"""What both sides of a comparison are: programs, libraries, and the kernel as they see it."""
