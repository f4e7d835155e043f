"""How many blocks a study needs for its margins, and what a number of runs can prove."""
