"""Fixtures for the tests of the report."""

import matplotlib.pyplot as plt
import pytest

from parity.report.figures import style


@pytest.fixture(autouse=True)
def house_style():
    """The house style, and no figure left open."""
    style.use()
    yield
    plt.close("all")
