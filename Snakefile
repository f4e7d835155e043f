"""The whole workflow, from workflow/Snakefile: `snakemake --list` says what there is."""


include: "workflow/Snakefile"


# What an included file says of its default target does not count.
workflow.default_target = rules.all.rule.name
