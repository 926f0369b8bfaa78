"""The bytes at the caret as numbers, times, text and bits."""

from __future__ import annotations

import struct

import pytest

from shardscope.views.inspector.details import MOST, TOO_FEW, readings


def read(data: bytes) -> dict[str, tuple[str, str | None]]:
    """The readings by name; of several of a name the first."""
    found: dict[str, tuple[str, str | None]] = {}
    for reading in readings(data):
        found.setdefault(reading.name, (reading.little, reading.big))
    return found


INTEGERS = {"B": 200, "b": -2, "H": 65_534, "h": -2, "I": 2**32 - 5, "i": -(2**31), "Q": 2**64 - 3, "q": -(2**63)}


@pytest.mark.parametrize("code", INTEGERS)
def test_integers(code: str) -> None:
    value, name = INTEGERS[code], f"{'iu'[code.isupper()]}{8 * struct.calcsize(code)}"
    little, big = (read(struct.pack(order + code, value).ljust(MOST, b"\0"))[name] for order in "<>")
    assert little[0] == str(value)
    assert (big[0] if big[1] is None else big[1]) == str(value)


@pytest.mark.parametrize("value", [0.1, -1.5, 1e-40, 3.4028234663852886e38, float("inf")])
def test_floats_read_back(value: float) -> None:
    data = struct.pack("<f", value).ljust(MOST, b"\0")
    assert struct.pack("<f", float(read(data)["f32"][0])) == data[:4]
    assert read(struct.pack("<f", 0.1).ljust(MOST, b"\0"))["f32"][0] == "0.1"
    assert read(struct.pack(">d", 0.1).ljust(MOST, b"\0"))["f64"][1] == "0.1"


def test_times_only_where_they_are_plausible() -> None:
    seconds = read(struct.pack("<I", 1_700_000_000).ljust(8, b"\xff"))["time"][0]
    assert seconds == "2023-11-14T22:13:20Z · u32 s, little"
    assert read(struct.pack(">Q", 1_700_000_000_123))["time"][0] == "2023-11-14T22:13:20.123Z · u64 ms, big"
    assert read(bytes(MOST))["time"][0] == read(b"\xff" * MOST)["time"][0] == TOO_FEW


def test_end_of_the_source() -> None:
    found = read(b"\x01\x02\x03")
    assert found["u16"] == ("513", "258")
    assert found["u32"] == (TOO_FEW, TOO_FEW)
    assert read(b"")["u8"] == (TOO_FEW, None)
    assert found["GUID"][0] == TOO_FEW
    assert read(bytes(range(16)))["GUID"][0] == "03020100-0504-0706-0809-0a0b0c0d0e0f"
