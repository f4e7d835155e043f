"""What the events that runs wrote down say of noise: its tail, its limits, and programs at scale.

Pure functions on the starts and lengths of one arm, in ns, and one module that makes tables of
them for a whole dataset (`study`).
"""
