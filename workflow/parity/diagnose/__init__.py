"""Why a program takes another time in a container: its surroundings, one difference after the other."""
