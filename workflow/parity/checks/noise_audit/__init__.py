"""Asks whether the workflow disturbs what it measures: the noise audit.

The same program runs under a bare shell script, with nothing else of ours alive, and in a
block just as Snakemake starts one: Snakemake asleep, its shell, the runner asleep in
`wait`, the words of the inner command. Both sides of a pair follow each other in one
allocation, in random order, and the program's own clock is compared. The blocks are a
study of their own with the same arm twice, so that nothing of a block is imitated here.
"""
