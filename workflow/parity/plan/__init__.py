"""What is to be measured: the study and the system as configured, and plan.json."""
