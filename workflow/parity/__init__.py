"""Parity: what running inside a container costs an HPC program, with evidence.

Data walks one way: plan → measure → records → analysis → claims → report,
over runtimes, benchmarks and software. tests/unit/repository/test_architecture.py
holds the packages to that order.
"""
