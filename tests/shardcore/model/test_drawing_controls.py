"""Values of controls: checked, read from texts, and as the file says where nothing is said."""

from __future__ import annotations

from typing import Any

import pytest

from shardcore.errors import UsageError
from shardcore.model.drawing import Control, ControlKind, chosen, value_from

CONTROLS = (
    Control("bits", "Bits", ControlKind.SLIDER, 8, 4, 16),
    Control("shuffled", "Shuffled", ControlKind.SWITCH, True),
    Control("order", "Order", ControlKind.CHOICE, "file", choices=("file", "size")),
    Control("uid", "Uid", ControlKind.TEXT, "12"),
)


def test_what_is_not_said_is_as_the_file_says() -> None:
    assert chosen(CONTROLS, {"bits": 4}) == {"bits": 4, "shuffled": True, "order": "file", "uid": "12"}


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"bits": 17}, "bits must be a whole number from 4 to 16, not 17"),
        ({"bits": True}, "a whole number"),
        ({"shuffled": 1}, "shuffled must be yes or no, not 1"),
        ({"order": "key"}, "order must be one of file, size, not 'key'"),
        ({"uid": 12}, "uid must be a text"),
        ({"seed": 1}, "unknown control 'seed'; available: bits, shuffled, order, uid"),
    ],
)
def test_wrong_values(values: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        chosen(CONTROLS, values)


def test_texts() -> None:
    texts = ("0x10", "off", "size", "0x10")
    assert [value_from(control, text) for control, text in zip(CONTROLS, texts, strict=True)] == [
        16,
        False,
        "size",
        "0x10",
    ]
    for control, text in zip(CONTROLS[:3], ("many", "perhaps", "key"), strict=True):
        with pytest.raises(UsageError, match="not"):
            value_from(control, text)
