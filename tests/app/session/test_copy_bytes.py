"""Bytes as text: each form can be read back, and as seen is what the view shows."""

from __future__ import annotations

import ast
import base64
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardscope.session.copy_bytes import MAX_BYTES, CopyAs, TooMuchToCopy, check_size, copied


@given(st.binary(max_size=200))
def test_every_form_can_be_read_back(data: bytes) -> None:
    assert bytes.fromhex(copied(data, CopyAs.HEX)) == data
    body = copied(data, CopyAs.C).split("{")[1]
    assert bytes(int(byte, 16) for byte in re.findall(r"0x[0-9a-f]{2}", body)) == data
    assert ast.literal_eval(copied(data, CopyAs.PYTHON).split("=", 1)[1].strip()) == data
    assert base64.b64decode(copied(data, CopyAs.BASE64)) == data


def test_too_much_is_refused() -> None:
    check_size(MAX_BYTES)
    with pytest.raises(TooMuchToCopy, match=r"16 MiB can be copied; extract"):
        check_size(MAX_BYTES + 1)
