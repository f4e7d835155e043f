"""A real Slurm cluster of several nodes on one machine: network namespaces are its nodes."""
