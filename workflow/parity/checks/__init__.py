"""Audits of ourselves: parity of both sides, noise of the workflow, planted truth."""
