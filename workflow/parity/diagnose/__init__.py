"""Why a program takes another time in a container: one difference of its surroundings at a time."""
