"""Counts, lists and numbers as people read them: on the terminal, in tables, figures and papers."""

import math
import re
from collections.abc import Collection, Iterable

RATIO = "ratio"
_BRACKETED = re.compile(r"\([^()]*\)|\[[^][]*\]")  # a comma in it parts nothing of a list


def counted(count: int, what: str) -> str:
    """A count of things: `1 block`, `2 blocks`."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def capital(text: str) -> str:
    """A text as a sentence begins; the rest of it stays as it is."""
    return text[:1].upper() + text[1:]


def span(counts: Collection[int]) -> str:
    """The smallest and the largest of some counts: `29 to 30`, or `30` if they are alike."""
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


def listed(items: Iterable[object]) -> str:
    """Things in a row: `a`, `a and b`, `a, b and c`; `a, x; b and c` where one has a comma."""
    texts = [str(item) for item in items]
    is_parted = any(", " in _BRACKETED.sub("", text) for text in texts)
    return " and ".join(filter(None, [("; " if is_parted else ", ").join(texts[:-1]), *texts[-1:]]))


def number(value: float | None, digits: int | None = None) -> str:
    """A number with that many decimals, or with about three significant digits; `–` for none."""
    if value is None or not math.isfinite(value):
        return "–"
    if digits is not None:
        return re.sub(r"^-(?=0\.?0*$)", "", f"{value:.{digits}f}")
    magnitude = abs(value)
    if magnitude and (magnitude >= 1e5 or magnitude < 1e-3):
        return f"{value:.3g}"
    return f"{value:.{3 if magnitude < 10 else 1 if magnitude < 1000 else 0}f}"


def significant(value: float | None, digits: int = 3) -> str:
    """A number with that many significant digits, never in exponents; `–` for none."""
    if value is None or not math.isfinite(value):
        return "–"
    magnitude = math.floor(math.log10(abs(value))) if value else 0
    return number(value, max(0, digits - 1 - magnitude))


def size(count: int) -> str:
    """A number of bytes in the largest binary unit that it fills: `260 MiB`, `23.5 GiB`."""
    for unit, divisor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= divisor:
            return f"{significant(count / divisor)} {unit}"
    return f"{significant(count)} B"


def step_words(seconds: float) -> str:
    """The work of a step: `10 ms`, `1 s`."""
    return f"{seconds:g} s" if seconds >= 1 else f"{1e3 * seconds:g} ms"


def period(began: str, ended: str) -> str:
    """Two times in ISO 8601, UTC, to the minute; the day is said once if it is the same."""
    first, last = began[:16].replace("T", " "), ended[:16].replace("T", " ")
    return f"{first} to {last.removeprefix(first[:11])} UTC"


def decimals(low: float, high: float, unit: str) -> int:
    """As many decimals as an interval deserves: three for ratios, else two digits of its width."""
    width = (high - low) / 2
    if unit == RATIO or not (math.isfinite(width) and width > 0):
        return 3
    return min(3, max(0, 1 - math.floor(math.log10(width))))


def percent(fraction: float | None) -> str:
    """A fraction in per cent, such as `1 %` or `0.76 %`; `–` for none."""
    if fraction is None or not math.isfinite(fraction):
        return "–"
    value = 100 * fraction
    digits = 0 if abs(value) >= 9.95 or abs(value - round(value)) < 1e-9 else 2
    return f"{value:.{digits}f} %"


def interval(low: float, high: float, unit: str = RATIO) -> str:
    """An interval with its unit: `[9, 63] MiB`; ratios have none."""
    digits = decimals(low, high, unit)
    text = f"[{number(low, digits)}, {number(high, digits)}]"
    return text if unit == RATIO else f"{text} {unit}"


def stands(low: float, high: float, limit: float, unit: str = RATIO) -> str:
    """How an interval stands to a limit: `interval [9, 63] MiB holds 50 MiB`, or lies beside it."""
    how = "lies below" if high < limit else "lies above" if low > limit else "holds"
    shown = f"{limit:g}" if unit == RATIO else f"{limit:g} {unit}"
    return f"interval {interval(low, high, unit)} {how} {shown}"


def margin(value: float | None, unit: str = RATIO) -> str:
    """A margin: `±1.16 %` of a ratio, `±35 MiB` of a difference, `no margin`.

    Of a ratio in per cent two decimals are exact, as those that are registered; what has more is
    rounded upwards, to whole ones from 9.95.
    """
    if value is None or not math.isfinite(value):
        return "no margin"
    if unit == RATIO:
        hundredths = round(value * 1e4, 6)
        step = 1 if value < 0.0995 or hundredths.is_integer() else 100
        rounded = math.ceil(hundredths / step) * step
        return f"±{rounded / 100:.{2 if rounded % 100 else 0}f} %"
    return f"±{number(value)} {unit}".strip()
