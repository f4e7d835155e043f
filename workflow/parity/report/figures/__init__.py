"""The figures: what each shows, and how it is drawn."""
