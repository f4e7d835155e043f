"""Results of others as archives: one file for each form that they come in, found by being there."""
