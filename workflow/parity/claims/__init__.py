"""Published claims, the rules that decide them, and the verdicts."""
