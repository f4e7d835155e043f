"""How the values of each arm lie and spread over the blocks."""

from __future__ import annotations

import math

import pandas as pd

from parity.analysis import tables


def dispersion(values: pd.DataFrame) -> pd.DataFrame:
    """Median, extremes, mean and coefficient of variation per case, metric and arm.

    Spread is reported beside every centre (Hoefler & Belli, SC15, rule 5; Georges et
    al., OOPSLA 2007). The coefficient of variation is the sample standard deviation
    over the mean; null for one value or a mean of zero.

    Returns:
        `tables.DISPERSION`.
    """
    rows = []
    for (case, metric, arm), group in values.groupby(["case", "metric", "arm"], sort=True):
        numbers = group["value"]
        cv = numbers.std(ddof=1) / abs(numbers.mean()) if numbers.mean() else math.nan
        rows.append(
            {
                "case": case,
                "metric": metric,
                "arm": arm,
                "unit": group["unit"].iloc[0],
                "runs": len(numbers),
                "median": float(numbers.median()),
                "minimum": float(numbers.min()),
                "maximum": float(numbers.max()),
                "mean": float(numbers.mean()),
                "cv": float(cv) if math.isfinite(cv) else None,
            }
        )
    return tables.frame(tables.DISPERSION, rows)
