"""What a run leaves reaches its parser, and so does the size of its node."""

import pytest

from parity.benchmarks.reading import Refused, collected
from parity.records.parse import node_sizes


def test_a_file_is_found_by_its_pattern_and_none_or_several_are_refused():
    files = {"a_1.txt": "one", "b.txt": "two"}
    assert [collected(files, pattern) for pattern in ("a_*.txt", "b.txt")] == ["one", "two"]
    for pattern in ("*.txt", "c*"):
        with pytest.raises(Refused, match=r"left [02] files"):
            collected(files, pattern)


def test_the_size_of_a_node_or_zero_where_it_is_not_told() -> None:
    known = {"last_level_cache": "272629760 B", "memory_total": "24684092 kB"}
    sizes = {"last_level_cache": 272_629_760, "memory": 24_684_092 * 1024}
    assert node_sizes(known) == sizes and node_sizes({}) == dict.fromkeys(sizes, 0)
    for text in ("", "many", "-1 kB", "12", "12 furlongs"):
        assert node_sizes({"memory_total": text})["memory"] == 0
