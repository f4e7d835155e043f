"""What the events of runs give claims to judge by."""
