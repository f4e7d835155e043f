"""Audits of ourselves: parity of both sides, and noise of the workflow."""
