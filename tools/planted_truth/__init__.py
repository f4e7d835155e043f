"""Planted truth: raw logs of studies that never were, through the whole pipeline, and counted."""
