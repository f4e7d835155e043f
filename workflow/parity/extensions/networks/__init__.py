"""Networks between containers, made by us, proven from inside and counted (Ruiz et al. 2015)."""
