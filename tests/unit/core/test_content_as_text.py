"""What a program leaves stands in tables as text, and none of its bytes is lost."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parity.core.files import as_bytes, as_text


@given(st.binary())
def test_no_byte_is_lost(content: bytes) -> None:
    text = json.loads(json.dumps(as_text(content)))
    try:
        assert content.decode() == text
    except UnicodeDecodeError:
        assert as_bytes(text) == content


@pytest.mark.parametrize("text", ["", "text", "data:;base64,no base64!", "data:;base64,abc"])
def test_text_is_no_content(text: str) -> None:
    with pytest.raises(ValueError):
        as_bytes(text)
