"""The front door: the workflow itself is in workflow/Snakefile."""


include: "workflow/Snakefile"


# An included file's default target is not taken over, so it is said again here.
rule everything:
    """The same as `all`: what a bare `snakemake` makes."""
    default_target: True
    input:
        rules.all.output,
