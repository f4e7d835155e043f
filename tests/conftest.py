"""Fixtures for all tests."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT
