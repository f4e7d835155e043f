"""The statistics that verdicts rest on: pure functions on arrays and small data frames."""
