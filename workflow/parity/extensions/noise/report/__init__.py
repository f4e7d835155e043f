"""What is shown of the events of runs."""
