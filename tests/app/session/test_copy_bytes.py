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
    """Hex, C, Python and base64 hold exactly the bytes."""
    assert bytes.fromhex(copied(data, CopyAs.HEX)) == data
    body = copied(data, CopyAs.C).split("{")[1]
    assert bytes(int(byte, 16) for byte in re.findall(r"0x[0-9a-f]{2}", body)) == data
    assert ast.literal_eval(copied(data, CopyAs.PYTHON).split("=", 1)[1].strip()) == data
    assert base64.b64decode(copied(data, CopyAs.BASE64)) == data


def test_as_seen() -> None:
    """Offsets, hex and text stand as in the view; cells before the first byte are blank."""
    data = b"SWHShard" + bytes(8) + b"\x01text\xff"
    assert copied(data, CopyAs.SEEN) == (
        "00000000  53 57 48 53 68 61 72 64  00 00 00 00 00 00 00 00  SWHShard........\n"
        "00000010  01 74 65 78 74 ff                                 .text."
    )
    assert copied(data[6:10], CopyAs.SEEN, start=6, digits=10) == (
        "0000000000                    72 64  00 00                          rd.."
    )


def test_too_much_is_refused() -> None:
    """More than 16 MiB is refused with a sentence that says what to do instead."""
    check_size(MAX_BYTES)
    with pytest.raises(TooMuchToCopy, match=r"16 MiB can be copied; extract"):
        check_size(MAX_BYTES + 1)
