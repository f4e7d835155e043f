"""What a run leaves reaches its parser, and so does the size of its node."""

import pytest

from parity.benchmarks.reading import Refused, collected
from parity.records.parse import node_sizes


def test_a_file_is_found_by_its_pattern():
    files = {"a_1.txt": "one", "b.txt": "two"}
    assert collected(files, "a_*.txt") == "one"
    assert collected(files, "b.txt") == "two"


@pytest.mark.parametrize("pattern", ["*.txt", "c*"])
def test_no_file_and_several_are_refused(pattern):
    with pytest.raises(Refused, match=r"left [02] files"):
        collected({"a_1.txt": "one", "b.txt": "two"}, pattern)


def test_the_size_of_a_node() -> None:
    known = {"last_level_cache": "272629760 B", "memory_total": "24684092 kB"}
    assert node_sizes(known) == {
        "last_level_cache": 272_629_760,
        "memory": 24_684_092 * 1024,
    }
    assert node_sizes({}) == {"last_level_cache": 0, "memory": 0}


@pytest.mark.parametrize("text", ["", "many", "-1 kB", "12", "12 furlongs"])
def test_a_size_that_is_not_told_is_zero(text: str) -> None:
    assert node_sizes({"memory_total": text})["memory"] == 0
