"""What runs beside a program."""
