import pytest

from parity.benchmarks.reading import Refused, collected


def test_a_file_is_found_by_its_pattern_and_none_or_several_are_refused():
    files = {"a_1.txt": "one", "b.txt": "two"}
    assert [collected(files, pattern) for pattern in ("a_*.txt", "b.txt")] == ["one", "two"]
    for pattern in ("*.txt", "c*"):
        with pytest.raises(Refused, match=r"left [02] files"):
            collected(files, pattern)
