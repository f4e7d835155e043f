"""Statistics as pure functions on data frames."""
