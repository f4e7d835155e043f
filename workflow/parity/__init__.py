"""Parity: what running inside a container costs an HPC program, with evidence.

Data walks one way: study → plan → execute → records → analysis → present,
over runtimes, benchmarks and provenance. tests/unit/test_architecture.py
holds the packages to that order.
"""
