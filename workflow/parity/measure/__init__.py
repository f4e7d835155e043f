"""Runs one block of a plan on this node; nothing of it is awake while a program is timed."""
